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

const (
	testChainID = 7
	testTime    = 1_000_000 // of the genesis; each block comes a second later
)

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
	account, err := state.DecodeAccount(a, m[string(state.AccountKey(a))])
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// testChain is a chain without disk and tree: only the results of exec.
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
	p.Notice = 0
	g := types.Genesis{ChainID: testChainID, Network: types.Regtest, Time: testTime, BaseFee: 10, Parameters: p}
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
	// A contract record is planted to test a key's account that is also a contract.
	c.state[string(state.ContractKey(types.ContractID(contractAccount)))] = state.Contract{Name: "planted"}.Encode()
	return c
}

// action is a payload with its target and value, of a transaction or of a step.
type action struct {
	target  types.Account
	value   types.Amount
	payload types.Payload
}

// in sets the action in a transaction.
func (a action) in(tx *types.Transaction) {
	tx.Target, tx.Value, tx.Payload = a.target, a.value, a.payload
}

// step returns the action as a step of a batch.
func (a action) step() types.Step {
	return types.Step{Target: a.target, Value: a.value, Action: a.payload}
}

func pay(to types.Account, value types.Amount) action { return action{to, value, types.Transfer{}} }

func deploying(value types.Amount, p types.Deploy) action { return action{types.Account{}, value, p} }

func instantiating(template types.ContractID, value types.Amount, p types.Instantiate) action {
	return action{types.Account(template), value, p}
}

func calling(id types.ContractID, function string, value types.Amount) action {
	return action{types.Account(id), value, types.Call{Function: function}}
}

func with(p types.Payload) action { return action{payload: p} }

func batch(actions ...action) action {
	var p types.Batch
	for _, a := range actions {
		p.Steps = append(p.Steps, a.step())
	}
	return with(p)
}

// plain is a valid transfer by an account, without a signature.
func (c *testChain) plain(sender types.Account) types.Transaction {
	c.t.Helper()
	tx := types.Transaction{
		ChainID:              testChainID,
		Sender:               sender,
		Nonce:                c.state.account(c.t, sender).Nonce,
		GasLimit:             200_000,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 3,
	}
	pay(account(bob), 5).in(&tx)
	return tx
}

// transfer is a valid transfer by the key's account; edits change it before it is signed.
func (c *testChain) transfer(key crypto.PrivateKey, edits ...func(*types.Transaction)) *types.VerifiedTx {
	c.t.Helper()
	tx := c.plain(account(key))
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
	return c.verify(signed)
}

// sponsored returns an action of one key whose gas another one pays; edits change it before it is signed.
func (c *testChain) sponsored(
	key, payer crypto.PrivateKey, a action, edits ...func(*types.Transaction),
) *types.VerifiedTx {
	c.t.Helper()
	tx := c.plain(account(key))
	pays := account(payer)
	tx.Payer = &pays
	a.in(&tx)
	for _, edit := range edits {
		edit(&tx)
	}
	return c.verify(types.SignedTransaction{
		Transaction: tx, Witness: keyWitness(key, tx.Hash()), PayerWitness: keyWitness(payer, types.PayerHash(tx.Hash())),
	})
}

// keyWitness is a key's signature of a message.
func keyWitness(key crypto.PrivateKey, message [32]byte) types.WitnessKey {
	signature, err := key.Sign(message[:], [32]byte{})
	if err != nil {
		panic(err)
	}
	return types.WitnessKey{Signature: signature}
}

// verify verifies the witnesses of a transaction, which must hold.
func (c *testChain) verify(signed types.SignedTransaction) *types.VerifiedTx {
	c.t.Helper()
	verified := types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))
	if verified[0] == nil {
		c.t.Fatal("a witness does not hold")
	}
	return verified[0]
}

func (c *testChain) begin() *BlockExecutor {
	c.t.Helper()
	return c.beginAt(c.head.Timestamp + 1_000)
}

func (c *testChain) beginAt(timestamp uint64) *BlockExecutor {
	c.t.Helper()
	template, err := HeaderTemplate(c.head, c.params, timestamp)
	if err != nil {
		c.t.Fatal(err)
	}
	return Begin(types.Regtest, c.params, c.state, template, c.machine)
}

// block makes and commits a block of transactions, all of which must be valid.
func (c *testChain) block(txs ...*types.VerifiedTx) Result {
	c.t.Helper()
	return c.blockAt(c.head.Timestamp+1_000, txs...)
}

// blockAt is block with the given timestamp.
func (c *testChain) blockAt(timestamp uint64, txs ...*types.VerifiedTx) Result {
	c.t.Helper()
	run := c.beginAt(timestamp)
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

// simulate simulates an action on the state of the head.
func (c *testChain) simulate(sender types.Account, gas types.Gas, a action, view bool) (Outcome, error) {
	c.t.Helper()
	template, err := HeaderTemplate(c.head, c.params, c.head.Timestamp)
	if err != nil {
		c.t.Fatal(err)
	}
	tx := types.Transaction{ChainID: testChainID, Sender: sender, Nonce: 99, GasLimit: gas}
	a.in(&tx)
	return Call(c.params, c.state, template, types.SignedTransaction{Transaction: tx}, Simulation{
		Machine: c.machine, Network: types.Regtest, View: view,
	})
}

func (c *testChain) supply() (total types.Amount) {
	c.t.Helper()
	for key, value := range c.state {
		if state.Domain(key[0]) == state.DomainAccount {
			record, err := state.DecodeAccount(types.Account([]byte(key[1:])), value)
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
