package sender

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// slots holds the jobs and the foreign transactions at an account's nonces that are not in blocks yet.
type slots struct {
	base    uint64 // number of the account's transactions in blocks
	jobs    map[uint64]*job
	foreign map[uint64]bool // nonces of other programs' transactions in the pool
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

// free returns the lowest nonce from a given one on without a job or a foreign transaction.
func (s *slots) free(nonce uint64) uint64 {
	for s.jobs[nonce] != nil || s.foreign[nonce] {
		nonce++
	}
	return nonce
}

// hasGap reports whether an unused nonce blocks others behind it.
func (s *slots) hasGap() bool {
	gap := s.free(s.base)
	for nonce, j := range s.jobs {
		if nonce > gap && j.out {
			return true
		}
	}
	return false
}

// those returns the jobs that satisfy is, in nonce order.
func (s *slots) those(is func(*job) bool) []*job {
	return slices.SortedFunc(func(yield func(*job) bool) {
		for _, j := range s.jobs {
			if is(j) && !yield(j) {
				return
			}
		}
	}, func(a, b *job) int { return cmp.Compare(a.nonce, b.nonce) })
}

// used returns the jobs at nonces that blocks have used.
func (s *slots) used() []*job { return s.those(func(j *job) bool { return j.nonce < s.base }) }

// due returns the jobs whose bytes are due to be sent.
func (s *slots) due(now time.Duration) []*job {
	return s.those(func(j *job) bool { return j.due <= now })
}

// waiting returns the jobs that the pool has had for a number of blocks without inclusion.
func (s *slots) waiting(height, blocks types.Height) []*job {
	return s.those(func(j *job) bool { return j.pooled && j.nonce >= s.base && j.since+blocks <= height })
}

// late returns the jobs at unused nonces that have expired, given the timestamp of a block in the chain.
func (s *slots) late(head uint64) []*job {
	return s.those(func(j *job) bool { return j.nonce >= s.base && j.expired(head) })
}

// moveTo sets the number of transactions in blocks, and drops foreign transactions below it.
func (s *slots) moveTo(base uint64) {
	s.base = base
	maps.DeleteFunc(s.foreign, func(nonce uint64, _ bool) bool { return nonce < base })
}

// meet takes in the contents of the pool, and returns the jobs that are there. Jobs that are neither there nor in a
// block become due.
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
