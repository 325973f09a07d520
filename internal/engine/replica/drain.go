package replica

import (
	"context"
	"log/slog"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

// Drain sends the transactions in a pool to nodes that may make blocks, or that forward to one that does, until ctx
// ends. It does so only while holds reports that this node neither follows a chain nor makes blocks. No block removes
// transactions from the pool then, so each one is resent until a node reports that its nonce is used.
func Drain(ctx context.Context, pool *mempool.Pool, sources []Source, holds func() bool, log *slog.Logger) {
	r := resender{pool: pool, log: log, at: make(map[types.TxID]time.Time), usedFor: forever}
	r.send = func(ctx context.Context, batch [][]byte) []error { return sendToAny(ctx, sources, batch) }
	for pause.For(ctx, resendPause) == nil {
		if holds() {
			r.resendAll(ctx, time.Time{})
		}
	}
}

// forever is longer than any process lives.
const forever = 100 * 365 * 24 * time.Hour

// sendToAny sends a batch to the first source that decides about it, skipping those that take no transactions.
func sendToAny(ctx context.Context, sources []Source, batch [][]byte) (errs []error) {
	for _, s := range sources {
		if errs = s.Send(ctx, batch); !unanswered(errs) && !isReadOnly(errs) {
			break
		}
	}
	return errs
}

// isReadOnly reports whether the node takes no transactions at all.
func isReadOnly(errs []error) bool {
	for _, err := range errs {
		if refused := refusal(err); refused != nil && refused.Why == RefusedReadOnly {
			return true
		}
	}
	return false
}
