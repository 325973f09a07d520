package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
)

// The guarded node's keys.
const (
	openKey   = "the-key-without-a-limit"
	hashedKey = "the-key-whose-digest-is-filed"
	slowKey   = "the-key-of-one-call-a-second"
	laterKey  = "the-key-that-comes-later"
)

var jwtSecret = sha256.Sum256([]byte("the secret of tokens"))

// guarded is a node with TLS, API keys and tokens.
type guarded struct {
	*process
	dir string
}

func (g guarded) file(name string) string { return filepath.Join(g.dir, name) }

// startGuarded starts a guarded development node.
func startGuarded(t *testing.T) guarded {
	t.Helper()
	g := guarded{dir: t.TempDir()}
	g.certify(t, 1)
	digest := sha256.Sum256([]byte(hashedKey))
	g.write(
		t, "keys",
		"# who may call\nopen:"+openKey+"\nhashed:sha256:"+hex.EncodeToString(digest[:])+"\nslow:"+slowKey+" rate=1\n",
	)
	g.write(t, "jwt", hex.EncodeToString(jwtSecret[:])+"\n")
	g.write(t, "key", openKey+"\n")
	g.process = startDev(t, "--ephemeral", "--block-time", "100ms", "--tls-cert", g.file("cert.pem"),
		"--tls-key", g.file("key.pem"),
		"--api-key-file", g.file("keys"), "--jwt-secret-file", g.file("jwt"), "--cors-origin", "https://app.example.org")
	return g
}

func (g guarded) write(t *testing.T, name, content string) {
	t.Helper()
	part := g.file(name + ".part")
	if err := os.WriteFile(part, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, g.file(name)); err != nil {
		t.Fatal(err)
	}
}

// certify makes a certificate for this machine, signed by its own authority, with a serial number.
func (g guarded) certify(t *testing.T, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: "a node under test"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	g.write(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	g.write(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
}

// transport trusts only the node's current certificate.
func (g guarded) transport(t *testing.T) *http.Transport {
	t.Helper()
	certificate, err := os.ReadFile(g.file("cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		t.Fatal("the certificate cannot be read")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// client is a client of the node with a token.
func (g guarded) client(t *testing.T, token string) *client.Client {
	t.Helper()
	c, err := client.New(g.RPC, client.WithToken(token), client.WithTransport(g.transport(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// token is a JWT (RFC 7519) with claims, signed with HMAC-SHA256 and a secret by this test itself.
func token(secret []byte, algorithm, claims string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+algorithm+`","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// exchange sends one request and returns the status, header and body of the response.
func exchange(
	t *testing.T, transport http.RoundTripper, method, url, body string, header map[string]string,
) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.Host = header["Host"]
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, response.Header, ""
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

const blockNumberCall = `{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber","params":[]}`

// TestWhoMayCall sends requests with and without the required credentials, as POST and as a WebSocket handshake.
func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	node := startGuarded(t)
	now := time.Now().Unix()
	good, expires := "Bearer "+openKey, fmt.Sprintf(`{"exp":%d}`, now+60)
	other := sha256.Sum256([]byte("another secret"))
	transport := node.transport(t)
	for _, test := range []struct {
		name   string
		header map[string]string
		want   int
		page   string // origin whose pages may read the answer
	}{
		{"nothing", nil, 401, ""},
		{"a key", map[string]string{"Authorization": good}, 200, ""},
		{"a key whose digest is filed", map[string]string{"Authorization": "bearer " + hashedKey}, 200, ""},
		{
			"a digest as a key", map[string]string{"Authorization": fmt.Sprintf("Bearer %x", sha256.Sum256([]byte(hashedKey)))},
			401, "",
		},
		{"a wrong key", map[string]string{"Authorization": "Bearer " + openKey + "."}, 401, ""},
		{"another scheme", map[string]string{"Authorization": "Basic " + openKey}, 401, ""},
		{"a token", map[string]string{"Authorization": "Bearer " + token(jwtSecret[:], "HS256", expires)}, 200, ""},
		{
			"a token of now",
			map[string]string{"Authorization": "Bearer " + token(jwtSecret[:], "HS256", fmt.Sprintf(`{"iat":%d}`, now))}, 200,
			"",
		},
		{
			"an expired token",
			map[string]string{"Authorization": "Bearer " + token(jwtSecret[:], "HS256", fmt.Sprintf(`{"exp":%d}`, now-60))},
			401, "",
		},
		{
			"an old token",
			map[string]string{"Authorization": "Bearer " + token(jwtSecret[:], "HS256", fmt.Sprintf(`{"iat":%d}`, now-600))},
			401, "",
		},
		{
			"a token without a time", map[string]string{"Authorization": "Bearer " + token(jwtSecret[:], "HS256", `{}`)}, 401,
			"",
		},
		{
			"a token of another secret", map[string]string{"Authorization": "Bearer " + token(other[:], "HS256", expires)}, 401,
			"",
		},
		{
			"a token of no algorithm", map[string]string{"Authorization": "Bearer " + token(jwtSecret[:], "none", expires)},
			401, "",
		},
		{"another host", map[string]string{"Authorization": good, "Host": "evil.example"}, 403, ""},
		{"its own name", map[string]string{"Authorization": good, "Host": "localhost:1"}, 200, ""},
		{
			"a page that may", map[string]string{"Authorization": good, "Origin": "https://app.example.org"}, 200,
			"https://app.example.org",
		},
		// the browser withholds the answer from the page
		{"a page that may not", map[string]string{"Authorization": good, "Origin": "https://evil.example"}, 200, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, odd := range []string{"", "odd"} { // the fast loop and net/http
				header := map[string]string{"Content-Type": "application/json", "Host": "127.0.0.1"}
				if odd != "" {
					header["Connection"] = "keep-alive, odd"
				}
				for name, value := range test.header {
					header[name] = value
				}
				status, answer, body := exchange(t, transport, http.MethodPost, node.RPC, blockNumberCall, header)
				if status != test.want || (status == 200) != strings.Contains(body, `"result":"0x`) ||
					answer.Get("Access-Control-Allow-Origin") != test.page {
					t.Errorf("%s POST: %d %q, readable by %q", odd, status, body, answer.Get("Access-Control-Allow-Origin"))
				}
				if status == 401 && answer.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s POST: got %v", odd, answer)
				}
			}
			want := test.want
			switch {
			case test.header["Origin"] != "" && test.page == "":
				want = 403 // a browser would not withhold a WebSocket from the page
			case want == 200:
				want = 101
			}
			header := map[string]string{
				"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
				"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Host": "127.0.0.1",
			}
			for name, value := range test.header {
				header[name] = value
			}
			if status, _, body := exchange(t, transport, http.MethodGet, node.RPC+"/ws", "", header); status != want {
				t.Errorf("WebSocket: %d %q, want %d", status, body, want)
			}
		})
	}
	status, answer, _ := exchange(t, transport, http.MethodOptions, node.RPC, "", map[string]string{
		"Host": "127.0.0.1", "Origin": "https://app.example.org", "Access-Control-Request-Method": "POST",
	})
	if status != 204 || answer.Get("Access-Control-Allow-Headers") == "" {
		t.Errorf("a browser's question: %d %v", status, answer)
	}
	if response, err := http.Post(
		strings.Replace(node.RPC, "https", "http", 1), "application/json", strings.NewReader(blockNumberCall),
	); err == nil {
		defer response.Body.Close()
		t.Errorf("without TLS: %s", response.Status)
	}
	batch := "[" + strings.Repeat(blockNumberCall+",", 99) + blockNumberCall + "]"
	for i, call := range []struct {
		body string
		want int
		// A batch is admitted, and its debt lasts for 100 s.
	}{{blockNumberCall, 200}, {batch, 200}, {blockNumberCall, 429}} {
		status, answer, _ := exchange(t, transport, http.MethodPost, node.RPC, call.body,
			map[string]string{"Host": "127.0.0.1", "Content-Type": "application/json", "Authorization": "Bearer " + slowKey})
		if status != call.want || (status == 429) != (answer.Get("Retry-After") != "") {
			t.Errorf("call %d of a limited key: got %d %v, want %d", i, status, answer, call.want)
		}
	}
}

// TestAllowedHost sends requests with several Host headers to a node that accepts only one name.
func TestAllowedHost(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--allowed-host", "rpc.example.org")
	for host, want := range map[string]int{
		"rpc.example.org": 200, "RPC.example.org:8777": 200, "127.0.0.1": 403, "rpc.example.org.evil.example": 403,
	} {
		header := map[string]string{"Host": host, "Content-Type": "application/json"}
		if status, _, body := exchange(
			t, http.DefaultTransport, http.MethodPost, node.RPC, blockNumberCall, header,
		); status != want {
			t.Errorf("%s: %d %q, want %d", host, status, body, want)
		}
	}
}

// TestClientOfGuardedNode calls and subscribes with package client.
func TestClientOfGuardedNode(t *testing.T) {
	t.Parallel()
	node := startGuarded(t)
	c := node.client(t, openKey)
	if _, err := c.BlockNumber(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()
	next := types.Height(0)
	for block, err := range c.SubscribeBlocks(ctx, &next) {
		if err != nil || block.Height > 2 {
			t.Fatalf("block %d, error %v", block.Height, err)
		}
		if block.Height == 2 {
			break
		}
	}
	above := types.Height(1 << 40)
	for _, err := range c.SubscribeBlocks(ctx, &above) {
		if !errors.Is(err, api.ErrAboveHead) {
			t.Errorf("a height that is far away: error %v, want %v", err, api.ErrAboveHead)
		}
	}
	refused := node.client(t, openKey+".")
	var status *client.StatusError
	if _, err := refused.BlockNumber(ctx); !errors.As(err, &status) || status.Status != 401 {
		t.Errorf("a call with a wrong key: error %v", err)
	}
	for _, err := range refused.SubscribeBlocks(ctx, nil) {
		if !errors.As(err, &status) || status.Status != 401 {
			t.Errorf("a subscription with a wrong key: error %v", err)
		}
	}
	stranger, err := client.New(node.RPC, client.WithToken(openKey))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	var unknown x509.UnknownAuthorityError
	if _, err := stranger.BlockNumber(ctx); !errors.Is(err, client.ErrUnreachable) || !errors.As(err, &unknown) {
		t.Errorf("a call by who does not know the certificate: error %v", err)
	}
}

// TestCommandsOfGuardedNode uses the node with the program's commands.
func TestCommandsOfGuardedNode(t *testing.T) {
	t.Parallel()
	node := startGuarded(t)
	u := newUser(t).of(node.process)
	u.fails(exitUnreachable, "status", "--api-key-file", node.file("key"))
	u.fails(exitUsage, "status", "--ca-file", node.file("key"))
	u.environment = append(u.environment, "CAIRN_CA_FILE="+node.file("cert.pem"))
	if f := u.fails(exitFailed, "status"); !strings.Contains(f.Message, "401") {
		t.Errorf("without a key: got %+v, want %q", f, "401")
	}
	u.environment = append(u.environment, "CAIRN_API_KEY_FILE="+node.file("key"))
	u.succeeds(nil, "status")
	u.succeeds(nil, "send", "dev1", "1", "--from", "dev0")
	u.succeeds(nil, "watch", "blocks", "--from", "0", "--count", "1")
	var r loadgen.Report
	u.succeeds(
		&r, "bench", "--load", "subscribers", "--subscribers", "4", "--senders", "2", "--per-sender", "5",
		"--connections", "2",
	)
	if r.Calls != 10 || r.Audience == nil || r.Audience.Missed != 0 || r.Audience.Notifications < 4*r.Audience.Blocks {
		t.Errorf("report %+v, audience %+v", r, r.Audience)
	}
}

// TestFilesAreReadAgain renews the certificate and the keys of a running node.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	node := startGuarded(t)
	before := node.client(t, openKey)
	if _, err := before.BlockNumber(t.Context()); err != nil {
		t.Fatal(err)
	}
	node.certify(t, 2)
	node.write(t, "keys", "later:"+laterKey+"\n")
	if err := node.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	after := node.client(t, laterKey)
	await(t, "the node has the new certificate and key", func() bool {
		_, err := after.BlockNumber(t.Context())
		return err == nil
	})
	var status *client.StatusError
	if _, err := node.client(t, openKey).BlockNumber(t.Context()); !errors.As(err, &status) || status.Status != 401 {
		t.Errorf("the key that was taken away: error %v", err)
	}
	// Invalid files leave the previous content in force.
	node.write(t, "keys", "no key at all\n")
	node.certify(t, 3)
	if err := node.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	again := node.client(t, laterKey)
	await(t, "the node has the third certificate, and the key still", func() bool {
		_, err := again.BlockNumber(t.Context())
		return err == nil
	})
	await(t, "the log tells of the bad file", func() bool {
		return strings.Contains(node.printed(t), "cannot reload a file")
	})
	if err := node.Stop(); err != nil {
		t.Error(err)
	}
}
