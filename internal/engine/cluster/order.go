package cluster

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Head is the last block that was released.
type Head struct {
	Height types.Height
	Hash   types.BlockHash
}

// Candidate is a block that is decided and not released yet.
type Candidate struct {
	Index uint64 // of its entry
	Block
}

// Order is what the log says of blocks as far as it was applied. It is a function of the log, the same on every
// member. For a height there is one candidate at a time, which ends by its Release. So a signature over nothing but
// the candidate of an applied log is never over two blocks of a height, whoever leads. The zero Order is none; begin
// with [StartOrder].
type Order struct {
	head      Head
	applied   uint64
	candidate *Candidate
}

// StartOrder is the order after an entry that left a head and no candidate: where a log may be cut.
func StartOrder(index uint64, head Head) *Order { return &Order{head: head, applied: index} }

// Head is the last block that was released.
func (o *Order) Head() Head { return o.head }

// Applied is the index of the last entry.
func (o *Order) Applied() uint64 { return o.applied }

// Candidate is the block to be signed and released; nil: there is none, and a leader may propose one.
func (o *Order) Candidate() *Candidate { return o.candidate }

// Outcome is what an entry of a block or a release came to.
type Outcome int

// The outcomes.
const (
	None     Outcome = iota // the entry says nothing of blocks
	Stale                   // it came too late, and has no effect
	Decided                 // its block is the candidate
	Released                // the candidate that there was is the head
)

// ErrForged is the error of a Release of the candidate that names another block, or whose signature is not its
// producer's: no member writes one.
var ErrForged = errors.New("the release is not of the candidate")

// Apply applies the next entry. A nil entry is one that raft wrote. After an error nothing has changed, and nothing
// may be applied after it.
func (o *Order) Apply(index uint64, e Entry) (Outcome, error) {
	if index != o.applied+1 {
		return None, fmt.Errorf("entry %d was applied, %d is not the next", o.applied, index)
	}
	outcome := None
	switch e := e.(type) {
	case Block:
		outcome = Stale
		if o.candidate == nil && e.Header.Height == o.head.Height+1 && e.Header.Parent == o.head.Hash {
			o.candidate, outcome = &Candidate{index, e}, Decided
		}
	case Release:
		outcome = Stale
		if c := o.candidate; c != nil && c.Index == e.Index {
			head := Head{c.Header.Height, c.Header.Hash()}
			signed := types.SignedHeader{Header: c.Header, Signature: e.Signature}
			if head != (Head{e.Height, e.Hash}) || !signed.VerifySignature() {
				return None, fmt.Errorf("%w: entry %d names block %d, %s, and releases block %d, %s, of entry %d",
					ErrForged, index, e.Height, e.Hash, head.Height, head.Hash, c.Index)
			}
			o.head, o.candidate, outcome = head, nil, Released
		}
	}
	o.applied = index
	return outcome, nil
}
