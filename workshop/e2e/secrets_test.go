package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// secretFile writes a file that only its owner can read.
func secretFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tlsFiles makes a certificate for 127.0.0.1. It also returns the key as it is in its file.
func tlsFiles(t *testing.T, dir string) (certificate, key string, keyDER []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	if keyDER, err = x509.MarshalPKCS8PrivateKey(private); err != nil {
		t.Fatal(err)
	}
	certificate = secretFile(t, dir, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = secretFile(t, dir, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	return certificate, key, keyDER
}

// TestLogsHoldNoSecret runs a node that logs everything. It sends the node every kind of secret, valid and invalid, on
// every path, and then searches the node's output for them.
func TestLogsHoldNoSecret(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) { logsHoldNoSecret(t, format) })
	}
}

func logsHoldNoSecret(t *testing.T, format string) {
	dir := initialize(t)
	protocolKey, err := os.ReadFile(filepath.Join(dir, "protocol.key"))
	if err != nil {
		t.Fatal(err)
	}
	const apiKey, wrongKey = "an-api-key-that-nobody-knows", "a-guessed-key-that-is-wrong"
	jwtSecret := bytes.Repeat([]byte{0x5e, 0xc4}, 16)
	certificate, key, keyDER := tlsFiles(t, t.TempDir())
	now := fmt.Sprintf(`{"iat":%d}`, time.Now().Unix())
	goodToken, badToken := token(jwtSecret, "HS256", now), token(bytes.Repeat([]byte{1}, 32), "HS256", now)
	node := start(t, "node", "--data-dir", dir, "--log-level", "debug", "--log-format", format, "--block-time", "0",
		"--tls-cert", certificate, "--tls-key", key, "--api-key-file", secretFile(t, t.TempDir(), "keys", []byte("me:"+apiKey+
			"\n")),
		"--jwt-secret-file", secretFile(t, t.TempDir(), "jwt", []byte(hex.EncodeToString(jwtSecret))))

	secrets := map[string]string{
		"protocol key":          strings.TrimSpace(string(protocolKey)),
		"API key":               apiKey,
		"wrong API key":         wrongKey,
		"JWT secret":            hex.EncodeToString(jwtSecret),
		"JWT secret's bytes":    string(jwtSecret),
		"token":                 goodToken,
		"wrong token":           badToken,
		"token's signature":     goodToken[strings.LastIndexByte(goodToken, '.')+1:],
		"TLS key":               base64.StdEncoding.EncodeToString(keyDER)[40:80],
		"TLS key's bytes":       string(keyDER[36:68]),
		"TLS key in hex":        hex.EncodeToString(keyDER[36:68]),
		"digest of the API key": hex.EncodeToString(digest(apiKey)),
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	address := strings.TrimPrefix(node.RPC, "https://")
	for credentials, status := range map[string]int{
		apiKey: 200, goodToken: 200, wrongKey: 401, badToken: 401, "": 401,
	} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber","params":[]}`,
			`{"jsonrpc":"2.0","id":1,"method":"` + credentials + `"}`, "no JSON",
		} {
			for _, path := range []string{"/", "/?key=" + credentials, "/" + credentials} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, node.RPC+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Authorization", "Bearer "+credentials)
				answer, err := web.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if path == "/" && answer.StatusCode != status {
					t.Errorf("%d, want %d", answer.StatusCode, status)
				}
			}
		}
		header := http.Header{"Authorization": {"Bearer " + credentials}}
		ws, _, err := websocket.Dial(
			t.Context(), "wss://"+address+"/ws", &websocket.DialOptions{HTTPClient: web, HTTPHeader: header},
		)
		if (err == nil) != (status == 200) {
			t.Errorf("WebSocket: error %v", err)
		}
		if err == nil {
			_ = ws.Write(t.Context(), websocket.MessageBinary, []byte(credentials)) // ends the connection
			_, _, _ = ws.Read(t.Context())
			_ = ws.CloseNow()
		}
		// A request that net/http refuses, and bytes that are not TLS at all.
		malformed := "GET /" + credentials + " HTTP/1.1\r\nHost: a\r\nAuthorization : Bearer " + credentials + "\r\n\r\n"
		speak(t, address, &tls.Config{InsecureSkipVerify: true}, malformed)
		speak(t, address, nil, malformed)
		speak(t, strings.TrimPrefix(node.Admin, "http://"), nil, malformed)
	}
	web.CloseIdleConnections()
	if err := node.Stop(); err != nil {
		t.Error(err)
	}
	logged := node.printed(t)
	if !strings.Contains(logged, "DEBUG") {
		t.Errorf("nothing was logged at debug level:\n%s", logged)
	}
	for name, secret := range secrets {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), strings.ToUpper(secret)} {
			if strings.Contains(logged, form) {
				t.Errorf("the log holds the %s", name)
			}
		}
	}
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// speak sends text, and reads until the other side has closed the connection.
func speak(t *testing.T, address string, secured *tls.Config, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(stopTimeout)); err != nil {
		t.Fatal(err)
	}
	if secured != nil {
		conn = tls.Client(conn, secured)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // only the log matters
}
