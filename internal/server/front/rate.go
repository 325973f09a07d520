package front

import (
	"container/list"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"
)

// Rate bounds a client's calls: PerSecond of them, and Burst at once. A Rate of 0 calls a second is no limit.
type Rate struct {
	PerSecond float64
	Burst     float64
}

// A bucket is a token bucket that may go into debt: a batch is let in while a token is left, and the client waits
// afterwards until the debt is paid.
type bucket struct {
	tokens float64
	at     time.Time // time of tokens; zero for a full bucket
}

// take takes cost tokens. If less than one is left, it takes none and returns how long to wait for it.
func (b *bucket) take(r Rate, now time.Time, cost float64) (wait time.Duration) {
	if b.at.IsZero() {
		b.tokens = r.Burst
	} else {
		b.tokens = min(r.Burst, b.tokens+max(0, now.Sub(b.at).Seconds())*r.PerSecond)
	}
	b.at = now
	if b.tokens < 1 {
		return time.Duration(math.Ceil((1 - b.tokens) / r.PerSecond * float64(time.Second)))
	}
	b.tokens -= cost
	return 0
}

// spend takes tokens for work that was let in already.
func (b *bucket) spend(cost float64) { b.tokens -= cost }

const (
	bucketShards = 64
	// maxBuckets bounds the number of addresses remembered; the longest unseen is forgotten first.
	maxBuckets = 64 << 10
)

// buckets holds one bucket for each address.
type buckets struct {
	rate   Rate
	seed   maphash.Seed
	shards [bucketShards]bucketShard
}

type bucketShard struct {
	mu      sync.Mutex
	byPlace map[netip.Addr]*list.Element
	recent  list.List // holds *addressBucket, the latest seen first
}

type addressBucket struct {
	address netip.Addr
	bucket
}

func newBuckets(rate Rate) *buckets {
	b := &buckets{rate: rate, seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].byPlace = map[netip.Addr]*list.Element{}
	}
	return b
}

func (b *buckets) shard(a netip.Addr) *bucketShard {
	return &b.shards[maphash.Comparable(b.seed, a)%bucketShards]
}

// take is bucket.take for an address.
func (b *buckets) take(a netip.Addr, now time.Time, cost float64) time.Duration {
	s := b.shard(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	element, ok := s.byPlace[a]
	if ok {
		s.recent.MoveToFront(element)
	} else {
		if s.recent.Len() >= maxBuckets/bucketShards {
			delete(s.byPlace, s.recent.Remove(s.recent.Back()).(*addressBucket).address)
		}
		element = s.recent.PushFront(&addressBucket{address: a})
		s.byPlace[a] = element
	}
	return element.Value.(*addressBucket).take(b.rate, now, cost)
}

// spend is bucket.spend for an address, unless it was forgotten.
func (b *buckets) spend(a netip.Addr, cost float64) {
	s := b.shard(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if element, ok := s.byPlace[a]; ok {
		element.Value.(*addressBucket).spend(cost)
	}
}

// place returns the address that stands for one client: an IPv4 address, or an IPv6 network of 64 bits, since a
// customer usually has all addresses of one.
func place(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is4() || !a.IsValid() {
		return a
	}
	prefix, err := a.Prefix(64)
	if err != nil {
		return a // only for an invalid address
	}
	return prefix.Addr()
}
