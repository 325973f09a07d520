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

// Draft is the block after the head, complete except for its seal. Nothing of it is on disk, and the ledger still
// holds the state before it.
type Draft struct {
	after   *Tip
	result  exec.Result
	change  change
	timings Timings
}

// Header returns the block's header, which is final.
func (d *Draft) Header() types.Header { return d.result.Header }

// Encode returns bincode(Block) with an all-zero seal, the form that [ReceiveProposal] decodes.
func (d *Draft) Encode() []byte {
	return types.EncodeBlock(types.SignedHeader{Header: d.result.Header}, d.result.Transactions)
}

var (
	// ErrStale is returned when a draft is released after the head has moved on.
	ErrStale = errors.New("the proposed block no longer follows the head")
	// ErrUnsigned is returned when a draft is released with a signature that is not its producer's.
	ErrUnsigned = errors.New("the signature is not by the proposal's producer")
)

// Draft makes the block of a batch as [Ledger.Build] does, but neither signs nor stores it. It does not consult the
// batch's lock.
func (l *Ledger) Draft(batch Batch) (*Draft, error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	return l.draft(batch)
}

func (l *Ledger) draft(batch Batch) (*Draft, error) {
	if l.treeLost != nil {
		return nil, l.treeLost
	}
	now := time.Now()
	d := &Draft{after: l.Tip(), timings: Timings{Start: now}}
	var err error
	if d.result, err = l.execute(batch); err != nil {
		return nil, err
	}
	d.timings.Execute = lap(&now)
	if d.change, err = prepare(l.tree, &d.result); err != nil {
		return nil, err
	}
	d.timings.Tree = lap(&now)
	return d, nil
}

// Proposal is a block that its producer has decided on but not yet signed, as encoded by another node. Its transactions
// match its header. Only [ReceiveProposal] makes one.
type Proposal struct{ block *Received }

// Header returns the proposal's header.
func (c *Proposal) Header() types.Header { return c.block.header.Header }

// ReceiveProposal decodes the output of [Draft.Encode] and verifies the witnesses of its transactions on all cores. It
// skips transactions for which known returns a verified one; known returns nil for all others. The error is
// [ErrAltered], or [exec.ErrUnknownVersion].
func ReceiveProposal(
	network types.Network, encoded []byte, known func(types.TxID) *types.VerifiedTx,
) (*Proposal, error) {
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
	verifyWitnesses(network, []*Received{b}, known)
	if err := b.checkTransactions(); err != nil {
		return nil, err
	}
	return &Proposal{b}, nil
}

// Derive executes a proposal for the height after the head and compares the result with the proposal's header. It
// returns the errors of [Ledger.Import]; after any of them the ledger is unchanged.
func (l *Ledger) Derive(c *Proposal) (_ *Draft, err error) {
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
func (l *Ledger) derive(after *Tip, b *Received, parent state.Reader, codes exec.Codes) (*Draft, error) {
	start := time.Now()
	return judge(&l.core, b, func(engine vm.Engine) (*Draft, error) {
		now := time.Now()
		d := &Draft{after: after, timings: Timings{Start: start}}
		var err error
		d.result, err = l.executeOn(after, b, l.reader(parent), exec.Machine{Engine: engine, Codes: codes})
		if err != nil {
			return nil, err
		}
		d.timings.Execute = lap(&now)
		if d.change, err = prepare(l.tree, &d.result); err != nil {
			return nil, err
		}
		d.timings.Tree = lap(&now)
		return d, b.compare(d.result)
	})
}

// Release makes a draft the head, with its producer's signature, without waiting for the disk. The caller must hold the
// proposal and its signature in a log of the same database, and release again any draft that a crash has lost. The
// error is [ErrStale] or [ErrUnsigned], after which nothing has changed, or a fault of this node, as for
// [Ledger.Build].
func (l *Ledger) Release(d *Draft, signature types.Signature) (Block, error) {
	seal := types.Seal{Signature: signature}
	if !(types.SignedHeader{Header: d.result.Header, Seal: seal}).VerifySeal() {
		return Block{}, fmt.Errorf("%w: block %d", ErrUnsigned, d.Header().Height)
	}
	l.producing.Lock()
	defer l.producing.Unlock()
	if l.treeLost != nil {
		return Block{}, l.treeLost
	}
	if tip := l.Tip(); d.after != tip {
		return Block{}, fmt.Errorf("%w: it is block %d, the head %d", ErrStale, d.Header().Height, tip.Header.Header.Height)
	}
	return l.release(d, seal, nil, false)
}

// Build makes the block of a batch, signs it and puts it on disk. It leaves out transactions that are invalid at their
// turn, find no room, are overdue, or make the engine fail. An error is a fault after which no block may be built until
// the node restarts: the block may or may not be on disk, and a second one must not be signed at its height.
func (l *Ledger) Build(batch Batch, seal Seal) (Block, error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	d, err := l.draft(batch)
	if err == nil && batch.Drafted != nil {
		err = batch.Drafted(d)
	}
	if err != nil {
		return Block{}, err
	}
	return l.seal(d, batch.Lock, seal)
}

// Complete makes a proposal the head. The proposal is one that this node drafted before, perhaps before a crash, and
// may already have signed. Complete derives the block and then signs and stores it as [Ledger.Build] does. It returns
// the errors of [Ledger.Derive] and [Ledger.Build].
func (l *Ledger) Complete(c *Proposal, lock *signstate.State, seal Seal) (Block, error) {
	d, err := l.Derive(c)
	if err != nil {
		return Block{}, err
	}
	l.producing.Lock()
	defer l.producing.Unlock()
	if tip := l.Tip(); d.after != tip {
		return Block{}, fmt.Errorf("%w: it is block %d, the head %d", ErrStale, d.Header().Height, tip.Header.Header.Height)
	}
	return l.seal(d, lock, seal)
}

// seal signs a draft and releases it. The caller must hold producing.
func (l *Ledger) seal(d *Draft, lock *signstate.State, seal Seal) (Block, error) {
	now := time.Now()
	if lock != nil {
		if err := lock.Check(d.Header()); err != nil {
			return Block{}, fmt.Errorf("seal block %d: %w", d.Header().Height, err)
		}
	}
	signature, err := seal(d.Header().Hash())
	if err != nil {
		return Block{}, fmt.Errorf("seal block %d: %w", d.Header().Height, err)
	}
	d.timings.Seal = lap(&now)
	return l.release(d, types.Seal{Signature: signature}, lock, true)
}

// release appends a draft, records it in the lock unless that is nil, and makes it the head. Without sync, the caller
// is responsible for its presence after a restart.
func (l *Ledger) release(d *Draft, seal types.Seal, lock *signstate.State, sync bool) (Block, error) {
	now := time.Now()
	appender, err := l.store.Begin()
	if err != nil {
		return Block{}, err
	}
	e := chain.Entry{Result: d.result, Seal: seal, Leaves: d.change.Leaves()}
	err = appendTo(appender, e, d.change.Change, sync)
	if err == nil && !sync {
		appender.Logged()
	}
	if err == nil && lock != nil {
		// Record only once the block is on disk: a crash in between would leave a lock that holds a block that exists
		// nowhere.
		if err = lock.Record(d.result.Header); err != nil {
			appender.Fail(err)
		}
	}
	if ended := appender.End(); err == nil {
		err = ended
	}
	if err != nil {
		return Block{}, err
	}
	d.timings.Append = lap(&now)
	l.commitTree(d.change, d.result.Header)
	d.timings.Tree += lap(&now)
	return Block{
		Header:   e.Signed(),
		Hash:     d.result.Header.Hash(),
		Included: d.result.Transactions,
		Accesses: d.result.Accesses,
		Timings:  d.timings,
	}, l.publish()
}
