package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestMessagesCountAgainstTheRate has a key with one call per second, and a burst of two. The handshake and one message
// are admitted. The next message is answered with its id and the time to wait, and so is the next handshake.
func TestMessagesCountAgainstTheRate(t *testing.T) {
	t.Parallel()
	const key = "a-key-of-one-call-a-second"
	node := startDev(t, "--ephemeral", "--api-key-file", secretFile(t, t.TempDir(), "keys", []byte("me:"+key+" rate=1\n")))
	dial := func() (*websocket.Conn, *http.Response, error) {
		header := http.Header{"Authorization": {"Bearer " + key}}
		return websocket.Dial(
			t.Context(), strings.Replace(node.RPC, "http", "ws", 1)+"/ws", &websocket.DialOptions{HTTPHeader: header},
		)
	}
	ws, _, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	batch := `[{"jsonrpc":"2.0","id":1,"method":"svc_chainId","params":[]},` +
		strings.Repeat(`{"jsonrpc":"2.0","method":"svc_chainId","params":[]},`, 99) +
		`{"jsonrpc":"2.0","id":2,"method":"svc_chainId","params":[]}]`
	for _, test := range []struct{ message, want string }{
		{batch, `"id":2,"result":"`}, // the client's calls are owed from then on
		{`{"jsonrpc":"2.0","id":3,"method":"svc_chainId","params":[]}`, `"id":3,"error":{"code":-32040`},
		{`{"jsonrpc":"2.0","id":4,"method":"svc_chainId","params":[]}`, `"reason":"rate","retryAfterSeconds":`},
	} {
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(test.message)); err != nil {
			t.Fatal(err)
		}
		if _, answer, err := ws.Read(t.Context()); err != nil || !strings.Contains(string(answer), test.want) {
			t.Errorf("%s: got %s, error %v, want %q", test.want, answer, err, test.want)
		}
	}
	if _, response, err := dial(); err == nil || response == nil || response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("another connection: error %v", err)
	}
}

// TestAdminAddressChecksTheHost sends requests to the admin address under its own names and under a name that resolves
// to it.
func TestAdminAddressChecksTheHost(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--admin-host", "node.internal")
	for host, status := range map[string]int{
		"": 200, "localhost": 200, "node.internal:9": 200, "10.0.0.1": 200, "evil.example": 403,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, node.Admin+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("Host %q: %d, want %d", host, answer.StatusCode, status)
		}
	}
}
