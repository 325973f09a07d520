package rpc

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// TestWhatIsNotHandedOn: the node states to which node a transaction must be sent, and passes on an upstream's own
// message.
func TestWhatIsNotHandedOn(t *testing.T) {
	words := &jsonrpc.Error{Code: api.CodeNonce, Message: "the primary's own words"}
	for name, c := range map[string]struct {
		err     error
		want    *jsonrpc.Error
		primary any
	}{
		"it is read-only": {
			&replica.ElsewhereError{Err: replica.ErrReadOnly, Primary: "there"}, api.ErrReadOnly, "there",
		},
		"nobody answers": {
			&replica.ElsewhereError{Err: replica.ErrNoPrimary, Primary: "there"}, api.ErrNoPrimary, "there",
		},
		"too many at once":     {fmt.Errorf("handed on: %w", replica.ErrBusy), api.ErrBusy, nil},
		"the upstream refuses": {&replica.Refusal{Err: words}, words, nil},
	} {
		var told *jsonrpc.Error
		if !errors.As(new(Server).Public(c.err), &told) || !errors.Is(told, c.want) || told.Message != c.want.Message ||
			told.Data["primary"] != c.primary {
			t.Errorf("%s: %+v, want %+v", name, told, c.want)
		}
	}
}
