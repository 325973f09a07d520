package sim

import (
	"bytes"
	"slices"
	"sync"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Bug is a bug planted into the nodes of a run, to be found. The empty bug is none.
type Bug string

// The bugs.
const (
	ForgetsSyncs     Bug = "a disk that says it has synced, and has not"
	SignsTwice       Bug = "a primary that takes its last block back when it starts, and signs another one"
	SkipsRootCheck   Bug = "a replica that checks who signed a block and not what executing it gives"
	ServesUnverified Bug = "a replica that serves blocks as they came"
	MisreadsReceipts Bug = "a replica that tells the receipts of a block in another order"
	Mints            Bug = "a primary that makes coins out of nothing when it starts"
	GivesUp          Bug = "a replica that never connects again"
	LosesRow         Bug = "a database that loses a row when it is opened"
	Stumbles         Bug = "a replica that ends for no reason"
	IgnoresForks     Bug = "a replica that takes another block at its head for its own"
)

// sabotage applies a bug to a database.
func (n *node) sabotage(db *kv.DB) error {
	if n.simulation.setup.Bug != LosesRow || n.index == 0 {
		return nil
	}
	const transactionsByAccount = 'a'
	var last []byte
	err := kv.Scan(db, []byte{transactionsByAccount}, []byte{transactionsByAccount + 1}, func(key, _ []byte) error {
		last = bytes.Clone(key)
		return nil
	})
	if err != nil || last == nil {
		return err
	}
	b := db.NewBatch(64)
	b.Delete(last)
	return db.Commit(b, true)
}

// corrupt applies a bug to a starting process.
func (n *node) corrupt(p *process) (err error) {
	head := p.height()
	if n.index > 0 || head == 0 {
		return nil
	}
	switch n.simulation.setup.Bug {
	case SignsTwice:
		return p.ledger.Rewind(head - 1)
	case Mints:
		if err := n.mint(p); err != nil {
			return err
		}
		p.ledger, err = ledger.Open(p.store, nil, nil, n.simulation.setup.Engine)
	}
	return err
}

// mint appends a block that gives the fee recipient a coin.
func (n *node) mint(p *process) error {
	tip := p.ledger.Tip()
	entry, err := p.emptyBlock(tip.Header.Header.Timestamp, func(view *chain.State, result *exec.Result) error {
		key := state.AccountKey(tip.Parameters.FeeRecipient)
		old, err := view.Get(key)
		if err != nil {
			return err
		}
		account, err := state.DecodeAccount(tip.Parameters.FeeRecipient, old)
		if err != nil {
			return err
		}
		account.Balance++
		result.Accesses = append(result.Accesses, types.Access{Key: key, Old: old, New: account.Encode(tip.Parameters.FeeRecipient)})
		slices.SortFunc(result.Accesses, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
		return nil
	})
	if err != nil {
		return err
	}
	return p.store.Append(entry)
}

// overlay holds the blocks of a replica that serves them before its ledger has imported them.
type overlay struct {
	process *process

	mu     sync.Mutex // guards the fields below
	blocks map[types.Height]types.Block
	newest types.Height
}

func newOverlay(p *process) *overlay {
	return &overlay{process: p, blocks: make(map[types.Height]types.Block)}
}

// take adds the blocks of a response that continue the served ones.
func (o *overlay) take(encoded [][]byte) {
	for _, b := range encoded {
		block, err := types.DecodeBlock(bytes.Clone(b))
		if err != nil || block.Header.Height != o.process.height()+1 {
			continue
		}
		if o.process.node.simulation.setup.Bug == SkipsRootCheck {
			received, err := ledger.Receive(types.Regtest, b)
			if err != nil || received.Header().Header.Producer != o.process.ledger.Tip().Parameters.Producer {
				continue
			}
		}
		o.mu.Lock()
		o.blocks[block.Header.Height], o.newest = block, block.Header.Height
		o.mu.Unlock()
	}
}

func (o *overlay) height() types.Height {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newest
}

func (o *overlay) block(h types.Height) (types.Block, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, ok := o.blocks[h]
	return b, ok
}
