package role

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// The members of a cluster share the work of proving. The leader assigns blocks to members, and each member takes the
// others' proofs.

// mayProve asks the leader for permission to prove a block or a span of blocks. It is a proving.Permit.
func (m *member) mayProve(ctx context.Context, span blockproof.Span) (bool, error) {
	switch status := m.service.Status(); {
	case status.Leads:
		return m.grantProof(m.identity.Pin().Member(), span), nil
	case status.Leader == 0:
		return false, errors.New("the cluster has no leader")
	default:
		return m.link.Lease(ctx, status.Leader, types.Height(span))
	}
}

// grantProof decides as the leader whether a member may prove a block or a span of blocks. It refuses if the proof is
// already here, because the member will receive it soon.
func (m *member) grantProof(to uint64, span blockproof.Span) bool {
	_, err := m.proofOf(span)
	head, keep := m.Store.Head().Header.Height, m.Store.ProofRetention()
	old := keep > 0 && span.Last()+keep*span.Blocks() <= head // the others do not need its proof
	return err != nil && m.leases.grant(to, types.Height(span), old, time.Now())
}

// proofOf returns the proof of a block or of a span of blocks.
func (m *member) proofOf(span blockproof.Span) ([]byte, error) {
	if span.Log() > 0 {
		return m.Store.RangeProof(span)
	}
	return m.Store.Proof(span.Last())
}

// alive reports whether a member is connected, and the number of its node's start.
func (m *member) alive(id uint64) (boot uint64, is bool) {
	if id == m.identity.Pin().Member() {
		return m.boot, true
	}
	peer := m.link.Peers()[id]
	return peer.Hello.Boot, peer.Connected
}

// gatherProofs takes proofs from the other members until ctx ends.
func (m *member) gatherProofs(ctx context.Context) error {
	if m.Unproven {
		return nil
	}
	err := m.Proofs.Gather(ctx, m.proofSources, m.Log)
	if err != nil && !errors.Is(err, chain.ErrClosed) {
		return fmt.Errorf("proofs of other members: %w", err)
	}
	return nil
}

// proofSources returns the connected members as sources of proofs.
func (m *member) proofSources() (sources []proving.Source) {
	for id, peer := range m.link.Peers() {
		if peer.Connected {
			sources = append(sources, func(ctx context.Context, of []blockproof.Span) (blockproof.Span, []byte, error) {
				ctx, cancel := context.WithTimeout(ctx, proofTime)
				defer cancel()
				numbers := make([]types.Height, len(of)) // the number of a single block's span is its height
				for i, span := range of {
					numbers[i] = types.Height(span)
				}
				number, proof, err := m.link.Proof(ctx, id, numbers)
				return blockproof.Span(number), proof, err
			})
		}
	}
	return sources
}

// A request for proofs fits into a frame of the link.
const _ = uint(p2p.MaxProofs - proving.MostAsked)

const (
	// proofTime bounds the transfer of a proof from another member.
	proofTime = time.Minute

	// leaseTime is the duration of a lease for the proof of a block.
	leaseTime = 10 * time.Minute

	// awayTime is the time after which others may make the proofs of an unreachable member.
	awayTime = 10 * time.Second

	// maxLeases limits the leases in memory. Most of their blocks are already proven.
	maxLeases = 1 << 16
)

// leases records which member proves which block. They are in the leader's memory only: after a change of the leader a
// proof may be made twice.
type leases struct {
	self  uint64
	alive func(member uint64) (boot uint64, is bool) // (*member).alive, replaced in tests

	mu       sync.Mutex
	given    map[types.Height]lease // by span number; a single block's is its height
	followed map[uint64]time.Time   // last request of each other member for a proof that the cluster lacks
	away     map[uint64]time.Time   // first time that each member was found unreachable
}

type lease struct {
	member, boot uint64
	until        time.Time
}

func newLeases(self uint64, alive func(uint64) (uint64, bool)) *leases {
	return &leases{
		self:     self,
		alive:    alive,
		given:    make(map[types.Height]lease),
		followed: make(map[uint64]time.Time),
		away:     make(map[uint64]time.Time),
	}
}

// grant reports whether a member may make a proof, and then leases the proof to that member. The lease ends after
// leaseTime, or once the member has been away for awayTime or was restarted. The leader itself gets no lease while
// others ask for leases. A block is old if only the asking member would use its proof.
func (l *leases) grant(to uint64, h types.Height, old bool, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to != l.self && !old {
		l.followed[to] = now
	}
	had, is := l.given[h]
	if is && had.member != to && l.holds(had, now) || to == l.self && l.othersProve(now) {
		return false
	}
	if len(l.given) >= maxLeases {
		maps.DeleteFunc(l.given, func(_ types.Height, given lease) bool { return !l.holds(given, now) })
	}
	if !is && len(l.given) >= maxLeases {
		return false
	}
	boot, _ := l.alive(to)
	l.given[h] = lease{to, boot, now.Add(leaseTime)}
	return true
}

func (l *leases) holds(given lease, now time.Time) bool {
	boot, is := l.reached(given.member, now)
	return is && boot == given.boot && now.Before(given.until)
}

// reached is like alive, but tolerates a member's absence for awayTime, because a busy one answers late.
func (l *leases) reached(member uint64, now time.Time) (boot uint64, is bool) {
	if boot, is = l.alive(member); is {
		delete(l.away, member)
		return boot, true
	}
	if _, known := l.away[member]; !known {
		l.away[member] = now
	}
	return boot, now.Sub(l.away[member]) < awayTime
}

// othersProve reports whether a reached member has asked for a block within leaseTime.
func (l *leases) othersProve(now time.Time) bool {
	for member, asked := range l.followed {
		if _, is := l.reached(member, now); is && now.Sub(asked) < leaseTime {
			return true
		}
	}
	return false
}
