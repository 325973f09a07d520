package p2p

import (
	"crypto/sha256"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/types"
)

// version is the version of the link's protocol.
const version = 3

// maxProgram bounds a program's name, in bytes.
const maxProgram = 128

// Hello is the first message of either side on each connection.
type Hello struct {
	Version   uint16
	Chain     types.BlockHash // hash of block 0
	Cluster   [16]byte        // zero for a joining member, which does not know it yet
	Member    uint64
	Boot      uint64 // grows with each start
	Term      uint64
	LastIndex uint64            // last index of its log
	Kinds     uint32            // a bit for each kind of log entry that it supports
	Pool      [sha256.Size]byte // digest of its pool's limits
	Wall      uint64            // wall clock, in Unix milliseconds
	Program   string
	Height    types.Height    // height of its newest block
	Producer  types.PublicKey // producer of the block after it
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

// decodeHello decodes a Hello. If its version differs from ours, only Version is set.
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

// Cause is the reason for refusing a connection.
type Cause uint8

// The causes.
const (
	CauseNone      Cause = iota
	CauseVersion         // another version of the link
	CauseChain           // another chain
	CauseCluster         // another cluster
	CauseUnknown         // not a member
	CauseRemoved         // no longer a member
	CausePin             // a member's id, but another key
	CauseBoot            // the member was started later elsewhere: this is an older state or a copy of it
	CauseForgotten       // its disk lacks promises that it made
	CauseKinds           // it does not support all kinds of entries that the log may hold
	CausePool            // its pool has other limits
	CauseRecovered       // its cluster was recovered without it
	causes
)

var causeNames = [causes]string{
	"none", "version", "chain", "cluster", "unknown", "removed", "pin", "boot", "forgotten", "kinds", "pool",
	"recovered",
}

var causeReasons = [causes]string{
	"",
	"it uses another version of the cluster protocol",
	"it belongs to another chain",
	"it belongs to another cluster",
	"its id is not a member's: add it with cairn cluster add",
	"it was removed from the cluster: make a new directory and add it as a new member",
	"its key differs from the one with which the member was added",
	"the same member was started later elsewhere, or from a copy: only one directory may run as this member",
	"its disk is an older copy, which lacks votes or entries that it has confirmed to the others. Remove it, and add " +
		"a new member",
	"it does not support all kinds of entries in the log: install a newer program",
	"its mempool has different limits than the other members'",
	"it belongs to this cluster before its recovery: its disk must not run",
}

// String returns the cause's name, as used in metrics.
func (c Cause) String() string {
	if c >= causes {
		return "other"
	}
	return causeNames[c]
}

// Causes returns the names of all causes but CauseNone, as used in metrics.
func Causes() []string { return causeNames[CauseNone+1:] }

// Final reports whether a refusal is permanent. A member that receives a permanent refusal exits.
func (c Cause) Final() bool { return (&Refusal{Cause: c}).emergency() != nil }

// Refusal is the error of a refused connection.
type Refusal struct {
	Cause  Cause
	Told   bool            // received from the other side; else this side refuses
	Theirs types.BlockHash // the other side's genesis block; zero if unknown
	Ours   types.BlockHash
	Height types.Height // newest block at a CauseRemoved or CauseRecovered; 0 if unknown
}

func (r *Refusal) Error() string {
	switch {
	case r.Cause >= causes:
		return fmt.Sprintf("refused for cause %d, which is unknown to this version", r.Cause)
	case r.Told && r.Cause.Final():
		return r.emergency().Error()
	case r.Told && r.Cause == CauseUnknown:
		return "this member was not added yet: add it with cairn cluster add on the leader"
	}
	return "refused: " + causeReasons[r.Cause]
}

// emergency returns the emergency of the refused member if the refusal is permanent, else nil.
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

// decodeRefusal decodes another member's refusal. If the versions differ, only the cause is set.
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

// formerMember is a cluster's record of a former member.
type formerMember struct {
	removed   bool
	recovered bool
	height    types.Height // newest block at that time
}

// promise is the highest known promise of a member: a term, and the last entry that it acknowledged in that term. A
// higher term resets the index, as its leader may have replaced earlier entries.
type promise struct{ term, index uint64 }

func (p *promise) raise(term, index uint64) {
	if term > p.term {
		*p = promise{term, index}
	} else if term == p.term {
		p.index = max(p.index, index)
	}
}

// checkHello returns the cause for refusing Hello h, if any. own is this member's Hello; peer is the known state of the
// sender, nil if it is not a member.
func checkHello(own, h Hello, required uint32, peer *known, was formerMember, pin Pin) Cause {
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
