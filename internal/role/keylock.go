package role

import (
	"context"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/types"
)

// openLock opens the sign state of the producer's key, and holds the chain to it. A development chain has none: it is
// taken back at will. mayLack is as for [solo.open].
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
		s.tellOfElsewhere()
		return err
	case !mayLack:
		return missing
	}
	s.Log.Warn("this node makes no blocks before it has those that are missing", "error", missing)
	return nil
}

// raise lets the sign state hold the head, before this node makes blocks after it.
func (s *solo) raise() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Raise()
}

// watched is an importer that has the sign state look at each block before it is imported: a crash does not take away
// that this node did not make it.
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
		w.by.tellOfElsewhere()
	}
	return w.Importer.Import(ctx, from, blocks)
}

// heardOfProducer is told of the key that an upstream makes blocks with.
func (s *solo) heardOfProducer(key types.PublicKey, head types.Height) error {
	if s.lock == nil || key != s.config.Key.PublicKey() || s.lock.Conflict() != 0 {
		return nil
	}
	if err := s.lock.RecordConflict(max(head, 1)); err != nil {
		return err
	}
	s.tellOfElsewhere()
	return nil
}

// elsewhere is why the node makes no blocks though it has the producer's key, empty where no other node used that.
func (s *solo) elsewhere() string {
	if s.lock == nil || s.lock.Conflict() == 0 {
		return ""
	}
	return emergency.SignedElsewhere(s.lock.Conflict()).Error()
}

// tellOfElsewhere logs that another node used this one's key, where that is known.
func (s *solo) tellOfElsewhere() {
	if reason := s.elsewhere(); reason != "" {
		s.Log.Error("this node holds", "reason", reason, "lock", s.lock.Path())
	}
}
