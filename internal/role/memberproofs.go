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

// The members of a cluster share the work of proving: the leader says which member proves which block, and each takes
// from the others the proofs that they made.

// mayProve asks the leader whether this member may prove a block, or a span of several: a proving.Permit.
func (m *member) mayProve(ctx context.Context, span blockproof.Span) (bool, error) {
	switch status := m.service.Status(); {
	case status.Leads:
		return m.grantProof(m.identity.Pin().Member(), span), nil
	case status.Leader == 0:
		return false, errors.New("no leader of the cluster is heard of")
	default:
		return m.link.Lease(ctx, status.Leader, types.Height(span))
	}
}

// grantProof tells whether a member may prove a block, or a span of several, as this one leads. One whose proof is here
// already is not proven again: that member has it soon, too.
func (m *member) grantProof(to uint64, span blockproof.Span) bool {
	_, err := m.proofOf(span)
	head, keep := m.Store.Head().Header.Height, m.Store.ProofRetention()
	old := keep > 0 && span.Last()+keep*span.Blocks() <= head // others do without it
	return err != nil && m.leases.grant(to, types.Height(span), old, time.Now())
}

// proofOf is the proof of a block, or of a span of several.
func (m *member) proofOf(span blockproof.Span) ([]byte, error) {
	if span.Log() > 0 {
		return m.Store.RangeProof(span)
	}
	return m.Store.Proof(span.Last())
}

// alive tells whether a member can be reached, and as which start of it.
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

// proofSources are the members that can be asked for proofs.
func (m *member) proofSources() (sources []proving.Source) {
	for id, peer := range m.link.Peers() {
		if peer.Connected {
			sources = append(sources, func(ctx context.Context, of []blockproof.Span) (blockproof.Span, []byte, error) {
				ctx, cancel := context.WithTimeout(ctx, proofTime)
				defer cancel()
				numbers := make([]types.Height, len(of)) // a block's is its height
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

// A question for proofs fits into the link's frame.
const _ = uint(p2p.MaxProofs - proving.MostAsked)

const (
	// proofTime is how long a proof may take to come from another member.
	proofTime = time.Minute

	// leaseTime is how long a block's proof is left to the member that asked for it.
	leaseTime = 10 * time.Minute

	// awayTime is how long a member may not be reached before others make its proofs.
	awayTime = 10 * time.Second

	// maxLeases bounds what is remembered: blocks that were given away lately, most of which are proven by now.
	maxLeases = 1 << 16
)

// leases says which member makes the proof of which block. They are the leader's, in memory: a proof that is being
// made while another member begins to lead may be made twice.
type leases struct {
	self  uint64
	alive func(member uint64) (boot uint64, is bool) // whether a member is reached, and as which start of it

	mu       sync.Mutex
	given    map[types.Height]lease // by number of a span; a block's is its height
	followed map[uint64]time.Time   // when other members asked last for a block whose proof the cluster lacks
	away     map[uint64]time.Time   // since when members are not reached, as far as it was looked at
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

// grant tells whether a member may make a proof, and leaves the proof to that member then. It does so until the time is
// over, or the member has been away for awayTime or was started anew. The leader itself is given none while others ask
// for some. A block is old if its proof would serve only the member that asks.
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

// reached is alive, also of a member that has not been away for long: one that is busy answers late.
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

// othersProve tells whether a member that is reached asked for a block a short time ago.
func (l *leases) othersProve(now time.Time) bool {
	for member, asked := range l.followed {
		if _, is := l.reached(member, now); is && now.Sub(asked) < leaseTime {
			return true
		}
	}
	return false
}
