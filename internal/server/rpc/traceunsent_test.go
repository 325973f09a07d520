package rpc

import (
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// TestTraceOfWhatIsNotSent: a successful call, a failing call and a view are traced, and none changes anything.
func TestTraceOfWhatIsNotSent(t *testing.T) {
	s := newTokenScenario(t)
	before := s.store.Head().Header.Height
	traced := func(payload types.Payload, more ...any) api.Trace {
		draft := s.draft(alice, 2, payload)
		draft.GasLimit = 0
		return call[api.Trace](s.testChain, "svc_traceCall", append([]any{api.Data(draft.EncodeUnsigned())}, more...)...)
	}
	if got := traced(s.send(poor, 5)); got.Error != nil || got.Root == nil || len(got.Root.Storage) == 0 {
		t.Errorf("a transfer: got %+v, want what it writes", got)
	}
	failing := calling(s.token, 0, types.Call{Function: "transfer", Args: []byte(`{}`)})
	got := traced(failing, false, true)
	if got.Error == nil || *got.Error != "reverted" || len(got.Root.Output) == 0 || len(got.Root.StoppedAt) == 0 {
		t.Errorf("a failing call: got %+v, want why and where it fails", got)
	}
	view := calling(s.token, 0, types.Call{Function: "symbol"})
	if got := traced(view, true); got.Error != nil || !got.Root.View || len(got.Root.Output) == 0 {
		t.Errorf("a view: got %+v, want its output in view context", got)
	}
	writes := traced(s.send(poor, 5), true)
	if writes.Error == nil || *writes.Error != "view_wrote_state" {
		t.Errorf("a write in view context: got %+v", writes)
	}
	if now := s.store.Head().Header.Height; now != before {
		t.Errorf("got height %d, want %d: nothing was sent", now, before)
	}
}
