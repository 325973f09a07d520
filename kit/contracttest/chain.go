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
	// ChainID is the chain ID of development chains.
	ChainID = 31337
	// GenesisTime is the timestamp of block 0, in Unix seconds: 2025-01-01 00:00:00 UTC.
	GenesisTime = 1_735_689_600
	// Funds is the initial balance of each account.
	Funds = 1_000_000 * types.CoinUnits
	// blockTime is the time between two blocks, in milliseconds.
	blockTime = 1_000
)

// network is the network of development chains.
const network = types.Regtest

// engine runs the contracts of all chains. It lives as long as the test process.
var engine = sync.OnceValues(func() (*wasm.Engine, error) { return wasm.New(wasm.Options{}) })

// Chain is a chain in memory. It belongs to one test and one goroutine. Errors that cannot be results under test, such
// as a fault of the engine, end the test.
type Chain struct {
	t       testing.TB
	machine exec.Machine
	gas     *gasReport
	covers  bool // its engine records coverage
	present
}

// present is the state that a [Snapshot] captures.
type present struct {
	head  types.Header
	state world
	codes codes
	ahead time.Duration // added to the interval before the next block
}

// world is a state. Its values are never modified in place.
type world map[string][]byte

// Get is [state.Reader].Get.
func (w world) Get(key []byte) ([]byte, error) { return w[string(key)], nil }

// codes holds the contracts' codes.
type codes map[types.CodeHash][]byte

// Code is [exec.Codes].Code.
func (c codes) Code(hash types.CodeHash) ([]byte, error) { return c[hash], nil }

// New returns a chain with its genesis block.
func New(t testing.TB) *Chain {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := exec.Genesis(types.Genesis{
		ChainID: ChainID, Network: network, Time: 1_000 * GenesisTime, BaseFee: params.DefaultMinBaseFee,
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

// key derives a private key from a name.
func key(name string) crypto.PrivateKey {
	seed := sha256.Sum256([]byte("cairn/contracttest/" + name))
	for {
		if k, err := crypto.NewPrivateKey(seed); err == nil {
			return k
		}
		seed = sha256.Sum256(seed[:]) // about one seed in 2^127 is not a valid key
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

// Fund mints coins for an account, and increases the supply accordingly.
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

// must ends the test if err is not nil.
func (c *Chain) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Balance returns an account's coins, in smallest units.
func (c *Chain) Balance(account types.Account) types.Amount {
	c.t.Helper()
	record, err := exec.ReadAccount(c.state, account)
	c.must(err)
	return record.Balance
}

// Height returns the height of the latest block.
func (c *Chain) Height() types.Height { return c.head.Height }

// Time returns the time of the latest block in Unix seconds, as contracts see it.
func (c *Chain) Time() uint64 { return c.head.Timestamp / 1_000 }

// Advance delays the next block by a duration. Fractions of a millisecond are ignored.
func (c *Chain) Advance(by time.Duration) { c.ahead += by }

// Mine makes empty blocks.
func (c *Chain) Mine(blocks int) {
	c.t.Helper()
	for range blocks {
		c.block(nil, nil)
	}
}

// Snapshot is a captured state of a chain.
type Snapshot struct{ present }

// Snapshot captures the chain's current state. The chain can be reverted to it any number of times.
func (c *Chain) Snapshot() Snapshot {
	s := c.present
	s.state = maps.Clone(c.state)
	return Snapshot{s}
}

// Revert restores one of the chain's own snapshots. Accounts first requested after the snapshot have no coins until
// they are requested again.
func (c *Chain) Revert(s Snapshot) {
	codes := c.codes // keep all codes: they are stored by hash, so extra ones do no harm
	c.present = s.present
	c.state, c.codes = maps.Clone(s.state), codes
}

// seed returns the header of the next block before execution.
func (c *Chain) seed() (types.Header, types.Parameters) {
	c.t.Helper()
	p, err := exec.ReadParameters(c.state)
	c.must(err)
	template, err := exec.HeaderTemplate(c.head, p, c.head.Timestamp+blockTime+uint64(c.ahead/time.Millisecond))
	c.must(err)
	return template, p
}

// block makes the next block, with at most one transaction, traced by tracer. It returns the transaction's receipt and
// the reason of its failure.
func (c *Chain) block(tx *types.VerifiedTx, tracer exec.Tracer) (receipt types.Receipt, reason exec.Reason) {
	c.t.Helper()
	template, p := c.seed()
	run := exec.Begin(network, p, c.state, template, c.machine)
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
