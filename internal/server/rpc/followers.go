package rpc

import (
	"sync"
	"time"
)

const (
	// followerTime is how long a node counts as a follower after a request for blocks.
	followerTime = 30 * time.Second
	// maxFollowers bounds the followers that are remembered, and maxFollowersPerSource those with one address: they
	// choose their names themselves.
	maxFollowers          = 1024
	maxFollowersPerSource = 32
)

// followers tracks the nodes that sync from this one: they ask for blocks under names of their own.
type followers struct {
	mu   sync.Mutex
	last map[follower]time.Time
}

type follower struct{ source, name string }

// saw records a follower's request for blocks.
func (f *followers) saw(source, name string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(now)
	who := follower{source, name}
	if _, known := f.last[who]; !known {
		same := 0
		for other := range f.last {
			if other.source == source {
				same++
			}
		}
		if same >= maxFollowersPerSource || len(f.last) >= maxFollowers {
			return
		}
	}
	if f.last == nil {
		f.last = make(map[follower]time.Time)
	}
	f.last[who] = now
}

// count returns the number of present followers.
func (f *followers) count(now time.Time) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(now)
	return uint64(len(f.last))
}

func (f *followers) forget(now time.Time) {
	for who, last := range f.last {
		if now.Sub(last) > followerTime {
			delete(f.last, who)
		}
	}
}
