package sequencer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/types"
)

// Errors of requests that a development chain refuses.
var (
	ErrTimeInPast      = errors.New("the time is before the head's timestamp")
	ErrUnknownSnapshot = errors.New("no such snapshot")
)

// TimeTooFarError is returned for a request that would move time by more than [maxTimeShift] in all.
type TimeTooFarError struct {
	Max uint64 // largest value that would be accepted now
}

// Error implements error.
func (e *TimeTooFarError) Error() string {
	return fmt.Sprintf("time can advance by at most %d seconds in total: the maximum is %d", maxTimeShift, e.Max)
}

// maxTimeShift bounds how far development time may be moved: a time.Duration holds 292 years.
const maxTimeShift = 100 * 365 * 24 * 3600

type snapshot struct {
	id       uint64
	height   types.Height
	offset   time.Duration
	arrivals uint64 // the pool's arrival counter
}

// Mine makes count blocks now, regardless of the block time.
func (s *Solo) Mine(ctx context.Context, count uint64) error {
	return s.between(ctx, func() error {
		for range count {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, err := s.produce(s.best()); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetBlockTime sets the interval between blocks, [Instant] or [Manual].
func (s *Solo) SetBlockTime(d time.Duration) {
	s.mu.Lock()
	s.blockTime = d
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// IncreaseTime moves the chain's time forward. It returns the total number of seconds by which it is ahead of the
// clock.
func (s *Solo) IncreaseTime(seconds uint64) (ahead int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shift := s.offset/time.Second + time.Duration(min(seconds, maxTimeShift+1))
	if shift > maxTimeShift {
		return 0, &TimeTooFarError{maxTimeShift - uint64(s.offset/time.Second)}
	}
	s.offset += time.Duration(seconds) * time.Second
	return int64(shift), nil
}

// SetNextBlockTime sets the next block's timestamp in Unix seconds. Time continues from there.
func (s *Solo) SetNextBlockTime(unix uint64) error {
	head := s.ledger.Tip().Header.Header.Timestamp
	s.mu.Lock()
	defer s.mu.Unlock()
	if unix < head/1000 {
		return fmt.Errorf("%w: %d, the head has %d", ErrTimeInPast, unix, head/1000)
	}
	if now := uint64(s.clock.Wall().Unix()); unix > now+maxTimeShift {
		return &TimeTooFarError{now + maxTimeShift}
	}
	s.nextTime = max(1000*unix, head)
	return nil
}

// Snapshot records the current block for [Solo.Revert].
func (s *Solo) Snapshot(ctx context.Context) (id uint64, err error) {
	err = s.between(ctx, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lastSnapshot++
		id = s.lastSnapshot
		s.taken = append(s.taken, snapshot{id, s.ledger.Tip().Header.Header.Height, s.offset, s.pool.Arrivals()})
		return nil
	})
	return id, err
}

// Revert takes the chain, its time and the pool back to a snapshot. It removes the snapshot, all later ones, and the
// transactions that arrived after it. Transactions of the undone blocks do not return to the pool.
func (s *Solo) Revert(ctx context.Context, id uint64) error {
	return s.between(ctx, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := slices.IndexFunc(s.taken, func(x snapshot) bool { return x.id == id })
		if at < 0 {
			return fmt.Errorf("%w: %d", ErrUnknownSnapshot, id)
		}
		target := s.taken[at]
		// Forget first: if the node ends before the chain is taken back, no later transaction returns on its own.
		if err := s.pool.Forget(target.arrivals); err != nil {
			return err
		}
		if err := s.ledger.Rewind(target.height); err != nil {
			return fatal{err}
		}
		s.taken, s.offset, s.nextTime = s.taken[:at], target.offset, 0
		if err := s.pool.Reload(mempool.HeadOf(s.ledger)); err != nil {
			return fatal{err}
		}
		return nil
	})
}

// Continue resumes a development chain after a restart. Its shifted time resumes from the head's timestamp. No new
// snapshot reuses the ID of one from before the restart; those are gone.
func (s *Solo) Continue() {
	head := s.ledger.Tip().Header.Header
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Wall()
	s.offset = max(0, time.UnixMilli(int64(head.Timestamp)).Sub(now))
	if head.Height > 0 {
		s.lastSnapshot = max(s.lastSnapshot, uint64(now.UnixMicro())) // assuming at most one snapshot per microsecond
	}
}
