package p2p

import (
	"crypto/sha256"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/types"
)

// version is that of the frames.
const version = 3

// maxProgram bounds the name of a program, in bytes.
const maxProgram = 128

// Hello is what a member says of itself first, on each connection.
type Hello struct {
	Version   uint16
	Chain     types.BlockHash // of block 0
	Cluster   [16]byte        // zero: of a member that is about to join, and does not know it
	Member    uint64
	Boot      uint64 // grows with each start
	Term      uint64
	LastIndex uint64            // of its log
	Kinds     uint32            // a bit for each kind of entry that it knows
	Pool      [sha256.Size]byte // digest of its pool's limits
	Wall      uint64            // its clock, in Unix milliseconds
	Program   string
	Height    types.Height    // of its newest block
	Producer  types.PublicKey // of the next block on that
}

func (h Hello) encode() []byte {
	e := codec.NewEncoder(256)
	e.U16(h.Version)
	e.Fixed(h.Chain[:])
	e.Fixed(h.Cluster[:])
	e.U64(h.Member)
	e.U64(h.Boot)
	e.U64(h.Term)
	e.U64(h.LastIndex)
	e.U32(h.Kinds)
	e.Fixed(h.Pool[:])
	e.U64(h.Wall)
	e.String(clip(h.Program, maxProgram))
	e.U64(uint64(h.Height))
	e.Fixed(h.Producer[:])
	return e.Data()
}

// decodeHello decodes what encode gives. Of another version it reads nothing but that.
func decodeHello(b []byte) (h Hello, err error) {
	d := codec.NewDecoder(b)
	if h.Version = d.U16(); d.Err() == nil && h.Version != version {
		return h, nil
	}
	d.Fixed(h.Chain[:])
	d.Fixed(h.Cluster[:])
	h.Member = d.U64()
	h.Boot = d.U64()
	h.Term = d.U64()
	h.LastIndex = d.U64()
	h.Kinds = d.U32()
	d.Fixed(h.Pool[:])
	h.Wall = d.U64()
	h.Program = d.String(maxProgram)
	h.Height = types.Height(d.U64())
	d.Fixed(h.Producer[:])
	return h, d.Finish()
}

// Cause is why a connection is refused.
type Cause uint8

// The causes.
const (
	CauseNone      Cause = iota
	CauseVersion         // another version of the link
	CauseChain           // another chain
	CauseCluster         // another cluster
	CauseUnknown         // no member
	CauseRemoved         // no member any more
	CausePin             // a member's id with another key
	CauseBoot            // started later: this one is what it was before, or a copy of it
	CauseForgotten       // it has forgotten what it promised
	CauseKinds           // it does not know entries that the log may hold
	CausePool            // its pool has other limits
	CauseRecovered       // what it was a member of has been recovered without it
	causes
)

var causeNames = [causes]string{
	"none", "version", "chain", "cluster", "unknown", "removed", "pin", "boot", "forgotten", "kinds", "pool",
	"recovered",
}

var causeReasons = [causes]string{
	"",
	"it speaks another version of the cluster's link",
	"it is of another chain",
	"it is of another cluster",
	"its id is no member's: add it with cairn cluster add",
	"it was removed from the cluster: make a new directory and add it as a new member",
	"its key is not the one that its member was added with",
	"the same member was started later elsewhere, or from a copy: only one directory may run as it",
	"it has forgotten what it promised to the others: its disk is an older copy. Remove it, and add a new member",
	"it does not know all kinds of entries that the log holds: use a newer program",
	"its pool of pending transactions has other limits than the others'",
	"it is of what this cluster was before it was recovered: its disk must not run",
}

// String is the cause in a word, as metrics have it.
func (c Cause) String() string {
	if c >= causes {
		return "other"
	}
	return causeNames[c]
}

// Causes are all causes in a word, as metrics have them.
func Causes() []string { return causeNames[CauseNone+1:] }

// Final tells whether time does not mend what a connection is refused for: a member that is told so ends.
func (c Cause) Final() bool { return (&Refusal{Cause: c}).emergency() != nil }

// Refusal is the error of a connection that one member refuses another.
type Refusal struct {
	Cause  Cause
	Told   bool            // by the other one; else this one refuses
	Theirs types.BlockHash // genesis of the other one; zero where it is not known
	Ours   types.BlockHash
	Height types.Height // of CauseRemoved and CauseRecovered: of the newest block then; 0 where it is not known
}

func (r *Refusal) Error() string {
	switch {
	case r.Cause >= causes:
		return fmt.Sprintf("refused for cause %d, which this version does not know", r.Cause)
	case r.Told && r.Cause.Final():
		return r.emergency().Error()
	case r.Told && r.Cause == CauseUnknown:
		return "this member was not added yet: add it with cairn cluster add, on the leader"
	}
	return "refused: " + causeReasons[r.Cause]
}

// emergency is what a member is told that is refused for good; nil for other causes.
func (r *Refusal) emergency() *emergency.Emergency {
	switch r.Cause {
	case CauseChain:
		return emergency.OtherChain(r.Theirs, r.Ours)
	case CauseCluster:
		return emergency.OtherCluster()
	case CausePin:
		return emergency.OtherPin()
	case CauseRemoved:
		return emergency.RemovedMember(r.Height)
	case CauseForgotten:
		return emergency.ForgottenMember()
	case CauseRecovered:
		return emergency.RecoveredWithout(r.Height)
	}
	return nil
}

func (r *Refusal) encode() []byte {
	e := codec.NewEncoder(64)
	e.U8(uint8(r.Cause))
	e.Fixed(r.Ours[:])
	e.U64(uint64(r.Height))
	return e.Data()
}

// decodeRefusal decodes what another member encoded. Of another version it reads the cause.
func decodeRefusal(b []byte, own Hello) (*Refusal, error) {
	d := codec.NewDecoder(b)
	r := &Refusal{Cause: Cause(d.U8()), Told: true, Ours: own.Chain}
	if d.Err() == nil && (r.Cause == CauseVersion || d.Remaining() == 0) {
		return r, nil
	}
	d.Fixed(r.Theirs[:])
	r.Height = types.Height(d.U64())
	return r, d.Finish()
}

// past is what a cluster remembers of a member that comes.
type past struct {
	removed   bool
	recovered bool
	height    types.Height // of the newest block then
}

// promise is the most that a member is known to have promised: a term, and in it the last entry that it acknowledged.
// A higher term says nothing of the index, as its leader may have replaced what came before.
type promise struct{ term, index uint64 }

func (p *promise) raise(term, index uint64) {
	if term > p.term {
		*p = promise{term, index}
	} else if term == p.term {
		p.index = max(p.index, index)
	}
}

// judge tells why a peer's Hello is refused. own is this member's, peer what is known of the other.
func judge(own, h Hello, required uint32, peer *known, was past, pin Pin) Cause {
	joining := h.Cluster == [16]byte{} || own.Cluster == [16]byte{} // it has neither log nor pool yet
	switch {
	case h.Version != own.Version:
		return CauseVersion
	case was.recovered:
		return CauseRecovered
	case was.removed:
		return CauseRemoved
	case peer == nil:
		return CauseUnknown
	case pin != peer.Pin:
		return CausePin
	case h.Chain != own.Chain:
		return CauseChain
	case h.Cluster != own.Cluster && !joining:
		return CauseCluster
	case h.Kinds&required != required:
		return CauseKinds
	case h.Pool != own.Pool && !joining:
		return CausePool
	case h.Boot < peer.boot:
		return CauseBoot
	case h.Term < peer.promised.term, h.Term == peer.promised.term && h.LastIndex < peer.promised.index:
		return CauseForgotten
	}
	return CauseNone
}
