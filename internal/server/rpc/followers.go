package rpc

import (
	"sync"
	"time"
)

const (
	// followerTime is how long a node counts as a follower after it asked for blocks.
	followerTime = 30 * time.Second
	// maxFollowers bounds how many are remembered, maxFollowersPerSource how many of one address: what they call
	// themselves is their own choice.
	maxFollowers          = 1024
	maxFollowersPerSource = 32
)

// followers are the nodes that sync from this one: those that ask for blocks, under a name of their own.
type followers struct {
	mu   sync.Mutex
	last map[follower]time.Time
}

type follower struct{ source, name string }

// saw notes that a follower has asked for blocks.
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

// count is how many there are.
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
