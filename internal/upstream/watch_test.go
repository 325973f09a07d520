package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/types"
)

// Watch ends when its connection breaks, even before anything was pushed: the follower must know when. A node that does
// not push refuses.
func TestWatchEndsWithItsConnection(t *testing.T) {
	subscribes := func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		check(t, err)
		defer ws.CloseNow()
		for {
			_, text, err := ws.Read(r.Context())
			check(t, err)
			var call struct {
				ID     json.RawMessage
				Method string
			}
			check(t, json.Unmarshal(text, &call))
			answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":"0x5"}`, call.ID)
			check(t, ws.Write(r.Context(), websocket.MessageText, answer))
			if call.Method == "svc_subscribe" {
				return
			}
		}
	}
	for name, test := range map[string]struct {
		serve   http.HandlerFunc
		refused bool
	}{
		"it breaks":    {subscribes, false},
		"none is made": {http.NotFound, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.serve)
			defer server.Close()
			source, err := New(server.URL)
			check(t, err)
			defer source.Close()
			ended := make(chan error, 1)
			go func() {
				ended <- source.Watch(t.Context(), func(h types.Height) { t.Errorf("block %d is pushed", h) })
			}()
			select {
			case err := <-ended:
				if err == nil || errors.As(err, new(*replica.Refusal)) != test.refused {
					t.Errorf("it ends with %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("it goes on")
			}
		})
	}
}
