// Package ledger derives blocks: order → execute → seal → commit → publish. An engine decides a batch's order and time;
// the ledger makes the block of it, keeps the state tree beside the store, and is the only one that appends.
package ledger

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// Ledger is the chain's tip: the store, and the state tree of the store's head. Producing is serialised; reading is
// not.
type Ledger struct {
	core
	expected int // transactions of the next block: as many as the last one had

	// treeLock keeps proofs and commits apart. Over disk writes only an import of several blocks holds it, for a short
	// time. The memory's values are read and changed by producing only.
	treeLock  sync.RWMutex
	memory    // of the state after treeHead
	treeHead  types.Header
	treeMoved chan struct{} // closed when the tree goes to another block
	treeLost  error         // why the tree's head is on no disk; nil while it is. Set by producing, for good
}

// Tip is the head with what judges the block after it.
type Tip struct {
	Header     types.SignedHeader
	Hash       types.BlockHash
	Parameters types.Parameters // in the head's state, or the override's that the next block begins with
	Env        exec.Env         // of the next block
	Override   bool             // whether the next block begins with an override
}

// Override replaces the chain's parameters before the first transaction of a block: a hard fork, the same on every
// node.
type Override struct {
	Height     types.Height
	Parameters types.Parameters
}

// Batch is what an engine decides: the block's time, and the transactions in the order in which they are tried.
type Batch struct {
	Time         uint64 // Unix seconds
	Transactions Transactions
	// Overdue, unless nil, is asked while contracts run: true takes the transaction that was given last out of the
	// block, without a trace.
	Overdue func() bool
	// Tried, unless nil, is told what became of each transaction that was given, before the next is asked for: its
	// receipt, or why it is not in the block. That is an error for which exec.IsInvalid holds, [ErrOverdue], or a
	// *vm.Fault.
	Tried func(tx *types.VerifiedTx, receipt types.Receipt, err error)
	// Debug, unless nil, is told what contracts say.
	Debug Debug
	// Drafted, unless nil, is given the block before it is signed. After an error it is not signed.
	Drafted func(*Draft) error
	// Lock, unless nil, is the lock of the key that signs. A header that it refuses is not signed, and nobody is told of a
	// block that it does not hold.
	Lock *signstate.State
}

// Transactions gives the transactions of a batch.
type Transactions interface {
	// Next is the next transaction, nil after the last.
	Next() *types.VerifiedTx
	// SkipSender leaves out the rest of the sender whose transaction came last: it could not be included, so none with
	// a later nonce can.
	SkipSender()
}

// Seal signs a block hash with the producer's key.
type Seal func(types.BlockHash) (types.Signature, error)

// Block is a block that was built or imported and is on disk.
type Block struct {
	Header   types.SignedHeader
	Hash     types.BlockHash
	Included []*types.Tx
	Accesses []types.Access // what its execution read and wrote
	Timings  Timings
}

// Accesses are those of each block.
func Accesses(blocks []Block) [][]types.Access {
	accesses := make([][]types.Access, len(blocks))
	for i := range blocks {
		accesses[i] = blocks[i].Accesses
	}
	return accesses
}

// Timings are when the making of a block began and how long each phase of it took.
type Timings struct {
	Start   time.Time
	Execute time.Duration // ordering and executing transactions, with the roots of the header
	Tree    time.Duration // the state tree: preparing the change and making it the current version
	Seal    time.Duration // signing
	Append  time.Duration // storing, until the block and its height's lock are on disk
}

// lap returns the time since *from and moves *from to now.
func lap(from *time.Time) time.Duration {
	now := time.Now()
	took := now.Sub(*from)
	*from = now
	return took
}

// ErrOverdue is why a transaction is not in a block whose [Batch].Overdue took it out.
var ErrOverdue = errors.New("the transaction takes too long")

// ErrRoot is the fault of a state tree whose root is not the head's.
var ErrRoot = errors.New("the state tree's root is not the head's state root")

// Open starts a chain in an empty store from its genesis, or continues the one that the store holds. It rebuilds the
// state tree and the short values in memory, and checks the tree's root against the head. A genesis of another chain is
// refused (chain.ErrOtherGenesis); nil takes the stored one. An override, unless nil, counts when its block is made.
// engine runs the chain's contracts.
func Open(store *chain.Store, genesis *types.Genesis, override *Override, engine vm.Engine) (*Ledger, error) {
	if store.Stateless() {
		return nil, fmt.Errorf("%w: it follows a chain by its proofs", chain.ErrNoState)
	}
	l := &Ledger{core: core{store: store, override: override, engine: engine}, treeMoved: make(chan struct{})}
	if err := l.begin(genesis); err != nil {
		return nil, err
	}
	var err error
	if l.memory, err = load(store); err != nil {
		return nil, err
	}
	l.treeHead = store.Head().Header
	return l, l.publish()
}

// LoadTree builds the state tree of a store's head: [ErrRoot] where its root is not the head's.
func LoadTree(store *chain.Store) (*tree.Tree, error) {
	head := store.Head().Header
	view, err := store.StateAt(head.Height)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	leaves, err := view.Leaves()
	if err != nil {
		return nil, err
	}
	defer leaves.Close()
	loaded, err := tree.Load(leaves.Next, parallel.Run)
	if err != nil {
		return nil, fmt.Errorf("rebuild the state tree: %w", err)
	}
	if loaded.Root() != head.StateRoot {
		return nil, fmt.Errorf("%w: %s, block %d has %s", ErrRoot, loaded.Root(), head.Height, head.StateRoot)
	}
	return loaded, nil
}

// change is what a block changes in memory.
type change struct {
	*tree.Change
	writes []types.Access
}

// prepare is what a block that was executed changes in the tree of the state before it; it completes the header by the
// root.
func prepare(before *tree.Tree, result *exec.Result) (change, error) {
	prepared, err := before.Prepare(result.Accesses, parallel.Run)
	if err != nil {
		return change{}, err
	}
	result.Header.StateRoot = prepared.Root()
	return change{prepared, types.Writes(result.Accesses)}, nil
}

// appendTo appends a block that was executed, with sync on disk when it returns.
func appendTo(to *chain.Appender, e chain.Entry, change *tree.Change, sync bool) (err error) {
	height := e.Header.Height
	if e.Witness, err = witness(to, change); err != nil {
		return fmt.Errorf("witness of block %d: %w", height, err)
	}
	if err := to.Append(e, sync); err != nil {
		return fmt.Errorf("append block %d: %w", height, err)
	}
	return nil
}

// execute applies a batch's transactions while the block has room.
func (l *Ledger) execute(batch Batch) (exec.Result, error) {
	tip := l.Tip()
	seed, err := exec.Seed(tip.Header.Header, tip.Parameters, batch.Time)
	if err != nil {
		return exec.Result{}, err
	}
	view, err := l.store.StateAt(tip.Header.Header.Height)
	if err != nil {
		return exec.Result{}, err
	}
	defer view.Close()
	run := exec.Begin(tip.Parameters, l.reader(view), seed, l.Machine())
	run.Reserve(l.expected)
	run.SpareLoad()
	if tip.Override {
		if err := run.Override(); err != nil {
			return exec.Result{}, err
		}
	}
	run.StopWith(func() error {
		if batch.Overdue != nil && batch.Overdue() {
			return ErrOverdue
		}
		return nil
	})
	var listening *listener
	if batch.Debug != nil {
		listening = &listener{debug: batch.Debug}
		run.Trace(listening)
	}
	for !run.Full() {
		tx := batch.Transactions.Next()
		if tx == nil {
			break
		}
		if listening != nil {
			listening.begin(tx.ID())
		}
		receipt, err := run.Apply(tx)
		switch {
		case err == nil:
		case exec.IsInvalid(err), errors.Is(err, ErrOverdue), errors.As(err, new(*vm.Fault)):
			batch.Transactions.SkipSender()
		default:
			return exec.Result{}, fmt.Errorf("execute %s: %w", tx.ID(), err)
		}
		if batch.Tried != nil {
			batch.Tried(tx, receipt, err)
		}
	}
	result, err := run.Finish()
	l.expected = len(result.Transactions)
	return result, err
}

// Machine runs the contracts of the chain.
func (l *Ledger) Machine() exec.Machine { return exec.Machine{Engine: l.engine, Codes: l.store} }

// commitTree makes the change the memory's, which is that of the store's head then.
func (l *Ledger) commitTree(c change, head types.Header) {
	l.treeLock.Lock()
	defer l.treeLock.Unlock()
	l.setTree(c, head)
}

// setTree makes the change the memory's, after a block. The caller holds treeLock.
func (l *Ledger) setTree(c change, head types.Header) {
	l.memory.commit(c)
	l.treeHead = head
	close(l.treeMoved)
	l.treeMoved = make(chan struct{})
}

// TreeSize is the number of leaves of the state tree: the keys that have a value at the head.
func (l *Ledger) TreeSize() (leaves int) {
	l.treeLock.RLock()
	defer l.treeLock.RUnlock()
	return l.tree.Len()
}

// Rewind takes the chain back to an earlier block and forgets the later ones: development chains only.
func (l *Ledger) Rewind(height types.Height) error {
	l.producing.Lock()
	defer l.producing.Unlock()
	undone, err := l.store.Rewind(height)
	if err != nil {
		return err
	}
	prepared, err := l.tree.Prepare(undone, parallel.Run)
	if err != nil {
		return err
	}
	head := l.store.Head().Header
	if prepared.Root() != head.StateRoot {
		return fmt.Errorf("%w: %s after going back to block %d", ErrRoot, prepared.Root(), height)
	}
	l.commitTree(change{prepared, undone}, head)
	return l.publish()
}

// GenesisBlock is block 0 of a genesis, with its state root.
func GenesisBlock(g types.Genesis) (types.SignedHeader, error) {
	result, _, err := executeGenesis(g)
	return types.SignedHeader{Header: result.Header}, err
}

func executeGenesis(g types.Genesis) (exec.Result, change, error) {
	result, err := exec.Genesis(g)
	if err != nil {
		return exec.Result{}, change{}, err
	}
	empty, err := tree.Load(func() (tree.Leaf, bool, error) { return tree.Leaf{}, false, nil }, parallel.Run)
	if err != nil {
		return exec.Result{}, change{}, err
	}
	prepared, err := prepare(empty, &result)
	return result, prepared, err
}
