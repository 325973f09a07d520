package cluster

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Head is the last released block.
type Head struct {
	Height types.Height
	Hash   types.BlockHash
}

// Proposal is a decided block that is not signed yet.
type Proposal struct {
	Index uint64 // index of its entry
	Block
}

// StateMachine follows the blocks of the applied log. It is a function of the log, and the same on every member. At
// each height there is only one proposal at a time, until its Release. A member that signs only the proposal of its
// applied log therefore never double-signs, whichever member leads. Start one with [StartStateMachine].
type StateMachine struct {
	head     Head
	applied  uint64
	base     uint64 // an index at or after the newest one at which the log may be cut
	proposal *Proposal
}

// StartStateMachine returns the state after an entry that left the given head and no proposal, as when a log was cut.
func StartStateMachine(index uint64, head Head) *StateMachine {
	return &StateMachine{head: head, applied: index, base: index}
}

// Head returns the last released block.
func (m *StateMachine) Head() Head { return m.head }

// Applied returns the index of the last applied entry.
func (m *StateMachine) Applied() uint64 { return m.applied }

// Base returns an index up to which members may have cut their logs. A block may name transactions after it only.
func (m *StateMachine) Base() uint64 { return m.base }

// Proposal returns the block to sign and release. If it is nil, a leader may propose one.
func (m *StateMachine) Proposal() *Proposal { return m.proposal }

// Outcome is the effect of an entry.
type Outcome int

// The outcomes.
const (
	None     Outcome = iota // the entry is not about blocks
	Stale                   // the entry came too late and has no effect
	Decided                 // the entry's block is the proposal
	Released                // the proposal is now the head
)

// ErrForged is returned for a Release with another block than the proposal's or an invalid signature. No member writes
// one.
var ErrForged = errors.New("the release does not belong to the proposal")

// Apply applies the next entry; nil stands for raft's own entries. After an error the state is unchanged, and Apply
// must not be called again.
func (m *StateMachine) Apply(index uint64, e Entry) (Outcome, error) {
	if index != m.applied+1 {
		return None, fmt.Errorf("entry %d does not follow entry %d, the last one applied", index, m.applied)
	}
	outcome := None
	switch e := e.(type) {
	case nil:
		if m.proposal == nil { // a change of members, perhaps: see [Member.checkpoint]
			m.base = index
		}
	case Block:
		outcome = Stale
		named := e.Names == nil || e.Since >= m.base
		if m.proposal == nil && e.Header.Height == m.head.Height+1 && e.Header.Parent == m.head.Hash && named {
			m.proposal, outcome = &Proposal{index, e}, Decided
		}
	case Release:
		outcome = Stale
		if c := m.proposal; c != nil && c.Index == e.Index {
			head := Head{c.Header.Height, c.Header.Hash()}
			signed := types.SignedHeader{Header: c.Header, Seal: types.Seal{Signature: e.Signature}}
			if head != (Head{e.Height, e.Hash}) || !signed.VerifySeal() {
				return None, fmt.Errorf("%w: entry %d names block %d, %s, and releases block %d, %s, of entry %d",
					ErrForged, index, e.Height, e.Hash, head.Height, head.Hash, c.Index)
			}
			m.head, m.base, m.proposal, outcome = head, index, nil, Released
		}
	}
	m.applied = index
	return outcome, nil
}
