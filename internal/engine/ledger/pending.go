package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// PendingBlock is the block after the head, complete except for its seal. Nothing of it is on disk, and the ledger
// still holds the state before it.
type PendingBlock struct {
	after   *Tip
	result  exec.Result
	change  change
	timings Timings
}

// Header returns the block's header, which is final.
func (p *PendingBlock) Header() types.Header { return p.result.Header }

// Transactions returns the block's transactions; callers must not change them.
func (p *PendingBlock) Transactions() []*types.Tx { return p.result.Transactions }

// Encode returns bincode(Block) with an all-zero seal, the form that [ReceiveProposal] decodes.
func (p *PendingBlock) Encode() []byte {
	return types.EncodeBlock(types.SignedHeader{Header: p.result.Header}, p.result.Transactions)
}

var (
	// ErrStale is returned when a pending block is released after the head has moved on.
	ErrStale = errors.New("the proposed block no longer follows the head")
	// ErrUnsigned is returned when a pending block is released with a signature that is not its producer's.
	ErrUnsigned = errors.New("the signature is not by the proposal's producer")
)

// Propose makes the block of a batch as [Ledger.Build] does, but neither signs nor stores it. It does not consult the
// batch's lock.
func (l *Ledger) Propose(batch Batch) (*PendingBlock, error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	return l.propose(batch)
}

func (l *Ledger) propose(batch Batch) (*PendingBlock, error) {
	if l.treeLost != nil {
		return nil, l.treeLost
	}
	now := time.Now()
	p := &PendingBlock{after: l.Tip(), timings: Timings{Start: now}}
	var err error
	if p.result, err = l.execute(batch); err != nil {
		return nil, err
	}
	p.timings.Execute = lap(&now)
	if p.change, err = prepare(l.tree, &p.result); err != nil {
		return nil, err
	}
	p.timings.Tree = lap(&now)
	return p, nil
}

// Proposal is a block that its producer has decided on but not yet signed, as encoded by another node. Its transactions
// match its header. Only [ReceiveProposal] and [NewProposal] make one.
type Proposal struct{ block *Received }

// Header returns the proposal's header.
func (c *Proposal) Header() types.Header { return c.block.header.Header }

// ReceiveProposal decodes the output of [PendingBlock.Encode] and verifies the witnesses of its transactions on all
// cores. The error is [ErrAltered], or [exec.ErrUnknownVersion].
func ReceiveProposal(network types.Network, encoded []byte) (*Proposal, error) {
	b, err := open(encoded)
	if err != nil {
		return nil, err
	}
	if h := b.header.Header; b.unknown {
		return nil, fmt.Errorf("%w: proposal %d has protocol version %d", exec.ErrUnknownVersion, h.Height, h.Version)
	}
	if b.header.Seal != (types.Seal{}) {
		return nil, fmt.Errorf("%w: proposal %d is sealed", ErrAltered, b.header.Header.Height)
	}
	return b.proposal(network, nil)
}

// NewProposal is [ReceiveProposal] for a decoded block, of a version that this program knows. It skips the witnesses of
// transactions for which known returns a verified one; known returns nil for all others.
func NewProposal(
	network types.Network, h types.Header, txs []*types.Tx, known func(types.TxID) *types.VerifiedTx,
) (*Proposal, error) {
	b := &Received{header: types.SignedHeader{Header: h}, hash: h.Hash(), txs: txs}
	return b.proposal(network, known)
}

func (r *Received) proposal(network types.Network, known func(types.TxID) *types.VerifiedTx) (*Proposal, error) {
	verifyWitnesses(network, []*Received{r}, known)
	if err := r.checkTransactions(); err != nil {
		return nil, err
	}
	return &Proposal{r}, nil
}

// Derive executes a proposal for the height after the head and compares the result with the proposal's header. It
// returns the errors of [Ledger.Import]; after any of them the ledger is unchanged.
func (l *Ledger) Derive(c *Proposal) (_ *PendingBlock, err error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	if l.treeLost != nil {
		return nil, l.treeLost
	}
	tip := l.Tip()
	if err := c.block.checkNext(tip); err != nil {
		return nil, err
	}
	parent, err := l.store.StateAt(tip.Header.Header.Height)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	return l.derive(tip, c.block, parent, l.store)
}

// derive executes block b after the tip on the state that the ledger's memory holds, and compares the result with b's
// header.
func (l *Ledger) derive(after *Tip, b *Received, parent state.Reader, codes exec.Codes) (*PendingBlock, error) {
	start := time.Now()
	return deriveWithFallback(&l.core, b, func(engine vm.Engine) (*PendingBlock, error) {
		now := time.Now()
		p := &PendingBlock{after: after, timings: Timings{Start: start}}
		var err error
		p.result, err = l.executeOn(after, b, l.reader(parent), exec.Machine{Engine: engine, Codes: codes})
		if err != nil {
			return nil, err
		}
		p.timings.Execute = lap(&now)
		if p.change, err = prepare(l.tree, &p.result); err != nil {
			return nil, err
		}
		p.timings.Tree = lap(&now)
		return p, b.compare(p.result)
	})
}

// Release makes a pending block the head, with its producer's signature, without waiting for the disk. The caller must
// hold the proposal and its signature in a log of the same database, and release again any pending block that a crash
// has lost. The error is [ErrStale] or [ErrUnsigned], after which nothing has changed, or a fault of this node, as for
// [Ledger.Build].
func (l *Ledger) Release(p *PendingBlock, signature types.Signature) (Block, error) {
	seal := types.Seal{Signature: signature}
	if !(types.SignedHeader{Header: p.result.Header, Seal: seal}).VerifySeal() {
		return Block{}, fmt.Errorf("%w: block %d", ErrUnsigned, p.Header().Height)
	}
	l.producing.Lock()
	defer l.producing.Unlock()
	if l.treeLost != nil {
		return Block{}, l.treeLost
	}
	if tip := l.Tip(); p.after != tip {
		return Block{}, fmt.Errorf("%w: it is block %d, the head %d", ErrStale, p.Header().Height, tip.Header.Header.Height)
	}
	return l.release(p, seal, nil, false)
}

// Build makes the block of a batch, signs it and puts it on disk. It leaves out transactions that are invalid at their
// turn, find no room, are overdue, or make the engine fail. An error is a fault after which no block may be built until
// the node restarts: the block may or may not be on disk, and a second one must not be signed at its height.
func (l *Ledger) Build(batch Batch, seal Seal) (Block, error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	p, err := l.propose(batch)
	if err == nil && batch.Proposed != nil {
		err = batch.Proposed(p)
	}
	if err != nil {
		return Block{}, err
	}
	return l.seal(p, batch.Lock, seal)
}

// Complete makes a proposal the head. The proposal is one that this node proposed before, perhaps before a crash, and
// may already have signed. Complete derives the block and then signs and stores it as [Ledger.Build] does. It returns
// the errors of [Ledger.Derive] and [Ledger.Build].
func (l *Ledger) Complete(c *Proposal, lock *signstate.State, seal Seal) (Block, error) {
	p, err := l.Derive(c)
	if err != nil {
		return Block{}, err
	}
	l.producing.Lock()
	defer l.producing.Unlock()
	if tip := l.Tip(); p.after != tip {
		return Block{}, fmt.Errorf("%w: it is block %d, the head %d", ErrStale, p.Header().Height, tip.Header.Header.Height)
	}
	return l.seal(p, lock, seal)
}

// seal signs a pending block and releases it. The caller must hold producing.
func (l *Ledger) seal(p *PendingBlock, lock *signstate.State, seal Seal) (Block, error) {
	now := time.Now()
	if lock != nil {
		if err := lock.Check(p.Header()); err != nil {
			return Block{}, fmt.Errorf("seal block %d: %w", p.Header().Height, err)
		}
	}
	signature, err := seal(p.Header().Hash())
	if err != nil {
		return Block{}, fmt.Errorf("seal block %d: %w", p.Header().Height, err)
	}
	p.timings.Seal = lap(&now)
	return l.release(p, types.Seal{Signature: signature}, lock, true)
}

// release appends a pending block, records it in the lock unless that is nil, and makes it the head. Without sync, the
// caller is responsible for its presence after a restart.
func (l *Ledger) release(p *PendingBlock, seal types.Seal, lock *signstate.State, sync bool) (Block, error) {
	now := time.Now()
	appender, err := l.store.Begin()
	if err != nil {
		return Block{}, err
	}
	e := chain.Entry{Result: p.result, Seal: seal, Leaves: p.change.Leaves()}
	err = appendTo(appender, e, p.change.Change, sync)
	if err == nil && !sync {
		appender.Logged()
	}
	if err == nil && lock != nil {
		// Record only once the block is on disk: a crash in between would leave a lock that holds a block that exists
		// nowhere.
		if err = lock.Record(p.result.Header); err != nil {
			appender.Fail(err)
		}
	}
	if ended := appender.End(); err == nil {
		err = ended
	}
	if err != nil {
		return Block{}, err
	}
	p.timings.Append = lap(&now)
	l.commitTree(p.change, p.result.Header)
	p.timings.Tree += lap(&now)
	return Block{
		Header:   e.Signed(),
		Hash:     p.result.Header.Hash(),
		Included: p.result.Transactions,
		Accesses: p.result.Accesses,
		Timings:  p.timings,
	}, l.publish()
}
