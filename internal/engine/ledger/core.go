package ledger

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// core is the part that every kind of ledger has: the store, and the tip that the next block must follow.
type core struct {
	// Fallback must be set before the first import.
	Fallback Fallback

	store    *chain.Store
	override *Override
	engine   vm.Engine
	tip      atomic.Pointer[Tip]

	producing producing
	unlisted  unlisted // guarded by producing
}

// producing serialises the building and importing of blocks.
type producing struct {
	mu sync.Mutex
	// working, unless nil, is called when a block's building or importing begins and ends, so that other users of the
	// processor can make way.
	working func(begins bool)
}

// Working sets a function that is called whenever the building or importing of a block begins or ends. It must be
// called before the first block is built or imported.
func (c *core) Working(f func(begins bool)) { c.producing.working = f }

func (p *producing) Lock() {
	p.mu.Lock()
	if p.working != nil {
		p.working(true)
	}
}

func (p *producing) Unlock() {
	if p.working != nil {
		p.working(false)
	}
	p.mu.Unlock()
}

// begin initialises an empty store from the genesis. A store that holds a chain must have the same genesis. A nil
// genesis accepts any chain, but no empty store.
func (c *core) begin(g *types.Genesis) error {
	if c.override != nil {
		if err := c.override.Check(); err != nil {
			return fmt.Errorf("the parameters of the override: %w", err)
		}
	}
	if g != nil {
		result, change, err := executeGenesis(*g)
		if err != nil {
			return err
		}
		if err := c.store.Init(*g, chain.Entry{Result: result, Leaves: change.Leaves()}); err != nil {
			return err
		}
	}
	if c.store.Empty() {
		return errors.New("the database is empty and no genesis is given")
	}
	return nil
}

// checkParameters checks parameters' bounds, and that this program knows their version.
func checkParameters(p types.Parameters) error {
	if !params.Known(p.Version) {
		return fmt.Errorf("%w: %d", exec.ErrUnknownVersion, p.Version)
	}
	return params.Check(p)
}

// Network returns the network in the chain's genesis, on which the texts that wallets sign depend.
func (c *core) Network() types.Network { return c.store.Genesis().Network }

// publish makes the store's head the tip.
func (c *core) publish() error {
	tip, err := c.TipAt(c.store.Head().Header.Height)
	if err != nil {
		return err
	}
	c.tip.Store(tip)
	return nil
}

// TipAt returns the tip as it was when the block at height was the head. The error wraps [chain.ErrAboveHead] or
// [chain.ErrPruned], or is a read error.
func (c *core) TipAt(height types.Height) (*Tip, error) {
	header, err := c.store.Header(height)
	if err != nil {
		return nil, err
	}
	view, err := c.store.StateAt(height)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	p, err := exec.ReadParameters(view)
	if err != nil {
		return nil, err
	}
	return c.newTip(header, p), nil
}

// newTip returns the tip with the given head. p holds the parameters in the state after it.
func (c *core) newTip(head types.SignedHeader, p types.Parameters) *Tip {
	overrides := c.override != nil && c.override.Height == head.Header.Height+1
	if overrides {
		p = c.override.Parameters
	}
	return &Tip{
		Header: head, Hash: head.Header.Hash(), Parameters: p, Override: overrides,
		Env: exec.NewEnv(c.Network(), head.Header, p, head.Header.Timestamp),
	}
}

// Tip returns the head of the chain.
func (c *core) Tip() *Tip { return c.tip.Load() }

// Latest returns the tip at the store's head, which readers of the store see. [core.Tip] follows a moment later, once
// the memory is updated.
func (c *core) Latest() (*Tip, error) {
	if tip := c.Tip(); tip.Hash == c.store.HeadHash() {
		return tip, nil
	}
	return c.TipAt(c.store.Head().Header.Height)
}

// Store returns the store of the chain. Only the ledger may append to it.
func (c *core) Store() *chain.Store { return c.store }

// Header returns the header of a stored block.
func (c *core) Header(h types.Height) (types.SignedHeader, error) { return c.store.Header(h) }

// CheckNext checks that the block is by the current producer and for the height after the head. If it returns nil, the
// block must be imported, or else the producer accused. Errors: [ErrOtherHeight], [ErrOtherParent], [ErrOtherSigner],
// and an [*UnknownVersion] for a block of a version that this program does not know. Nobody can tell who made that one.
func (c *core) CheckNext(r *Received) error { return r.checkNext(c.Tip()) }

// UnknownVersion is the error of a block that needs rules which this program does not know. Nothing of the block is
// verified, not even its seal.
type UnknownVersion struct {
	Height    types.Height
	Version   uint32 // the version in the block's header
	Timestamp uint64 // the block's own
	Upgrade   *types.Upgrade
}

// Error implements error.
func (u *UnknownVersion) Error() string {
	return fmt.Sprintf("%v: block %d has protocol version %d", exec.ErrUnknownVersion, u.Height, u.Version)
}

// Unwrap returns [exec.ErrUnknownVersion].
func (u *UnknownVersion) Unwrap() error { return exec.ErrUnknownVersion }

// Announced reports whether the chain's parameters give blocks of this timestamp this version. If they do not, whoever
// gave the block lied.
func (u *UnknownVersion) Announced() bool {
	return u.Upgrade != nil && u.Version == u.Upgrade.Version && u.Timestamp >= u.Upgrade.From
}

// checkNext is [core.CheckNext] relative to the given tip.
func (r *Received) checkNext(tip *Tip) error {
	h := r.header.Header
	switch {
	case h.Height != tip.Header.Header.Height+1:
		return fmt.Errorf("%w: %d, the head has %d", ErrOtherHeight, h.Height, tip.Header.Header.Height)
	case h.Parent != tip.Hash:
		return fmt.Errorf("%w: block %d has the parent %s, the head is %s", ErrOtherParent, h.Height, h.Parent, tip.Hash)
	case r.unknown:
		return &UnknownVersion{h.Height, h.Version, h.Timestamp, tip.Parameters.Upgrade}
	case h.Producer != tip.Parameters.Producer:
		return fmt.Errorf("%w: block %d by %s, not %s", ErrOtherSigner, h.Height, h.Producer, tip.Parameters.Producer)
	}
	return nil
}

// reexecute begins the re-execution of an existing block on its parent's state. p holds the parameters in that state.
func (c *core) reexecute(parent, header types.Header, p types.Parameters, parentState state.Reader,
	machine exec.Machine) (*exec.BlockExecutor, error) {
	overrides := c.override != nil && c.override.Height == header.Height
	if overrides {
		p = c.override.Parameters
	}
	template, err := exec.HeaderTemplate(parent, p, header.Timestamp)
	if err != nil {
		return nil, err
	}
	run := exec.Begin(c.Network(), p, parentState, template, machine)
	if overrides {
		err = run.Override()
	}
	return run, err
}
