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

// Proposal is a block that the log has and that is not signed yet.
type Proposal struct {
	Index uint64 // of its entry
	Block
}

// StateMachine follows the blocks of the applied log. It is a function of the log and the same on every member. A height
// has one proposal at a time, until its Release. So a member that signs only the proposal of its applied log never signs
// two blocks of a height, whoever leads. Start one with [StartStateMachine].
type StateMachine struct {
	head     Head
	applied  uint64
	proposal *Proposal
}

// StartStateMachine returns the state after an entry that left a head and no proposal, where a log may be compacted.
func StartStateMachine(index uint64, head Head) *StateMachine {
	return &StateMachine{head: head, applied: index}
}

// Head is the last released block.
func (m *StateMachine) Head() Head { return m.head }

// Applied is the index of the last applied entry.
func (m *StateMachine) Applied() uint64 { return m.applied }

// Proposal is the block to sign and release; nil: a leader may propose one.
func (m *StateMachine) Proposal() *Proposal { return m.proposal }

// Outcome is the effect of an entry.
type Outcome int

// The outcomes.
const (
	None     Outcome = iota // it is not about blocks
	Stale                   // it came too late and has no effect
	Decided                 // its block is the proposal
	Released                // the proposal is the head now
)

// ErrForged refuses a Release that names another block than the proposal, or has a wrong signature. No member writes one.
var ErrForged = errors.New("the release is not of the proposal")

// Apply applies the next entry; nil is an entry of raft itself. An error changes nothing, and nothing may be applied after
// it.
func (m *StateMachine) Apply(index uint64, e Entry) (Outcome, error) {
	if index != m.applied+1 {
		return None, fmt.Errorf("entry %d was applied, %d is not the next", m.applied, index)
	}
	outcome := None
	switch e := e.(type) {
	case Block:
		outcome = Stale
		if m.proposal == nil && e.Header.Height == m.head.Height+1 && e.Header.Parent == m.head.Hash {
			m.proposal, outcome = &Proposal{index, e}, Decided
		}
	case Release:
		outcome = Stale
		if c := m.proposal; c != nil && c.Index == e.Index {
			head := Head{c.Header.Height, c.Header.Hash()}
			signed := types.SignedHeader{Header: c.Header, Signature: e.Signature}
			if head != (Head{e.Height, e.Hash}) || !signed.VerifySignature() {
				return None, fmt.Errorf("%w: entry %d names block %d, %s, and releases block %d, %s, of entry %d",
					ErrForged, index, e.Height, e.Hash, head.Height, head.Hash, c.Index)
			}
			m.head, m.proposal, outcome = head, nil, Released
		}
	}
	m.applied = index
	return outcome, nil
}
