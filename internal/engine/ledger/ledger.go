// Package ledger derives blocks: order → execute → seal → commit → publish. An engine decides a batch's order and time.
// The ledger turns the batch into a block, keeps the state tree alongside the store, and is the store's only writer.
package ledger

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// Ledger holds the tip of the chain: the store, and the state tree at the store's head. Block production is serialised;
// reads are not.
type Ledger struct {
	core
	expected int // expected number of transactions in the next block: the last block's count

	// treeLock keeps proofs and commits apart. Only an import of several blocks holds it across disk writes, and then
	// briefly. Only the holder of producing reads or changes the values in memory.
	treeLock  sync.RWMutex
	memory    // the state after block treeHead
	treeHead  types.Header
	treeMoved chan struct{} // closed when the tree moves to another block
	treeLost  error         // why the tree's head is not on disk; set once, under producing and treeLock
	treeWhole atomic.Bool   // until then only the holder of producing uses the tree
	deferral  deferral
}

// Tip is the head of the chain, with the values needed to judge the next block.
type Tip struct {
	Header     types.SignedHeader
	Hash       types.BlockHash
	Parameters types.Parameters // in the head's state, or from the override that begins the next block
	Env        exec.Env         // environment of the next block
	Override   bool             // whether the next block begins with an override
}

// Override replaces the chain's parameters before the first transaction of a block. It is a hard fork, and must be the
// same on every node.
type Override struct {
	Height     types.Height
	Parameters types.Parameters
}

// Check checks the parameters' bounds, and that this program knows their version.
func (o Override) Check() error { return checkParameters(o.Parameters) }

// Batch is an engine's decision: the block's time, and the transactions in the order in which to try them.
type Batch struct {
	Time         uint64 // in milliseconds since 1970
	Transactions Transactions
	// Overdue, unless nil, is polled while contracts run. If it returns true, the current transaction is taken out of
	// the block without a trace.
	Overdue func() bool
	// Tried, unless nil, is called with the outcome of each transaction before the next one is requested: its receipt,
	// or the reason why it is not in the block. The reason is an error for which exec.IsInvalid holds, [ErrOverdue], or
	// a *vm.Fault.
	Tried func(tx *types.VerifiedTx, receipt types.Receipt, err error)
	// Debug, unless nil, receives the debug messages of contracts.
	Debug Debug
	// Proposed, unless nil, receives the block before it is signed. If it returns an error, the block is not signed.
	Proposed func(*PendingBlock) error
	// Lock, unless nil, is the double-sign lock of the signing key. A header that it refuses is not signed, and no
	// block is announced before the lock holds it.
	Lock *signstate.State
}

// Transactions yields the transactions of a batch.
type Transactions interface {
	// Next returns the next transaction, or nil after the last.
	Next() *types.VerifiedTx
	// SkipSender skips the remaining transactions of the last one's sender: that transaction could not be included, so
	// none with a later nonce can be.
	SkipSender()
}

// Seal signs a block hash with the producer's key.
type Seal func(types.BlockHash) (types.Signature, error)

// Block is a block that was built or imported and is on disk.
type Block struct {
	Header   types.SignedHeader
	Hash     types.BlockHash
	Included []*types.Tx
	Accesses []types.Access // keys that its execution read and wrote
	Timings  Timings
}

// Accesses returns the access lists of the blocks.
func Accesses(blocks []Block) [][]types.Access {
	accesses := make([][]types.Access, len(blocks))
	for i := range blocks {
		accesses[i] = blocks[i].Accesses
	}
	return accesses
}

// Timings records when the making of a block began and how long each phase took.
type Timings struct {
	Start   time.Time
	Execute time.Duration // ordering and executing transactions, computing the header's roots
	Tree    time.Duration // preparing the state tree's change and applying it
	Seal    time.Duration // signing
	Append  time.Duration // storing, until the block and the lock of its height are on disk
}

// lap returns the time since *from and moves *from to now.
func lap(from *time.Time) time.Duration {
	now := time.Now()
	took := now.Sub(*from)
	*from = now
	return took
}

// ErrOverdue is the error of a transaction that [Batch].Overdue took out of its block.
var ErrOverdue = errors.New("the transaction exceeds its time limit")

// ErrRoot is returned when the state tree's root is not the head's. It is a fault of this node, and wraps
// [chain.ErrCorrupt].
var ErrRoot = fmt.Errorf("%w: the state tree's root is not the head's state root", chain.ErrCorrupt)

// Open starts a chain in an empty store from its genesis, or continues the stored one. It rebuilds the state tree and
// the in-memory table of short values, and checks the tree's root against the head. Of a large state it leaves as much
// as it can to [Ledger.Load]. It refuses the genesis of another chain (chain.ErrOtherGenesis); nil means the stored
// genesis. The override, unless nil, takes effect when its block is made. engine runs the chain's contracts.
func Open(store *chain.Store, genesis *types.Genesis, override *Override, engine vm.Engine) (*Ledger, error) {
	return openWith(store, genesis, override, engine, deferred)
}

func openWith(
	store *chain.Store, genesis *types.Genesis, override *Override, engine vm.Engine, deferral deferral,
) (*Ledger, error) {
	if store.Stateless() {
		return nil, fmt.Errorf("%w: it follows a chain by its proofs", chain.ErrNoState)
	}
	l := &Ledger{
		core: core{store: store, override: override, engine: engine}, treeMoved: make(chan struct{}), deferral: deferral,
	}
	if err := l.begin(genesis); err != nil {
		return nil, err
	}
	var err error
	if l.memory, err = deferral.load(store); err != nil {
		return nil, err
	}
	l.treeWhole.Store(l.tree.Whole())
	l.treeHead = store.Head().Header
	return l, l.publish()
}

// LoadTree builds the state tree of a store's head. It returns [ErrRoot] if the tree's root is not the head's, and
// [chain.ErrCorrupt] if the stored leaves make no tree.
func LoadTree(store *chain.Store) (*tree.Tree, error) {
	head := store.Head().Header
	view, err := store.StateAt(head.Height)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	loaded, err := view.Tree(parallel.Run)
	if err != nil {
		return nil, fmt.Errorf("rebuild the state tree: %w", damaged(err))
	}
	if loaded.Root() != head.StateRoot {
		return nil, fmt.Errorf("%w: %s, block %d has %s", ErrRoot, loaded.Root(), head.Height, head.StateRoot)
	}
	return loaded, nil
}

// change is the effect of a block on the memory.
type change struct {
	*tree.Change
	writes []types.Access
}

// prepare computes the change that an executed block makes to the tree of the state before it. It sets the header's
// state root.
func prepare(before *tree.Tree, result *exec.Result) (change, error) {
	prepared, err := before.Prepare(result.Accesses, parallel.Run)
	if err != nil {
		return change{}, damaged(err)
	}
	result.Header.StateRoot = prepared.Root()
	return change{prepared, types.Writes(result.Accesses)}, nil
}

// appendTo appends an executed block. With sync, the block is on disk when appendTo returns.
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
	template, err := exec.HeaderTemplate(tip.Header.Header, tip.Parameters, batch.Time)
	if err != nil {
		return exec.Result{}, err
	}
	view, err := l.store.StateAt(tip.Header.Header.Height)
	if err != nil {
		return exec.Result{}, err
	}
	defer view.Close()
	run := exec.Begin(l.Network(), tip.Parameters, l.reader(view), template, l.Machine())
	run.Reserve(l.expected)
	run.ShareOut(parallel.Run)
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

// Machine returns a machine that runs the chain's contracts.
func (l *Ledger) Machine() exec.Machine { return exec.Machine{Engine: l.engine, Codes: l.store} }

// commitTree applies a change to the memory. head must be the store's head.
func (l *Ledger) commitTree(c change, head types.Header) {
	l.treeLock.Lock()
	defer l.treeLock.Unlock()
	l.setTree(c, head)
}

// setTree applies a block's change to the tree and the values in memory. The caller must hold treeLock.
func (l *Ledger) setTree(c change, head types.Header) {
	l.memory.commit(c)
	l.treeHead = head
	close(l.treeMoved)
	l.treeMoved = make(chan struct{})
}

// TreeSize returns the number of leaves of the state tree, that is, of keys with a value at the head.
func (l *Ledger) TreeSize() (leaves int) {
	l.treeLock.RLock()
	defer l.treeLock.RUnlock()
	return l.tree.Len()
}

// Rewind takes the chain back to an earlier block and discards the later ones. It is for development chains only.
func (l *Ledger) Rewind(height types.Height) error {
	l.producing.Lock()
	defer l.producing.Unlock()
	for !l.tree.Whole() { // later, the store would have the leaves after the rewind
		if err := l.tree.LoadMore(partsAtOnce, parallel.Run); err != nil {
			return damaged(err)
		}
	}
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

// GenesisBlock returns block 0 of a genesis, with its state root.
func GenesisBlock(g types.Genesis) (types.SignedHeader, error) {
	result, _, err := executeGenesis(g)
	return types.SignedHeader{Header: result.Header}, err
}

func executeGenesis(g types.Genesis) (exec.Result, change, error) {
	result, err := exec.Genesis(g)
	if err != nil {
		return exec.Result{}, change{}, err
	}
	prepared, err := prepare(&tree.Tree{}, &result)
	return result, prepared, err
}
