package rpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// leaving is the context of a request that ends after its execution has checked it the given number of times.
type leaving struct {
	context.Context
	cancel context.CancelFunc
	after  int
}

func (l *leaving) Err() error {
	if l.after--; l.after == 0 {
		l.cancel()
	}
	return l.Context.Err()
}

// Executions end while they run if nobody waits for them or their time is up.
func TestExecutionsEndWithTheirRequest(t *testing.T) {
	c := newTestChain(t)
	hostile := wasmgen.Hostile(false).Encode()
	id := types.NewContractID(account(alice), 0)
	c.include(c.costly(alice, 0, 90_000_000, types.Deploy{Code: hostile}))
	endless := calling(id, 0, types.Call{Function: "loop"})
	tx := c.costly(alice, 1, 20_000_000, endless)
	c.include(tx)
	draft := c.draft(alice, 2, endless)
	draft.GasLimit = 0
	for name, run := range map[string]func(context.Context) error{
		"view": func(ctx context.Context) error {
			_, err := groupOf[*viewHandlers](c).viewCall(ctx, api.ViewCallParams{
				Contract: id, Function: "loop", Block: api.Latest(),
			})
			return err
		},
		"call": func(ctx context.Context) error {
			_, err := groupOf[*submitHandlers](c).call(ctx, api.RawTransactionParams{Transaction: draft.EncodeUnsigned()})
			return err
		},
		"estimate": func(ctx context.Context) error {
			_, err := groupOf[*submitHandlers](c).estimateGas(ctx, api.RawTransactionParams{Transaction: draft.EncodeUnsigned()})
			return err
		},
		"trace": func(ctx context.Context) error {
			_, err := groupOf[*traceHandlers](c).traceTransaction(ctx, api.TraceParams{Hash: tx.ID()})
			return err
		},
		"trace with places": func(ctx context.Context) error {
			asked := api.TraceParams{Hash: tx.ID(), Places: true}
			_, err := groupOf[*traceHandlers](c).traceTransaction(ctx, asked)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.server.executions.ended.Store(0)
			c.server.executions.stopped.Store(0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gone := &leaving{Context: ctx, cancel: cancel, after: 4}
			refills, blocks := c.views.Stats().Refills, c.engine.Stats()
			if err := run(gone); !errors.Is(err, context.Canceled) || gone.after != 0 {
				t.Errorf("a request that is given up ends with %v, %d questions early", err, gone.after)
			}
			simulated := !strings.HasPrefix(name, "trace")
			if s := c.server.Stats(); simulated && (s.Stopped != 1 || s.Ended != 1 || s.Running != 0 || s.Took <= 0) {
				t.Errorf("it counts as %+v", s)
			}
			if slices := c.views.Stats().Refills - refills; slices > 4 {
				t.Errorf("it goes on for %d slices", slices)
			}
			late := request.New(t.Context())
			late.Begin(time.Now().Add(-request.Time-time.Second), 0)
			if err := run(late); !errors.Is(err, error(api.ErrTimeUp)) {
				t.Errorf("a request without time ends with %v", err)
			}
			if err := run(t.Context()); err != nil && !errors.As(err, new(*jsonrpc.Error)) {
				t.Errorf("the next one ends with %v", err)
			}
			if now := c.engine.Stats(); now != blocks { // blocks find their engine unchanged
				t.Errorf("the engine of blocks did %+v before and %+v after", blocks, now)
			}
		})
	}
}
