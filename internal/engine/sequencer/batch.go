package sequencer

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

const (
	// onDemandTime is what a batch may take where blocks have no interval.
	onDemandTime = 10 * time.Second
	// A transaction that is tried again has graceTime, and graceGas for each gas of its limit. That is some ten times
	// what gas may take (docs/rationale/execution.md), because the machine may have other work.
	graceTime = time.Second
	graceGas  = 10 * time.Nanosecond
	// maxFaulty is how many codes the engine may fail on before the block is closed.
	maxFaulty = 3
	// looks is after how many transactions that are passed over the clock is looked at.
	looks = 1024
)

// Fate is what became of a transaction that was tried in a block and is not in it, though it is valid.
type Fate string

// The fates.
const (
	// the time that it had was over: it comes again, first in a block and with more time when its turn is
	Deferred Fate = "deferred"
	// it had all the time that one may have: dropped, its sender and the code that it calls wait
	Overran Fate = "dropped"
	Faulty  Fate = "faulty" // the engine failed on it: dropped, and the code is in quarantine
	// the block can load no further code: it comes again, before all others of a block when its turn is
	LoadFull Fate = "no room"
)

// LeftOut is a transaction that was tried in a block and is not in it, though it is valid.
type LeftOut struct {
	Tx   *types.VerifiedTx
	Fate Fate
	Err  error // what Faulty is about
}

// source gives a batch's transactions: a *mempool.Best, or a single one.
type source interface {
	ledger.Transactions
	Round() int
	Later(round int)
}

// batch is the transactions of one block, in the order of what they pay, within the block's time. It alone decides what
// becomes of one that is tried and does not make it.
//
// Contracts may run far longer than their gas says. So once they have taken half of the block's time, what runs none
// comes first. Then come calls of contracts that keep pace, then of those that nobody knows, then the others. Until
// nothing else waits they are stopped at three quarters. Whatever is sent, transfers have a quarter of each block's
// time.
type batch struct {
	source
	clock   Clock
	paces   paces
	time    time.Duration                 // that the batch may take
	alone   bool                          // each transaction has all the time that one may have
	retried *types.VerifiedTx             // has it too, and comes first
	turns   *turns                        // of those that were left out before
	refuse  func(*types.VerifiedTx) error // why one is not to be tried; nil for none
	trying  func(*types.VerifiedTx)       // is told before a contract runs; nil for none
	debug   ledger.Debug
	progress
}

// progress is how far a batch has come.
type progress struct {
	begin   time.Time
	start   time.Time         // of given
	given   *types.VerifiedTx // last
	running time.Duration     // that contracts ran
	faulty  map[types.CodeHash]bool
	left    []LeftOut
}

// Next implements [ledger.Transactions].
func (b *batch) Next() *types.VerifiedTx {
	now := b.clock.Now()
	if b.given == nil {
		b.begin = now
	} else if now.Sub(b.begin) >= b.time || len(b.faulty) >= maxFaulty {
		return nil
	}
	for passed := 1; ; passed++ {
		tx := b.source.Next()
		if tx == nil || passed%looks == 0 && b.clock.Now().Sub(b.begin) >= b.time {
			return nil
		}
		if b.crowded() && b.round(tx) > b.Round() {
			b.Later(b.round(tx))
			continue
		}
		if b.turns.holds(tx) && tx != b.retried || b.refuse != nil && b.refuse(tx) != nil {
			b.SkipSender()
			continue
		}
		b.given, b.start = tx, now
		if b.trying != nil && runs(tx) {
			b.trying(tx)
		}
		return tx
	}
}

// crowded reports whether contracts have had their half of the block.
func (b *batch) crowded() bool { return b.running >= b.time/2 }

// round is when a transaction's turn comes in a crowded block.
func (b *batch) round(tx *types.VerifiedTx) int {
	switch p := tx.Signed().Payload.(type) {
	case types.Call:
		return 1 + b.paces.rank(p.Contract, b.begin)
	case types.Deploy:
		return 2
	default:
		return 0
	}
}

// runs reports whether a transaction may run a contract.
func runs(tx *types.VerifiedTx) bool {
	switch tx.Signed().Payload.(type) {
	case types.Call, types.Deploy:
		return true
	default:
		return false
	}
}

// Overdue is the batch's [ledger.Batch].Overdue.
func (b *batch) Overdue() bool { return b.clock.Now().Sub(b.start) >= b.limit() }

// limit is how long the transaction given last may run.
func (b *batch) limit() time.Duration {
	if b.hasAll() {
		return max(b.time, graceTime+time.Duration(b.given.Signed().GasLimit)*graceGas)
	}
	rest := b.time - b.start.Sub(b.begin)
	if b.Round() > 0 {
		return rest
	}
	return min(rest, b.time/2, b.time*3/4-b.running)
}

// hasAll reports whether the transaction given last has all the time that one may have.
func (b *batch) hasAll() bool { return b.alone || b.given == b.retried }

// Tried is the batch's [ledger.Batch].Tried.
func (b *batch) Tried(tx *types.VerifiedTx, receipt types.Receipt, err error) {
	if !runs(tx) {
		return
	}
	took := b.clock.Now().Sub(b.start)
	// What it takes beyond what others must leave it makes the block later, and is not theirs.
	share := b.limit()
	if b.hasAll() {
		share = b.time / 2
	}
	b.begin = b.begin.Add(max(0, took-share))
	b.running += min(took, share)
	var fault *vm.Fault
	switch {
	case err == nil:
		b.paces.ran(tx, receipt.GasUsed, took, b.start)
	case errors.As(err, &fault):
		if !errors.Is(err, quarantine.ErrQuarantined) { // which takes no time
			b.faulty[fault.Code] = true
		}
		b.left = append(b.left, LeftOut{tx, Faulty, err})
	case errors.Is(err, exec.ErrLoadFull): // it ran in vain, which counts as time that contracts took
		b.left = append(b.left, LeftOut{tx, LoadFull, err})
		b.turns.waitForLoad(tx, took > paceTime)
	case errors.Is(err, ledger.ErrOverdue):
		b.paces.ran(tx, 0, took, b.start)
		fate := Deferred
		if b.hasAll() {
			fate = Overran
		} else {
			b.turns.waitForTime(tx)
		}
		b.left = append(b.left, LeftOut{tx, fate, err})
	}
}

// CodeOf is the code that a transaction's payload runs first, in the newest state. It is that of the contract which it
// calls, or the one that it deploys, and zero if there is none. An error is one of reading.
func CodeOf(l mempool.Chain, payload types.Payload) (types.CodeHash, error) {
	switch p := payload.(type) {
	case types.Deploy:
		if source, ok := p.Copies(); ok {
			return CodeOf(l, types.Call{Contract: source})
		}
		return sha256.Sum256(p.Code), nil
	case types.Call:
		view, err := l.Store().StateAt(l.Tip().Header.Header.Height)
		if err != nil {
			return types.CodeHash{}, err
		}
		record, err := view.Get(state.ContractKey(p.Contract))
		if err = errors.Join(err, view.Close()); err != nil || len(record) == 0 {
			return types.CodeHash{}, err
		}
		contract, err := state.DecodeContract(record)
		return contract.CodeHash, err
	}
	return types.CodeHash{}, nil
}
