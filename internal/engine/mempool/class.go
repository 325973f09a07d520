package mempool

import (
	"sync/atomic"
	"time"
)

// Class says what keeps a transaction out of the next block, and so whose place it may take. What cannot be included
// now never displaces what can, and its places go round by sender.
type Class string

// The classes of transactions, and the queues before the pool in which there may be no room either.
const (
	ClassHeld         Class = "held"           // behind a missing nonce, or for more balance
	ClassUnderBaseFee Class = "under_base_fee" // until the base fee falls
	ClassExecutable   Class = "executable"     // until better paying ones are included
	ClassSignatures   Class = "signatures"     // for its signature to be verified
	ClassSuspects     Class = "suspects"       // likewise, of a source that sent a bad one
)

// classes are all of them.
var classes = []Class{ClassHeld, ClassUnderBaseFee, ClassExecutable, ClassSignatures, ClassSuspects}

// reasons are why there is no room for a transaction of a class.
var reasons = map[Class]string{
	ClassHeld:         "no sender has more that waits for an earlier nonce or for balance",
	ClassUnderBaseFee: "while it is nearly full, the max fee must be at least the base fee",
	ClassExecutable:   "what it holds pays at least as much",
	ClassSignatures:   "too many signatures wait for verification",
	ClassSuspects:     "too many requests of a source that sent a bad signature wait",
}

// classOf is the class of a transaction with these fees; those of a run are its floor.
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

// refusingTime is for how long a class counts as refused after the last time.
const refusingTime = time.Minute

// ClassStats are what happened to a class for want of room.
type ClassStats struct {
	Class     Class
	Refused   uint64 // since the start
	Displaced uint64 // since the start: what was pending, and made way
	Refusing  bool   // whether one was refused within the last minute
}

// classCounts are the counters of a class.
type classCounts struct {
	refused, displaced atomic.Uint64
	last               atomic.Int64 // when one was refused, in nanoseconds since 1970
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
