package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// assertPasskey is a browser whose device has a passkey for http://localhost. It signs a challenge in base64url, and
// returns the credential in the form of JSON.stringify.
func assertPasskey(t *testing.T, key *ecdsa.PrivateKey, challenge string) []byte {
	t.Helper()
	const userPresent, userVerified = 1, 4
	site := sha256.Sum256([]byte("localhost"))
	authenticator := append(site[:], userPresent|userVerified, 0, 0, 0, 0)
	clientData := []byte(`{"type":"webauthn.get","challenge":"` + challenge + `","origin":"http://localhost","crossOrigin":false}`)
	hash := sha256.Sum256(clientData)
	digest := sha256.Sum256(append(bytes.Clone(authenticator), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	credential, err := json.Marshal(map[string]any{
		"id": "a", "type": "public-key", "authenticatorAttachment": "platform", "clientExtensionResults": map[string]any{},
		"response": map[string]any{
			"authenticatorData": text(authenticator), "clientDataJSON": text(clientData), "signature": text(signature),
			"userHandle": nil,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return credential
}

// The program of docs/applications.md accepts the assertions of a simulated passkey, and pays with it.
func TestPasskeyProgramOfTheApplicationsPage(t *testing.T) {
	t.Parallel()
	program := programOfThePage(t, "Take a passkey's signature")
	node := startDev(t, "--ephemeral", "--block-time", "0")
	c := connect(t, node)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	point := [64]byte(public[1:])
	account := client.SinglePolicy(types.SignerPasskey{Point: point, Verified: true})
	fund(t, c, account.Hash(), 5)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	to := devAccount(t, node, 1)
	before := balance(t, c, to)
	var output bytes.Buffer
	command := exec.CommandContext(t.Context(), program, node.RPC, listen, hex.EncodeToString(point[:]), types.Regtest.Address(to))
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var asked struct{ Challenge string }
	for {
		answer, err := http.Get("http://" + listen + "/challenge")
		if err == nil {
			err = json.NewDecoder(answer.Body).Decode(&asked)
			_ = answer.Body.Close() // the request has been read
		}
		if err == nil {
			break
		}
		select {
		case <-time.After(loadPause): // the program does not listen yet
		case <-t.Context().Done():
			t.Fatal(err)
		}
	}
	credential := bytes.NewReader(assertPasskey(t, key, asked.Challenge))
	answer, err := http.Post("http://"+listen+"/assertion", "application/json", credential)
	if err == nil { // the program may have ended before it answered
		_ = answer.Body.Close() // the answer has no body
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("the program ended with %v: %s", err, &output)
	}
	if paid := balance(t, c, to) - before; paid != types.CoinUnits || !strings.Contains(output.String(), " paid in block 2\n") {
		t.Errorf("%d units arrived, and the program printed %q", paid, &output)
	}
}
