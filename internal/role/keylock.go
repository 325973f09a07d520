package role

import (
	"context"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/types"
)

// openLock opens the sign state of the producer's key and checks the chain against it. A development chain has no sign
// state, because it may be reset to an earlier block. mayLack is documented at [solo.open].
func (s *solo) openLock(mayLack bool) (err error) {
	if s.Dir.Path() == "" || s.config.Development != nil {
		return nil
	}
	if err := s.Dir.CheckRecord(s.config.Key.PublicKey(), s.config.LockDir); err != nil {
		return err
	}
	if s.lock, err = s.Dir.KeyLock(s.config.Key.PublicKey(), s.config.LockDir); err != nil {
		return err
	}
	missing := s.lock.Missing()
	switch {
	case missing == nil:
		err := s.lock.Raise()
		s.logConflict()
		return err
	case !mayLack:
		return missing
	}
	s.Log.Warn("this node produces no blocks until it has synced the missing ones", "error", missing)
	return nil
}

// raise records the head in the sign state before this node makes blocks after it.
func (s *solo) raise() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Raise()
}

// watched is an importer that records a conflict in the sign state before it imports a block signed elsewhere. So a
// crash does not lose the fact that another node made the block.
type watched struct {
	replica.Importer
	by *solo
}

func (w watched) Import(ctx context.Context, from replica.Source, blocks []*ledger.Received) ([]ledger.Block, error) {
	if lock := w.by.lock; lock != nil && lock.Conflict() == 0 {
		headers := make([]types.SignedHeader, len(blocks))
		for i, b := range blocks {
			headers[i] = b.Header()
		}
		if err := lock.Watch(headers); err != nil {
			return nil, err
		}
		w.by.logConflict()
	}
	return w.Importer.Import(ctx, from, blocks)
}

// checkConflict records a conflict if key, with which an upstream makes blocks, is this node's.
func (s *solo) checkConflict(key types.PublicKey, head types.Height) error {
	if s.lock == nil || key != s.config.Key.PublicKey() || s.lock.Conflict() != 0 {
		return nil
	}
	if err := s.lock.RecordConflict(max(head, 1)); err != nil {
		return err
	}
	s.logConflict()
	return nil
}

// elsewhere returns the reason to make no blocks if another node has used this node's key, or "".
func (s *solo) elsewhere() string {
	if s.lock == nil || s.lock.Conflict() == 0 {
		return ""
	}
	return emergency.SignedElsewhere(s.lock.Conflict()).Error()
}

// logConflict logs that another node has used this node's key, if it has.
func (s *solo) logConflict() {
	if reason := s.elsewhere(); reason != "" {
		s.Log.Error("this node stopped producing blocks: a conflicting signer uses its key (double-sign protection)", "reason", reason, "lock", s.lock.Path())
	}
}
