package rust

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// TestGasOfTheExamples compares the gas of the examples, in both languages, with testdata/gas.json. After a change to a
// price, an SDK or an example the test shows the effect; GAS_SNAPSHOT=update rewrites the file.
func TestGasOfTheExamples(t *testing.T) {
	s := contracttest.NewGasSnapshot(t, "testdata/gas.json", 0)
	for _, prefix := range []string{"", "as-"} {
		gasOfToken(t, s, prefix+"nep20")
		gasOfNFT(t, s, prefix+"nft")
		gasOfMultisig(t, s, prefix+"multisig")
		gasOfVesting(t, s, prefix+"vesting")
		gasOfEscrow(t, s, prefix+"escrow")
		gasOfProxy(t, s, prefix)
	}
	gasOfRouter(t, s)
}

// taker calls a contract's functions with arguments in the binary form, and records the gas of each.
type taker struct {
	*contracttest.Contract
	t *testing.T
	s *contracttest.GasSnapshot
}

func (k taker) call(
	what string, from contracttest.Account, function string, given any, options ...contracttest.Options,
) contracttest.Result {
	k.t.Helper()
	r := k.Call(from, function, k.Binary(function, given), options...)
	k.s.Take(k.Name+" "+what, r)
	return r
}

func gasOfToken(t *testing.T, s *contracttest.GasSnapshot, module string) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	k := taker{deploy(c, t, module, args{"name": "T", "symbol": "T", "decimals": 0, "initialSupply": 1_000_000}), t, s}
	k.call("transfer to a new holder", alice, "transfer", args{"to": bob, "amount": 1_000}).Must(t)
	k.call("transfer", alice, "transfer", args{"to": bob, "amount": 1_000}).Must(t)
	s.Take(module+" transfer in JSON", k.Call(alice, "transfer", args{"to": bob, "amount": 1_000}).Must(t))
	k.call("transfer of too much", bob, "transfer", args{"to": alice, "amount": 1_000_000}).Reverts(
		t, "balance is too low",
	)
	k.call("approve", alice, "approve", args{"spender": bob, "amount": 500}).Must(t)
	k.call("transferFrom", bob, "transferFrom", args{"from": alice, "to": bob, "amount": 100}).Must(t)
	k.call("burn of too much", bob, "burn", args{"amount": 1_000_000}).Reverts(t, "balance is too low")
	s.Take(module+" wrong arguments", k.Call(alice, "transfer", json.RawMessage(`{}`)))
	s.Take(module+" no such function", k.Call(alice, "nothing", nil))
	little := contracttest.Options{Gas: 60_000}
	s.Take(module+" out of gas", k.Call(alice, "transfer", args{"to": bob, "amount": 1}, little))
}

func gasOfNFT(t *testing.T, s *contracttest.GasSnapshot, module string) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	k := taker{deploy(c, t, module, args{"symbol": "ART"}), t, s}
	mint := args{"to": alice, "tokenId": "0x01", "properties": `{"name":"one"}`}
	k.call("mint", alice, "mint", mint).Must(t)
	k.call("mint again", alice, "mint", mint).Reverts(t, "there is such a token")
	k.call("approve", alice, "approve", args{"to": bob, "tokenId": "0x01"}).Must(t)
	k.call("transfer", bob, "transfer", args{"to": bob, "tokenId": "0x01", "data": nil}).Must(t)
	k.call("transfer to a contract", bob, "transfer", args{"to": k.Account(), "tokenId": "0x01", "data": nil}).Must(t)
}

func gasOfMultisig(t *testing.T, s *contracttest.GasSnapshot, module string) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	k := taker{deploy(c, t, module, args{"owners": []any{alice, bob}, "threshold": 2}), t, s}
	gold := token(c, t, "Gold")
	gold.Call(alice, "transfer", args{"to": k.Account(), "amount": 50}).Must(t)
	give := gold.Binary("transfer", args{"to": bob, "amount": 50})
	k.call("propose", alice, "propose", args{
		"to": gold.Account(), "method": "transfer", "args": fmt.Sprintf("0x%x", []byte(give)), "value": 0,
	}).Must(t)
	k.call("execute too early", alice, "execute", args{"id": 0}).Reverts(t, "too few confirmations")
	k.call("confirm", bob, "confirm", args{"id": 0}).Must(t)
	k.call("execute", alice, "execute", args{"id": 0}).Must(t)
	k.call("deposit", bob, "deposit", nil, contracttest.Options{Value: 9}).Must(t)
}

func gasOfVesting(t *testing.T, s *contracttest.GasSnapshot, module string) {
	c := contracttest.New(t)
	boss, worker := c.Account("boss"), c.Account("worker")
	k := taker{deploy(c, t, module, nil), t, s}
	now := c.Time()
	k.call("grant", boss, "grant", args{
		"to": worker, "start": now, "cliff": now + 1_000, "end": now + 10_000, "revocable": true,
	}, contracttest.Options{Value: 30_000}).Must(t)
	k.call("release too early", worker, "release", args{"id": 0}).Reverts(t, "nothing to release")
	c.Advance(time.Hour)
	k.call("release", worker, "release", args{"id": 0}).Must(t)
	k.call("revoke", boss, "revoke", args{"id": 0}).Must(t)
}

func gasOfEscrow(t *testing.T, s *contracttest.GasSnapshot, module string) {
	c := contracttest.New(t)
	buyer, seller, arbiter := c.Account("bob"), c.Account("seller"), c.Account("arbiter")
	k := taker{deploy(c, t, module, nil), t, s}
	terms := args{"seller": seller, "arbiter": arbiter, "deadline": c.Time() + 3600}
	k.call("open", buyer, "open", terms, contracttest.Options{Value: 500}).Must(t)
	k.call("release", buyer, "release", args{"deal": 0}).Must(t)
	k.call("refund of what is closed", arbiter, "refund", args{"deal": 0}).Reverts(t, "the deal is closed")
}

// gasOfProxy deposits to and withdraws from the savings behind a proxy, which a registry names.
func gasOfProxy(t *testing.T, s *contracttest.GasSnapshot, prefix string) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	registry := taker{deploy(c, t, prefix+"registry", args{"delay": 60}), t, s}
	proxy := deploy(c, t, prefix+"proxy", args{"registry": registry.Account(), "name": "savings"})
	logic := deploy(c, t, prefix+"savings", args{"proxy": proxy.Account()})
	registry.call("announce", alice, "announce", args{"name": "savings", "contract": logic.Account()}).Must(t)
	c.Advance(time.Minute)
	registry.call("activate", bob, "activate", args{"name": "savings"}).Must(t)
	k := taker{proxy, t, s}
	deposit := args{"method": "deposit", "args": "0x"}
	k.call("forward deposit", bob, "forward", deposit, contracttest.Options{Value: 70}).Must(t)
	withdraw := func(n uint64) args { return args{"method": "withdraw", "args": hexOf(number(n))} }
	k.call("forward withdraw", bob, "forward", withdraw(30)).Must(t)
	k.call("forward withdraw of too much", bob, "forward", withdraw(70)).Reverts(t, "")
}

// gasOfRouter swaps through two pools. Router and pools exist in Rust only.
func gasOfRouter(t *testing.T, s *contracttest.GasSnapshot) {
	c := contracttest.New(t)
	alice := c.Account("alice")
	tokens := []*contracttest.Contract{token(c, t, "A"), token(c, t, "B"), token(c, t, "C")}
	path := []types.Account{tokens[0].Account(), tokens[1].Account(), tokens[2].Account()}
	router := taker{deploy(c, t, "router", args{"poolCode": codeHash(t, "pool")}), t, s}
	tokens[0].Call(alice, "approve", args{"spender": router.Account(), "amount": 9_000}).Must(t)
	var pools []types.Account
	for i := range 2 {
		k := deploy(c, t, "pool", args{"tokenA": path[i], "tokenB": path[i+1]})
		for _, token := range tokens[i : i+2] {
			token.Call(alice, "approve", args{"spender": k.Account(), "amount": 100_000}).Must(t)
		}
		k.Name = fmt.Sprintf("pool %d:", i)
		deposit := args{"maxA": 40_000, "maxB": 40_000, "minShares": 0, "deadline": late}
		taker{k, t, s}.call("first deposit", alice, "add", deposit).Must(t)
		taker{k, t, s}.call("deposit", alice, "add", deposit).Must(t)
		given := args{"shares": 1_000, "minA": 0, "minB": 0, "deadline": late}
		taker{k, t, s}.call("withdrawal", alice, "remove", given).Must(t)
		pools = append(pools, k.Account())
	}
	swap := func(pools []types.Account, minimum uint64) args {
		return args{"pools": pools, "path": path[:len(pools)+1], "amount": 1_000, "minimum": minimum, "deadline": late}
	}
	router.call("swap", alice, "swap", swap(pools[:1], 0)).Must(t)
	router.call("swap by two pools", alice, "swap", swap(pools, 0)).Must(t)
	router.call("swap under the minimum", alice, "swap", swap(pools, 1<<40)).Reverts(t, "less than the minimum")
}
