package mempool

import (
	"sync/atomic"
	"time"
)

// Class is the obstacle between a transaction and the next block. It determines which others the transaction may
// displace: one that no block can include now never displaces one that a block can, and places are shared fairly
// between senders.
type Class string

// The classes of transactions in the pool and in the verification queues before it.
const (
	ClassHeld         Class = "held"           // waiting for a nonce or for more balance
	ClassUnderBaseFee Class = "under_base_fee" // waiting for a lower base fee
	ClassExecutable   Class = "executable"     // waiting for better paying ones to be included
	ClassSponsored    Class = "sponsored"      // whose payer already pays for as many as the pool allows
	ClassSignatures   Class = "signatures"     // waiting for signature verification
	ClassSuspects     Class = "suspects"       // likewise, from a source that sent a bad signature
)

// classes lists all classes.
var classes = []Class{
	ClassHeld, ClassUnderBaseFee, ClassExecutable, ClassSponsored, ClassSignatures, ClassSuspects,
}

// reasons holds, by class, the reason why there is no room.
var reasons = map[Class]string{
	ClassHeld:         "no sender has more transactions queued behind a nonce gap or for balance",
	ClassUnderBaseFee: "while it is nearly full, the max fee must be at least the base fee",
	ClassExecutable:   "all pending transactions pay at least as much",
	ClassSponsored:    "too many pending transactions of this payer",
	ClassSignatures:   "too many signatures await verification",
	ClassSuspects:     "too many waiting requests from a client that sent an invalid signature",
}

// classOf returns the class of a held transaction, or of one in a run with the given floor.
func (p *Pool) classOf(held bool, floor feeCaps) Class {
	switch {
	case held:
		return ClassHeld
	case floor.tip(p.head.Env.BaseFee) < 0:
		return ClassUnderBaseFee
	default:
		return ClassExecutable
	}
}

// refusingTime is the time after a refusal for which a class counts as refusing.
const refusingTime = time.Minute

// ClassStats counts the transactions of a class that were refused or evicted for lack of room.
type ClassStats struct {
	Class     Class
	Refused   uint64 // since the start
	Displaced uint64 // since the start: pending ones that were evicted
	Refusing  bool   // whether one was refused within the last minute
}

// classCounts holds the counters of a class.
type classCounts struct {
	refused, displaced atomic.Uint64
	last               atomic.Int64 // last refusal, in nanoseconds since 1970
}

func (c *classCounts) refuse(now time.Time) {
	c.refused.Add(1)
	c.last.Store(now.UnixNano())
}

func (c *classCounts) stats(class Class, now time.Time) ClassStats {
	refused := c.refused.Load()
	return ClassStats{
		Class:     class,
		Refused:   refused,
		Displaced: c.displaced.Load(),
		Refusing:  refused > 0 && now.Sub(time.Unix(0, c.last.Load())) < refusingTime,
	}
}
