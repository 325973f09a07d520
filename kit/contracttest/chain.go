package contracttest

import (
	"crypto/sha256"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

const (
	// ChainID is the chain's id: that of a development chain.
	ChainID = 31337
	// GenesisTime is the timestamp of block 0, in Unix seconds: 2025-01-01 00:00:00 UTC.
	GenesisTime = 1_735_689_600
	// Funds is what each account begins with.
	Funds = 1_000_000 * types.CoinUnits
	// blockSeconds is the time between two blocks.
	blockSeconds = 1
)

// engine runs the contracts of all chains; it lives as long as the test's process.
var engine = sync.OnceValues(func() (*wasm.Engine, error) { return wasm.New(wasm.Options{}) })

// Chain is a chain in memory. It belongs to one test and one goroutine. What cannot be a result of the test, such as a
// fault of the engine, ends the test.
type Chain struct {
	t       testing.TB
	machine exec.Machine
	gas     *gasReport
	covers  bool // its engine notes what runs
	present
}

// present is what a [Snapshot] remembers.
type present struct {
	head  types.Header
	state world
	codes codes
	ahead time.Duration // of the next block's time, besides the block interval
}

// world is a state: its values are never changed in place.
type world map[string][]byte

// Get is [state.Reader].Get.
func (w world) Get(key []byte) ([]byte, error) { return w[string(key)], nil }

// codes are the codes of the contracts.
type codes map[types.CodeHash][]byte

// Code is [exec.Codes].Code.
func (c codes) Code(hash types.CodeHash) ([]byte, error) { return c[hash], nil }

// New makes a chain with its genesis block.
func New(t testing.TB) *Chain {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := exec.Genesis(types.Genesis{
		ChainID: ChainID, Network: types.Regtest, Time: GenesisTime, BaseFee: params.DefaultMinBaseFee,
		Parameters: params.Default(key("producer").PublicKey()),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &Chain{t: t, gas: &gasReport{}, present: present{head: genesis.Header, state: world{}, codes: codes{}}}
	c.machine = exec.Machine{Engine: e, Codes: c.codes}
	c.commit(genesis.Accesses)
	return c
}

// key is the private key of a name.
func key(name string) crypto.PrivateKey {
	seed := sha256.Sum256([]byte("cairn/contracttest/" + name))
	for {
		if k, err := crypto.NewPrivateKey(seed); err == nil {
			return k
		}
		seed = sha256.Sum256(seed[:]) // one of about 2^127 is no key
	}
}

func (c *Chain) commit(accesses []types.Access) {
	for _, a := range types.Writes(accesses) {
		if len(a.New) == 0 {
			delete(c.state, string(a.Key))
		} else {
			c.state[string(a.Key)] = a.New
		}
	}
}

// Account is who sends transactions. It encodes as its 32 bytes in hex, as contracts take accounts.
type Account struct {
	types.Account
	key crypto.PrivateKey
}

// Account is the account of a name, the same in every chain. It has [Funds] when it is first asked for.
func (c *Chain) Account(name string) Account {
	c.t.Helper()
	k := key(name)
	a := Account{Account: k.PublicKey(), key: k}
	if c.state[string(state.AccountKey(a.Account))] == nil {
		c.Fund(a.Account, Funds)
	}
	return a
}

// Fund gives an account coins from nothing; the supply grows by them.
func (c *Chain) Fund(account types.Account, amount types.Amount) {
	c.t.Helper()
	overlay := state.NewOverlay(c.state)
	record, err := overlay.Account(account)
	c.must(err)
	record.Balance, err = record.Balance.Add(amount)
	c.must(err)
	c.must(overlay.SetAccount(account, record))
	supply, err := state.DecodeSupply(c.state[string(state.SupplyKey())])
	c.must(err)
	supply.Supply, err = supply.Supply.Add(amount)
	c.must(err)
	c.must(overlay.Set(state.SupplyKey(), supply.Encode()))
	c.commit(overlay.Accesses())
}

// must ends the test with a fault.
func (c *Chain) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Balance is an account's coins, in smallest units.
func (c *Chain) Balance(account types.Account) types.Amount {
	c.t.Helper()
	record, err := state.DecodeAccount(c.state[string(state.AccountKey(account))])
	c.must(err)
	return record.Balance
}

// Height is the height of the latest block.
func (c *Chain) Height() types.Height { return c.head.Height }

// Time is the timestamp of the latest block, in Unix seconds.
func (c *Chain) Time() uint64 { return c.head.Timestamp }

// Advance lets time pass: the next block is that much later than it would be. Only whole seconds count.
func (c *Chain) Advance(by time.Duration) { c.ahead += by }

// Mine makes empty blocks.
func (c *Chain) Mine(blocks int) {
	c.t.Helper()
	for range blocks {
		c.block(nil, nil)
	}
}

// Snapshot is a moment of a chain.
type Snapshot struct{ present }

// Snapshot remembers the chain as it is; it can be gone back to any number of times.
func (c *Chain) Snapshot() Snapshot {
	s := c.present
	s.state = maps.Clone(c.state)
	return Snapshot{s}
}

// Revert takes the chain back to a snapshot of its own. Accounts that were first asked for after it have nothing then,
// until they are asked for again.
func (c *Chain) Revert(s Snapshot) {
	codes := c.codes // by hash: none of them is wrong in the past
	c.present = s.present
	c.state, c.codes = maps.Clone(s.state), codes
}

// seed is the next block's header before execution.
func (c *Chain) seed() (types.Header, types.Parameters) {
	c.t.Helper()
	p, err := exec.ReadParameters(c.state)
	c.must(err)
	seed, err := exec.Seed(c.head, p, c.head.Timestamp+blockSeconds+uint64(c.ahead/time.Second))
	c.must(err)
	return seed, p
}

// block makes the next block, with a transaction or without, which a tracer is told of, and returns the transaction's
// receipt and why it failed.
func (c *Chain) block(tx *types.VerifiedTx, tracer exec.Tracer) (receipt types.Receipt, reason exec.Reason) {
	c.t.Helper()
	seed, p := c.seed()
	run := exec.Begin(p, c.state, seed, c.machine)
	run.Trace(tracer)
	if tx != nil {
		_, err := run.Apply(tx)
		c.must(err)
	}
	result, err := run.Finish()
	c.must(err)
	c.head, c.ahead = result.Header, 0
	maps.Copy(c.codes, result.Codes)
	c.commit(result.Accesses)
	if tx == nil {
		return receipt, exec.Success
	}
	return result.Receipts[0], result.Reasons[0]
}
