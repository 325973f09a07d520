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

// core is what every ledger has: the store, and its head with what judges the block after it.
type core struct {
	// Opinions judge blocks that are there. They are set before blocks are imported.
	Opinions Opinions

	store    *chain.Store
	override *Override
	engine   vm.Engine
	tip      atomic.Pointer[Tip]

	producing producing
	unlisted  unlisted // guarded by producing
}

// producing is the lock under which blocks are made and imported.
type producing struct {
	mu sync.Mutex
	// told when that begins and ends: what else wants the processor makes way. Nil: nobody is told.
	working func(begins bool)
}

// Working has f told when the making or importing of a block begins, and when it ends. It is called before any does.
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

// begin starts the chain of a genesis, unless nil, in an empty store; in one with a chain the genesis must be the same.
func (c *core) begin(g *types.Genesis) error {
	if c.override != nil {
		if err := params.Check(c.override.Parameters); err != nil {
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

// publish makes the store's head the tip.
func (c *core) publish() error {
	tip, err := c.TipAt(c.store.Head().Header.Height)
	if err != nil {
		return err
	}
	c.tip.Store(tip)
	return nil
}

// TipAt is what the tip was when a block was the head. The error wraps [chain.ErrAboveHead] or [chain.ErrPruned], or is
// one of reading.
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

// newTip is the tip that a block is; p are the parameters in the state after it.
func (c *core) newTip(head types.SignedHeader, p types.Parameters) *Tip {
	overrides := c.override != nil && c.override.Height == head.Header.Height+1
	if overrides {
		p = c.override.Parameters
	}
	return &Tip{
		Header: head, Hash: head.Header.Hash(), Parameters: p, Env: exec.NewEnv(head.Header, p), Override: overrides,
	}
}

// Tip is the head of the chain.
func (c *core) Tip() *Tip { return c.tip.Load() }

// Latest is the tip that readers of the store see: its head. [core.Tip] comes to a new head a moment later, when the
// memory has.
func (c *core) Latest() (*Tip, error) {
	if tip := c.Tip(); tip.Hash == c.store.HeadHash() {
		return tip, nil
	}
	return c.TipAt(c.store.Head().Header.Height)
}

// Store is where the chain is kept; only the ledger appends to it.
func (c *core) Store() *chain.Store { return c.store }

// Header is the header of a block that is kept, as the store's.
func (c *core) Header(h types.Height) (types.SignedHeader, error) { return c.store.Header(h) }

// CheckNext tells whether the block is the producer's for the height after the head: it is then to be imported, or the
// producer to be accused. Errors: [exec.ErrUnknownVersion], [ErrOtherHeight], [ErrOtherParent], [ErrOtherSigner].
func (c *core) CheckNext(r *Received) error { return r.checkNext(c.Tip()) }

// checkNext is [core.CheckNext] after a tip.
func (r *Received) checkNext(tip *Tip) error {
	h := r.header.Header
	switch {
	case !params.Known(tip.Parameters.Version):
		return fmt.Errorf("%w: version %d from block %d on",
			exec.ErrUnknownVersion, tip.Parameters.Version, tip.Header.Header.Height+1)
	case h.Height != tip.Header.Header.Height+1:
		return fmt.Errorf("%w: %d, the head has %d", ErrOtherHeight, h.Height, tip.Header.Header.Height)
	case h.Parent != tip.Hash:
		return fmt.Errorf("%w: block %d has the parent %s, the head is %s", ErrOtherParent, h.Height, h.Parent, tip.Hash)
	case h.Producer != tip.Parameters.Producer:
		return fmt.Errorf("%w: block %d by %s, not %s", ErrOtherSigner, h.Height, h.Producer, tip.Parameters.Producer)
	}
	return nil
}

// again begins a block that is there anew, on the state of its parent; p are the parameters in that state.
func (c *core) again(parent, header types.Header, p types.Parameters, parentState state.Reader,
	machine exec.Machine) (*exec.Derivation, error) {
	overrides := c.override != nil && c.override.Height == header.Height
	if overrides {
		p = c.override.Parameters
	}
	seed, err := exec.Seed(parent, p, header.Timestamp)
	if err != nil {
		return nil, err
	}
	run := exec.Begin(p, parentState, seed, machine)
	if overrides {
		err = run.Override()
	}
	return run, err
}
