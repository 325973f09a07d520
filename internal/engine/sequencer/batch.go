package sequencer

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

const (
	// onDemandTime is the time for a batch if blocks have no interval.
	onDemandTime = 10 * time.Second
	// A retried transaction has graceTime, plus graceGas for each gas of its limit. That is about ten times the time
	// that gas may take (docs/rationale/execution.md), because the machine may have other work.
	graceTime = time.Second
	graceGas  = 10 * time.Nanosecond
	// maxFaulty is the number of codes that the engine may fail on before the block is closed.
	maxFaulty = 3
	// looks is the number of skipped transactions between two looks at the clock.
	looks = 1024
)

// SkipReason is the reason why a valid transaction that was tried in a block is not in it.
type SkipReason string

// The reasons.
const (
	// its time ran out: it is retried when its turn comes, first in a block and with more time
	Deferred SkipReason = "deferred"
	// it used up all the time that a transaction may have: dropped; its sender and the code that it calls must wait
	Overran SkipReason = "dropped"
	Faulty  SkipReason = "faulty" // the engine failed on it: dropped, and its code is quarantined
	// the block can load no more code: it is retried when its turn comes, before all others of a block
	LoadFull SkipReason = "no room"
)

// Skipped is a valid transaction that was tried in a block and is not in it.
type Skipped struct {
	Tx     *types.VerifiedTx
	Reason SkipReason
	Err    error // for Faulty, the engine's error
}

// source yields a batch's transactions: a *mempool.Best, or a single one.
type source interface {
	ledger.Transactions
	Round() int
	Later(round int)
}

// batch holds the transactions of one block, ordered by their fees, and enforces the block's time. It alone decides
// what happens to a transaction that is tried and does not make it.
//
// Contracts may run far longer than their gas suggests. So once they have taken half of the block's time, transactions
// that run no contract come first, then calls of contracts that keep pace, then calls of unknown contracts, then the
// rest. Until nothing else waits, contracts are stopped at three quarters. So transfers always have at least a quarter
// of each block's time.
type batch struct {
	source
	clock   Clock
	paces   paces
	time    time.Duration                 // time for the batch
	alone   bool                          // each transaction has the maximum time
	retried *types.VerifiedTx             // comes first, and has the maximum time
	turns   *turns                        // queues of transactions that earlier blocks skipped
	refuse  func(*types.VerifiedTx) error // reports why a transaction must not be tried; may be nil
	trying  func(*types.VerifiedTx)       // called before a contract runs; may be nil
	debug   ledger.Debug

	// The state while the block is built:
	begin   time.Time
	start   time.Time         // when given was handed out
	given   *types.VerifiedTx // last transaction handed out
	running time.Duration     // time spent in contracts
	faulty  map[types.CodeHash]bool
	skipped []Skipped
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

// crowded reports whether contracts have used up their half of the block's time.
func (b *batch) crowded() bool { return b.running >= b.time/2 }

// round returns a transaction's round in a crowded block.
func (b *batch) round(tx *types.VerifiedTx) int {
	switch called, only := calls(&tx.Signed().Transaction); {
	case !runs(tx):
		return 0
	case !only: // a deploy, an instantiate, or a batch that calls several, of which none is known to keep pace together
		round := 2
		for _, contract := range called {
			round = max(round, 1+b.paces.rank(contract, b.begin))
		}
		return round
	default:
		return 1 + b.paces.rank(called[0], b.begin)
	}
}

// runs reports whether a transaction may run a contract.
func runs(tx *types.VerifiedTx) bool {
	switch tx.Signed().Payload.(type) {
	case types.Deploy, types.Instantiate:
		return true
	default:
		called, _ := calls(&tx.Signed().Transaction)
		return len(called) > 0
	}
}

// calls returns the contracts that a transaction calls itself, each once, and whether it calls exactly one and runs no
// other code of its own choice.
func calls(tx *types.Transaction) (called []types.ContractID, only bool) {
	switch p := tx.Payload.(type) {
	case types.Call:
		return []types.ContractID{types.ContractID(tx.Target)}, true
	case types.Batch:
		for _, step := range p.Steps {
			if id := types.ContractID(step.Target); step.Action.Kind() == types.KindCall && !slices.Contains(called, id) {
				called = append(called, id)
			}
		}
	}
	return called, len(called) == 1
}

// Overdue is the batch's [ledger.Batch].Overdue.
func (b *batch) Overdue() bool { return b.clock.Now().Sub(b.start) >= b.limit() }

// limit returns how long the current transaction may run.
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

// hasAll reports whether the current transaction has the maximum time.
func (b *batch) hasAll() bool { return b.alone || b.given == b.retried }

// Tried is the batch's [ledger.Batch].Tried.
func (b *batch) Tried(tx *types.VerifiedTx, receipt types.Receipt, err error) {
	if !runs(tx) {
		return
	}
	took := b.clock.Now().Sub(b.start)
	// Time beyond the transaction's share delays the block; it is not taken from the other transactions.
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
		if !errors.Is(err, quarantine.ErrQuarantined) { // a quarantined code takes no time
			b.faulty[fault.Code] = true
		}
		b.skipped = append(b.skipped, Skipped{tx, Faulty, err})
	case errors.Is(err, exec.ErrLoadFull): // it ran in vain, which counts as contract time
		b.skipped = append(b.skipped, Skipped{tx, LoadFull, err})
		b.turns.waitForLoad(tx, took > paceTime)
	case errors.Is(err, ledger.ErrOverdue):
		b.paces.ran(tx, 0, took, b.start)
		reason := Deferred
		if b.hasAll() {
			reason = Overran
		} else {
			b.turns.waitForTime(tx)
		}
		b.skipped = append(b.skipped, Skipped{tx, reason, err})
	}
}

// Codes are the codes of a transaction for the quarantine's list.
type Codes struct {
	// Run are the codes that the transaction runs itself: of the contracts that it calls, of the template, or the
	// deployed one. A batch that calls several contracts also has their codes marked as codes of such a batch.
	Run []types.CodeHash
	// Blamed are the codes that must wait if the transaction overruns. If a batch calls several contracts, it is
	// unknown which one was slow. Only the marked codes wait then, so calls of only one of these contracts are not
	// delayed.
	Blamed []types.CodeHash
}

// batchTag marks codes of batches that call several contracts.
var batchTag = bip340.NewTag("cairn/sequencer/batch")

// CodesOf returns the codes of a transaction in the newest state. An error is a read error.
func CodesOf(l mempool.Chain, tx *types.Transaction) (Codes, error) {
	if p, ok := tx.Payload.(types.Deploy); ok {
		codes := []types.CodeHash{sha256.Sum256(p.Code)}
		return Codes{codes, codes}, nil
	}
	called, only := calls(tx)
	if _, ok := tx.Payload.(types.Instantiate); ok {
		called, only = []types.ContractID{types.ContractID(tx.Target)}, true
	}
	if len(called) == 0 {
		return Codes{}, nil
	}
	view, err := l.Store().StateAt(l.Tip().Header.Header.Height)
	if err != nil {
		return Codes{}, err
	}
	run, err := codesIn(view, called)
	if err = errors.Join(err, view.Close()); err != nil || only {
		return Codes{run, run}, err
	}
	codes := Codes{Run: run}
	for _, code := range run {
		codes.Blamed = append(codes.Blamed, batchTag.Hash(code[:]))
	}
	codes.Run = append(codes.Run, codes.Blamed...)
	return codes, nil
}

// codesIn returns the codes of the given contracts, without the contracts that do not exist in the state.
func codesIn(r state.Reader, contracts []types.ContractID) (codes []types.CodeHash, err error) {
	for _, id := range contracts {
		record, err := r.Get(state.ContractKey(id))
		if err != nil {
			return nil, err
		}
		if len(record) == 0 {
			continue
		}
		contract, err := state.DecodeContract(record)
		if err != nil {
			return nil, err
		}
		codes = append(codes, contract.CodeHash)
	}
	return codes, nil
}

// Accounts returns the accounts that wait if a transaction overruns: its sender and its payer.
func Accounts(tx *types.Transaction) []types.Account {
	if tx.Payer != nil {
		return []types.Account{tx.Sender, *tx.Payer}
	}
	return []types.Account{tx.Sender}
}

const (
	// A call keeps pace if it takes at most paceTime, plus paceGas for each gas used: about four times the time that
	// gas may take.
	paceTime = time.Millisecond
	paceGas  = 4 * time.Nanosecond
	// slowFor is the time for which a contract counts as slow after a call that did not keep pace.
	slowFor = 10 * time.Minute
	// maxPaces bounds the number of contracts remembered.
	maxPaces = 65_536
)

// paces records, for each contract that was called, until when it counts as slow. The zero time means that it kept
// pace.
type paces map[types.ContractID]time.Time

// rank returns 0 for a contract that keeps pace, 1 for one not called before, and 2 for one that was recently slow.
func (p paces) rank(contract types.ContractID, now time.Time) int {
	switch slow, called := p[contract]; {
	case !called:
		return 1
	case slow.After(now):
		return 2
	default:
		return 0
	}
}

// ran records the time of a transaction that calls one contract and the gas that it used.
func (p paces) ran(tx *types.VerifiedTx, used types.Gas, took time.Duration, now time.Time) {
	all, only := calls(&tx.Signed().Transaction)
	if !only { // of a batch that calls several contracts nobody knows which one was slow
		return
	}
	contract := all[0]
	if _, called := p[contract]; !called && len(p) >= maxPaces {
		clear(p)
	}
	switch {
	case took > paceTime+time.Duration(used)*paceGas:
		p[contract] = now.Add(slowFor)
	case !p[contract].After(now):
		p[contract] = time.Time{}
	}
}
