package exec

import (
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

const testChainID = 7

// mapState is a committed state as a map.
type mapState map[string][]byte

func (m mapState) Get(key []byte) ([]byte, error) { return m[string(key)], nil }

func (m mapState) commit(accesses []types.Access) {
	for _, a := range accesses {
		if len(a.New) == 0 {
			delete(m, string(a.Key))
		} else {
			m[string(a.Key)] = a.New
		}
	}
}

func (m mapState) account(t *testing.T, a types.Account) state.Account {
	t.Helper()
	account, err := state.DecodeAccount(m[string(state.AccountKey(a))])
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// testChain is a chain without disk and tree: just what exec derives.
type testChain struct {
	t       *testing.T
	head    types.Header
	params  types.Parameters
	state   mapState
	machine Machine
}

func testKey(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err)
	}
	return key
}

func account(key crypto.PrivateKey) types.Account { return key.PublicKey() }

var (
	alice, bob, producer = testKey("alice"), testKey("bob"), testKey("producer")
	collector            = account(testKey("fee recipient"))
	fresh                = types.Account{0xf0}
	contractAccount      = types.Account(testKey("contract").PublicKey())
)

func testGenesis() types.Genesis {
	p := params.Default(producer.PublicKey())
	p.FeeRecipient = collector
	g := types.Genesis{ChainID: testChainID, Network: types.Regtest, Time: 1_000, BaseFee: 10, Parameters: p}
	for _, a := range []types.Account{account(alice), account(bob), account(producer), contractAccount} {
		g.Allocations = append(g.Allocations, types.Allocation{Account: a, Balance: 1_000 * types.CoinUnits})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	return g
}

func newTestChain(t *testing.T) *testChain {
	t.Helper()
	g := testGenesis()
	result, err := Genesis(g)
	if err != nil {
		t.Fatal(err)
	}
	c := &testChain{t: t, head: result.Header, params: g.Parameters, state: mapState{}}
	c.state.commit(result.Accesses)
	// A contract record is planted to test what holds for senders with code.
	c.state[string(state.ContractKey(types.ContractID(contractAccount)))] = state.Contract{Name: "planted"}.Encode()
	return c
}

// transfer is a valid transfer by the key's account; edits change it before it is signed.
func (c *testChain) transfer(key crypto.PrivateKey, edits ...func(*types.Transaction)) *types.VerifiedTx {
	c.t.Helper()
	tx := types.Transaction{
		Version:              types.TransactionVersion,
		ChainID:              testChainID,
		Sender:               account(key),
		Nonce:                c.state.account(c.t, account(key)).Nonce,
		GasLimit:             100_000,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 3,
		Payload:              types.Transfer{To: account(bob), Amount: 5},
	}
	for _, edit := range edits {
		edit(&tx)
	}
	return c.sign(tx, key)
}

func (c *testChain) sign(tx types.Transaction, key crypto.PrivateKey) *types.VerifiedTx {
	c.t.Helper()
	signed, err := types.Sign(tx, key, [32]byte{})
	if err != nil {
		c.t.Fatal(err)
	}
	verified := types.VerifySignatures(types.NewTxs(signed))
	if verified[0] == nil {
		c.t.Fatal("signature is not valid")
	}
	return verified[0]
}

func (c *testChain) begin() *Derivation {
	c.t.Helper()
	seed, err := Seed(c.head, c.params, c.head.Timestamp+1)
	if err != nil {
		c.t.Fatal(err)
	}
	return Begin(c.params, c.state, seed, c.machine)
}

// block makes and commits a block of transactions that must all be valid.
func (c *testChain) block(txs ...*types.VerifiedTx) Result {
	c.t.Helper()
	run := c.begin()
	for _, tx := range txs {
		b := &bill{t: c.t}
		run.Trace(b)
		receipt, err := run.Apply(tx)
		if err != nil {
			c.t.Fatal(err)
		}
		b.check(receipt.GasUsed)
	}
	result, err := run.Finish()
	if err != nil {
		c.t.Fatal(err)
	}
	c.head = result.Header
	c.state.commit(result.Accesses)
	if c.params, err = ReadParameters(c.state); err != nil {
		c.t.Fatal(err)
	}
	return result
}

func (c *testChain) supply() (total types.Amount) {
	c.t.Helper()
	for key, value := range c.state {
		if state.Domain(key[0]) == state.DomainAccount {
			record, err := state.DecodeAccount(value)
			if err != nil {
				c.t.Fatal(err)
			}
			total += record.Balance
		}
	}
	burned, err := state.DecodeSupply(c.state[string(state.SupplyKey())])
	if err != nil {
		c.t.Fatal(err)
	}
	return total + burned.Burned
}
