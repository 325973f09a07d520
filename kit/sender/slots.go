package sender

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// slots are an account's nonces from those in blocks on: the jobs at them, and what others have put there.
type slots struct {
	base    uint64 // how many of the account's transactions are in blocks
	jobs    map[uint64]*job
	foreign map[uint64]bool // nonces at which the pool has what is not ours
}

func newSlots(open []*job) (*slots, error) {
	s := &slots{jobs: make(map[uint64]*job), foreign: make(map[uint64]bool)}
	for _, j := range open {
		if other := s.jobs[j.nonce]; other != nil {
			return nil, fmt.Errorf("%w: it has %q and %q at nonce %d", ErrBadJournal, other.id, j.id, j.nonce)
		}
		s.jobs[j.nonce] = j
	}
	return s, nil
}

// free is the lowest nonce from one on that is neither ours nor another's.
func (s *slots) free(nonce uint64) uint64 {
	for s.jobs[nonce] != nil || s.foreign[nonce] {
		nonce++
	}
	return nonce
}

// hasGap reports whether a nonce that nobody uses holds up others behind it.
func (s *slots) hasGap() bool {
	gap := s.free(s.base)
	for nonce, j := range s.jobs {
		if nonce > gap && j.out {
			return true
		}
	}
	return false
}

// those are the jobs that is says, in the order of their nonces.
func (s *slots) those(is func(*job) bool) []*job {
	return slices.SortedFunc(func(yield func(*job) bool) {
		for _, j := range s.jobs {
			if is(j) && !yield(j) {
				return
			}
		}
	}, func(a, b *job) int { return cmp.Compare(a.nonce, b.nonce) })
}

// used are the jobs at nonces that blocks have used.
func (s *slots) used() []*job { return s.those(func(j *job) bool { return j.nonce < s.base }) }

// due are the jobs whose bytes are to be sent.
func (s *slots) due(now time.Duration) []*job {
	return s.those(func(j *job) bool { return j.due <= now })
}

// waiting are the jobs that the pool has had for some blocks, and no block has.
func (s *slots) waiting(height, blocks types.Height) []*job {
	return s.those(func(j *job) bool { return j.pooled && j.nonce >= s.base && j.since+blocks <= height })
}

// moveTo takes in how many transactions are in blocks: what others had below is no more in the pool.
func (s *slots) moveTo(base uint64) {
	s.base = base
	maps.DeleteFunc(s.foreign, func(nonce uint64, _ bool) bool { return nonce < base })
}

// meet takes in what the pool has, and gives the jobs that are there. Those that are not, and in no block, are due.
func (s *slots) meet(pool map[uint64]types.TxID, now time.Duration) (there []*job) {
	for nonce, j := range s.jobs {
		hash, has := pool[nonce]
		j.pooled = has && j.has(hash, j.isCancelled())
		switch {
		case j.pooled:
			there = append(there, j)
		case nonce >= s.base && j.due == never:
			j.due = now
		}
	}
	clear(s.foreign)
	for nonce := range pool {
		if s.jobs[nonce] == nil {
			s.foreign[nonce] = true
		}
	}
	return there
}
