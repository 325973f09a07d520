package hunt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/types"
)

const chainID = 4242

// ChainNode is a node in memory, on a chain with one user.
type ChainNode struct {
	Engine         *wasm.Engine
	Ledger         *ledger.Ledger
	store          *chain.Store
	db             *kv.DB
	user, producer crypto.PrivateKey
	nonce          uint64
	options        wasm.Options
	dir            string // temporary directory to remove, if not empty
}

// NewChain returns a node with an engine of the given options. With onDisk the engine has a directory for machine code.
func NewChain(options wasm.Options, onDisk bool) (n *ChainNode, err error) {
	n = &ChainNode{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if onDisk {
		if n.dir, err = os.MkdirTemp("", "cairn-hunt-"); err != nil {
			return n, err
		}
		options.Dir, options.Build = n.dir, build
	}
	for name, key := range map[string]*crypto.PrivateKey{"user": &n.user, "producer": &n.producer} {
		if *key, err = crypto.NewPrivateKey(sha256.Sum256([]byte(name))); err != nil {
			return n, err
		}
	}
	n.options = options
	if n.db, err = kv.Open("db", kv.Options{FS: kv.NewCrashDisk().FS()}); err != nil {
		return n, err
	}
	if n.store, err = chain.Open(n.db, chain.Options{Schedule: params.Prices.Digest(),
		WitnessBytes: 64 << 20}); err != nil {
		return n, err
	}
	return n, n.begin()
}

// begin creates an engine and opens the ledger, as a node does at its start.
func (n *ChainNode) begin() (err error) {
	if n.Engine, err = wasm.New(n.options); err != nil {
		return err
	}
	g := n.Genesis()
	n.Ledger, err = ledger.Open(n.store, &g, nil, n.Engine)
	return err
}

// Restart closes the engine and the ledger and opens them again, as a restart of a node does.
func (n *ChainNode) Restart() error { return errors.Join(n.Engine.Close(), n.begin()) }

// Genesis returns the chain's genesis, which is the same for all nodes.
func (n *ChainNode) Genesis() types.Genesis {
	return types.Genesis{
		ChainID:     chainID,
		Network:     types.Regtest,
		Time:        1,
		BaseFee:     10,
		Parameters:  params.Default(n.producer.PublicKey()),
		Allocations: []types.Allocation{{Account: n.user.PublicKey(), Balance: 1_000_000_000 * types.CoinUnits}},
	}
}

// Close releases all resources.
func (n *ChainNode) Close() (err error) {
	if n.store != nil {
		err = n.store.Close()
	}
	if n.db != nil {
		err = errors.Join(err, n.db.Close())
	}
	if n.Engine != nil {
		err = errors.Join(err, n.Engine.Close())
	}
	if n.dir != "" {
		err = errors.Join(err, os.RemoveAll(n.dir))
	}
	return err
}

// Made is a block with measurements of making it.
type Made struct {
	ledger.Block
	Receipts  []types.Receipt
	Gas       types.Gas
	Took      time.Duration // processor time of all threads
	Allocated uint64        // bytes allocated in total, as counted by Go
}

// End returns the wall-clock time that the block took after its execution.
func (m *Made) End() time.Duration { return m.Timings.Tree + m.Timings.Append }

// Action is a payload with its target and value.
type Action struct {
	Target  types.Account
	Value   types.Amount
	Payload types.Payload
}

// Block makes a block of count transactions with a gas limit each, whose actions alternate. All must be included.
func (n *ChainNode) Block(gas types.Gas, count int, actions ...Action) (made Made, err error) {
	signed := make([]types.SignedTransaction, count)
	for i := range signed {
		action := actions[i%len(actions)]
		if signed[i], err = types.Sign(types.Transaction{
			Sender:       n.user.PublicKey(),
			Target:       action.Target,
			ChainID:      chainID,
			Nonce:        n.nonce,
			GasLimit:     gas,
			MaxFeePerGas: params.DefaultMaxBaseFee,
			Value:        action.Value,
			Payload:      action.Payload,
		}, n.user, [32]byte{}); err != nil {
			return made, err
		}
		n.nonce++
	}
	waiting := batch(types.VerifyWitnesses(types.Regtest, types.NewTxs(signed...)))
	var memory, memoryAfter runtime.MemStats
	runtime.ReadMemStats(&memory)
	before, err := cputime.Used()
	if err != nil {
		return made, err
	}
	made.Block, err = n.Ledger.Build(ledger.Batch{Time: n.Ledger.Tip().Header.Header.Timestamp + 1_000,
		Transactions: &waiting},
		func(h types.BlockHash) (types.Signature, error) { return n.producer.Sign(h[:], [32]byte{}) })
	after, used := cputime.Used()
	if err := errors.Join(err, used); err != nil {
		return made, err
	}
	runtime.ReadMemStats(&memoryAfter)
	made.Took, made.Allocated = after-before, memoryAfter.TotalAlloc-memory.TotalAlloc
	if made.Receipts, err = n.store.Receipts(made.Header.Header.Height); err != nil {
		return made, err
	}
	if len(made.Receipts) != count {
		return made, fmt.Errorf("%d of %d transactions were included", len(made.Receipts), count)
	}
	for _, r := range made.Receipts {
		made.Gas += r.GasUsed
	}
	return made, nil
}

// batch holds the transactions of a block.
type batch []*types.VerifiedTx

func (b *batch) Next() *types.VerifiedTx {
	if len(*b) == 0 {
		return nil
	}
	tx := (*b)[0]
	*b = (*b)[1:]
	return tx
}

func (*batch) SkipSender() {}

// ErrDear is returned for a candidate whose deploy exceeds a block's gas.
var ErrDear = errors.New("the deploy costs more gas than a block has")

// copy returns the code of one of a candidate's contracts, which differ in a custom section.
func (c Candidate) copy(i int) []byte {
	return slices.Concat(c.Code, []byte{0, 4, 3, byte(i & 127), byte(i >> 7), 'h'})
}

// Deploy deploys a candidate's contracts, and returns a call of each. [IsRefusal] recognizes the errors of candidates
// that cannot be deployed.
func (n *ChainNode) Deploy(c Candidate) ([]Action, error) {
	if _, err := c.check(); err != nil {
		return nil, err
	}
	var ids []types.ContractID
	var all []byte
	for i := range c.Copies {
		code := c.copy(i)
		made, err := n.Block(params.DefaultGasLimit, 1, Action{Value: types.CoinUnits, Payload: types.Deploy{Code: code}})
		if err != nil {
			return nil, err
		}
		r := made.Receipts[0]
		if r.Contract == nil {
			return nil, fmt.Errorf("the contract is not deployed: %+v", r)
		}
		ids = append(ids, *r.Contract)
		all = append(all, r.Contract[:]...)
	}
	calls := make([]Action, len(ids))
	for i, id := range ids {
		rotated := slices.Concat(all[32*i:], all[:32*i])
		call := types.Call{Function: "run", Args: bytes.Join([][]byte{c.Args, rotated}, nil)}
		calls[i] = Action{Target: types.Account(id), Payload: call}
	}
	return calls, nil
}

// know loads the codes of a block's deploys into the engine before the deploys load them without notes.
func (n *ChainNode) know(block types.Block) error {
	for _, tx := range block.Transactions {
		deploy, ok := tx.Payload.(types.Deploy)
		if !ok {
			continue
		}
		_, err := n.Engine.Module(sha256.Sum256(deploy.Code), func() ([]byte, error) { return deploy.Code, nil })
		if refused := new(vm.Refused); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// follows makes another node import all blocks of a chain, and compares the results.
func follows(maker *ChainNode, options wasm.Options, onDisk bool) (err error) {
	n, err := NewChain(options, onDisk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	last := maker.Ledger.Tip().Header.Header.Height
	for h := types.Height(1); h <= last; h++ {
		if onDisk && h == last/2 {
			if err := n.Restart(); err != nil {
				return err
			}
		}
		block, err := maker.store.Block(h)
		if err != nil {
			return err
		}
		if options.Stopped != nil {
			if err := n.know(block); err != nil {
				return err
			}
		}
		received, err := ledger.Receive(types.Regtest, block.Encode())
		if err != nil {
			return err
		}
		if _, err := n.Ledger.Import(received); err != nil {
			return fmt.Errorf("block %d: %w", h, err)
		}
		want, err := maker.store.Receipts(h)
		if err != nil {
			return err
		}
		if got, err := n.store.Receipts(h); err != nil || !reflect.DeepEqual(got, want) {
			return fmt.Errorf("block %d: other receipts (%v)", h, err)
		}
		list, err := n.store.Accesses(h)
		if err != nil {
			return err
		}
		gas, size := block.Header.GasUsed, len(types.EncodeAccesses(list))
		if len(list) > params.MostAccesses(gas) || size > params.MostListBytes(gas) {
			return fmt.Errorf("block %d: %d gas list %d keys in %d bytes", h, gas, len(list), size)
		}
	}
	return nil
}
