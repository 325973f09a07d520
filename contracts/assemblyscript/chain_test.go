// Package assemblyscript tests the compiled examples of the AssemblyScript SDK on the real engine.
package assemblyscript

import (
	"crypto/sha256"
	"os"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

const gasLimit = 50_000_000

// mapState is a committed state as a map.
type mapState map[string][]byte

func (m mapState) Get(key []byte) ([]byte, error) { return m[string(key)], nil }

func (m mapState) commit(accesses []types.Access) {
	for _, a := range accesses {
		m[string(a.Key)] = a.New
	}
}

// codes are the codes of the contracts by hash.
type codes map[types.CodeHash][]byte

func (c codes) Code(hash types.CodeHash) ([]byte, error) { return c[hash], nil }

// chain executes blocks of one transaction, without disk and tree.
type chain struct {
	t      *testing.T
	head   types.Header
	params types.Parameters
	state  mapState
	codes  codes
	engine *wasm.Engine
}

func key(name string) crypto.PrivateKey {
	k, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err)
	}
	return k
}

// alice, bob and carol have coins.
var alice, bob, carol = key("alice"), key("bob"), key("carol")

func account(k crypto.PrivateKey) types.Account { return k.PublicKey() }

func newChain(t *testing.T) *chain {
	t.Helper()
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	g := types.Genesis{
		ChainID: 7, Network: types.Regtest, Time: 1_000_000, BaseFee: 10, Parameters: params.Default(key("producer").PublicKey()),
	}
	for _, k := range []crypto.PrivateKey{alice, bob, carol} {
		g.Allocations = append(g.Allocations, types.Allocation{Account: account(k), Balance: 1_000 * types.CoinUnits})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	result, err := exec.Genesis(g)
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{
		t:      t,
		head:   result.Header,
		params: g.Parameters,
		state:  mapState{},
		codes:  codes{},
		engine: engine,
	}
	c.state.commit(result.Accesses)
	return c
}

func (c *chain) account(a types.Account) state.Account {
	c.t.Helper()
	record, err := exec.ReadAccount(c.state, a)
	if err != nil {
		c.t.Fatal(err)
	}
	return record
}

// now is the time of the last block in seconds, as contracts read it.
func (c *chain) now() uint64 { return c.head.Timestamp / 1_000 }

// apply executes a block of one transaction, some seconds after the previous block.
func (c *chain) apply(from crypto.PrivateKey, action client.Action, later uint64) (types.Receipt, exec.Reason) {
	c.t.Helper()
	signed, err := types.Sign(types.Transaction{
		Sender:       account(from),
		Target:       action.Target,
		ChainID:      7,
		Nonce:        c.account(account(from)).Nonce,
		GasLimit:     gasLimit,
		MaxFeePerGas: 100,
		Value:        action.Value,
		Payload:      action.Payload,
	}, from, [32]byte{})
	if err != nil {
		c.t.Fatal(err)
	}
	template, err := exec.HeaderTemplate(c.head, c.params, c.head.Timestamp+1_000*later)
	if err != nil {
		c.t.Fatal(err)
	}
	run := exec.Begin(types.Regtest, c.params, c.state, template, exec.Machine{Engine: c.engine, Codes: c.codes})
	if _, err := run.Apply(types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))[0]); err != nil {
		c.t.Fatal(err)
	}
	result, err := run.Finish()
	if err != nil {
		c.t.Fatal(err)
	}
	c.head = result.Header
	c.state.commit(result.Accesses)
	for hash, code := range result.Codes {
		c.codes[hash] = code
	}
	return result.Receipts[0], result.Reasons[0]
}

// contract is a deployed contract.
type contract struct {
	*chain
	id types.ContractID
}

func code(t *testing.T, name string) []byte {
	t.Helper()
	code, err := os.ReadFile("../wasm/as-" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// deploy deploys an example as alice.
func (c *chain) deploy(name, args string) contract {
	c.t.Helper()
	code := code(c.t, name)
	receipt, reason := c.apply(alice, client.Action{
		Payload: types.Deploy{Name: name, Code: code, InitArgs: []byte(args)},
	}, 1)
	if reason != exec.Success {
		c.t.Fatalf("deploy of %s: %s: %s", name, reason, receipt.Output)
	}
	c.t.Logf("deploy of %s: %d bytes, %d gas", name, len(code), receipt.GasUsed)
	return contract{c, *receipt.Contract}
}

// call is a call that must succeed with a result.
func (c contract) call(from crypto.PrivateKey, function, args, want string) types.Receipt {
	c.t.Helper()
	receipt, reason := c.apply(from, client.CallEncoded(c.id, function, []byte(args), 0), 1)
	if reason != exec.Success || string(receipt.Output) != want {
		c.t.Fatalf("%s %s: %s with %q, want %q", function, args, reason, receipt.Output, want)
	}
	c.t.Logf("%s: %d gas", function, receipt.GasUsed)
	return receipt
}

// refused is a call that must revert with a reason.
func (c contract) refused(from crypto.PrivateKey, function, args, want string) {
	c.t.Helper()
	receipt, reason := c.apply(from, client.CallEncoded(c.id, function, []byte(args), 0), 1)
	if reason != exec.Reverted || string(receipt.Output) != want {
		c.t.Fatalf("%s %s: %s with %q, want it reverted with %q", function, args, reason, receipt.Output, want)
	}
}
