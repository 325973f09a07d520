// Package rust tests the compiled examples of the Rust SDK on the real engine.
package rust

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

type args = map[string]any

func deploy(c *contracttest.Chain, t *testing.T, name string, args any) *contracttest.Contract {
	t.Helper()
	code, err := os.ReadFile("../wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return c.Deploy(c.Account("alice"), code, args, contracttest.Options{Name: name})
}

func token(c *contracttest.Chain, t *testing.T, name string) *contracttest.Contract {
	t.Helper()
	return deploy(c, t, "nep20", args{"name": name, "symbol": name, "decimals": 2, "initialSupply": 1_000_000})
}

// shows checks the result of a function.
func shows(t *testing.T, k *contracttest.Contract, function string, given any, want string) {
	t.Helper()
	if got := k.View(function, given).Must(t).Output; string(got) != want {
		t.Errorf("%s gives %s, want %s", function, got, want)
	}
}

func TestTokenMeetsTheStandard(t *testing.T) {
	c := contracttest.New(t)
	k := token(c, t, "Gold")
	report := k.CheckToken(c.Account("alice"))
	for _, r := range report.Results {
		if r.Verdict != "pass" {
			t.Errorf("got %+v", r)
		}
	}
	if len(report.Results) == 0 {
		t.Error("nothing was checked")
	}
	t.Logf("\n%s", c.GasReport())
}

func TestTokenABI(t *testing.T) {
	k := token(contracttest.New(t), t, "Gold")
	modes := map[string]string{}
	for _, f := range k.ABI.Functions {
		modes[f.Name] = string(f.Mode)
	}
	for name, mode := range map[string]string{
		"init": "init", "balanceOf": "read", "transferFrom": "write", "burn": "write",
	} {
		if modes[name] != mode {
			t.Errorf("%s is %q in the ABI, want %q", name, modes[name], mode)
		}
	}
	if len(k.ABI.Functions) != 12 || len(k.ABI.Events) != 2 {
		t.Errorf("%d functions and %d events", len(k.ABI.Functions), len(k.ABI.Events))
	}
}

func TestTokenBeyondTheStandard(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	k := token(c, t, "Gold")
	k.Call(bob, "mint", args{"to": bob, "amount": 1}).Reverts(t, "only the owner may mint")
	minted := k.Call(alice, "mint", args{"to": bob, "amount": "9007199254740993"}).Must(t)
	want := fmt.Sprintf(`{"from":"0x%064x","to":"%s","amount":9007199254740993}`, 0, bob.Account)
	if e := minted.Events[0]; e.Name != "Transfer" || string(e.Data) != want {
		t.Errorf("event %s %s, want %s", e.Name, e.Data, want)
	}
	topics := minted.Events[0].Topics
	if topics[0] != ([32]byte{}) || topics[1] != bob.Account || binary.BigEndian.Uint64(topics[2][24:]) != 1<<53+1 {
		t.Errorf("topics %x", topics)
	}
	shows(t, k, "balanceOf", args{"address": bob.Account}, `"9007199254740993"`)
	k.Call(bob, "burn", args{"amount": "9007199254740993"}).Must(t)
	shows(t, k, "totalSupply", nil, "1000000")
	k.Call(alice, "burn", args{"amount": 1_000_001}).Reverts(t, "balance is too low")
	if r := k.Call(alice, "transfer", args{"to": bob, "amount": 1}, contracttest.Options{Value: 1}); r.OK {
		t.Error("coins were taken")
	}
}

func TestArgumentsAreReadStrictly(t *testing.T) {
	c := contracttest.New(t)
	alice := c.Account("alice")
	k := token(c, t, "Gold")
	for _, given := range []string{
		``, `null`, `[]`, `{"amount":1`, `{"amount":1}}`, `{"amount":1,}`, `{"amount":+1}`, `{"amount":1e0}`, `{"amount":{}}`,
		`{"amount":"1"x}`, `{"amount":"0x1"}`, `{"amount":[1]}`, `{"amount":1,"amount":1}`, `{"Amount":1}`, `{amount:1}`,
		`{"amount":tru}`,
		`{"amount":18446744073709551616}`, "{\"amount\":\x001}", `{"amount":[[[[[[[[[[[1]]]]]]]]]]]}`, "{\"a\xff\":1}",
		`{"\ud800":1}`,
	} {
		r := k.Call(alice, "burn", json.RawMessage(given))
		if r.Reverts(t, ""); len(r.Output) == 0 {
			t.Errorf("%q: no reason", given)
		}
	}
	k.Call(alice, "burn", json.RawMessage(" {\t\"\\u0061mount\" :\n\"7\" } ")).Must(t)
	shows(t, k, "totalSupply", nil, "999993")
}

func TestCounter(t *testing.T) {
	c := contracttest.New(t)
	k := deploy(c, t, "counter", nil)
	k.Call(c.Account("alice"), "add", args{"amount": 5}).Must(t)
	if r := k.Call(c.Account("bob"), "add", args{"amount": 2}).Must(t); !bytes.Equal(r.Output, []byte("7")) {
		t.Errorf("add gives %s", r.Output)
	}
	shows(t, k, "count", nil, "7")
	k.Call(c.Account("bob"), "add", args{"amount": "18446744073709551615"}).Reverts(t, "the count overflows")
}

// both holds an example's modules by the two SDKs, which must behave alike.
func both(t *testing.T, name string, run func(t *testing.T, module string)) {
	for _, module := range []string{name, "as-" + name} {
		t.Run(module, func(t *testing.T) { run(t, module) })
	}
}

func TestEscrow(t *testing.T) {
	both(t, "escrow", func(t *testing.T, module string) {
		c := contracttest.New(t)
		buyer, seller, arbiter := c.Account("bob"), c.Account("seller"), c.Account("arbiter")
		k := deploy(c, t, module, nil)
		terms := args{"seller": seller, "arbiter": arbiter, "deadline": c.Time() + 3600}
		for deal := range 3 {
			r := k.Call(buyer, "open", terms, contracttest.Options{Value: 500}).Must(t)
			if string(r.Output) != fmt.Sprint(deal) {
				t.Errorf("open gives %s", r.Output)
			}
		}
		c.Fund(k.Account(), 7) // sent here outside any deal
		k.Call(seller, "release", args{"deal": 0}).Reverts(t, "only the buyer and the arbiter may release")
		had := c.Balance(seller.Account)
		k.Call(buyer, "release", args{"deal": 0}).Must(t)
		k.Call(arbiter, "refund", args{"deal": 0}).Reverts(t, "the deal is closed")
		if got := c.Balance(seller.Account) - had; got != 500 {
			t.Errorf("the seller got %d, want 500", got)
		}
		k.Call(arbiter, "refund", args{"deal": 1}).Must(t)
		k.Call(buyer, "refund", args{"deal": 2}).Reverts(t, "only the seller and the arbiter may refund before the deadline")
		c.Advance(time.Hour)
		k.Call(buyer, "refund", args{"deal": 2}).Must(t)
		shows(t, k, "held", args{"deal": 2}, "0")
		if left := c.Balance(k.Account()); left != 7 {
			t.Errorf("%d coins are left", left)
		}
		terms["arbiter"] = buyer
		k.Call(buyer, "open", terms, contracttest.Options{Value: 1}).Reverts(t, "the deadline is in the past")
		terms["deadline"] = c.Time() + 3600
		k.Call(buyer, "open", terms, contracttest.Options{Value: 1}).Reverts(t, "a deal is between three")
	})
}

func TestVesting(t *testing.T) {
	both(t, "vesting", func(t *testing.T, module string) {
		c := contracttest.New(t)
		boss, worker := c.Account("boss"), c.Account("worker")
		k := deploy(c, t, module, nil)
		now := c.Time()
		terms := args{"to": worker, "start": now, "cliff": now + 1_000, "end": now + 10_000, "revocable": true}
		k.Call(boss, "grant", terms, contracttest.Options{Value: 30_000}).Must(t)
		k.Call(worker, "release", args{"id": 0}).Reverts(t, "nothing to release")
		c.Advance(time.Duration(now+4_000-c.Time()) * time.Second)
		had := c.Balance(worker.Account)
		vested := 3 * (c.Time() - now)
		paid := k.Call(boss, "release", args{"id": 0}).Must(t)
		if got := uint64(c.Balance(worker.Account) - had); got < vested || got != uint64(30_000-c.Balance(k.Account())) {
			t.Errorf("the worker got %d, at least %d is vested, the call gave %s", got, vested, paid.Output)
		}
		k.Call(worker, "revoke", args{"id": 0}).Reverts(t, "only who granted it may")
		k.Call(boss, "revoke", args{"id": 0}).Must(t)
		k.Call(boss, "revoke", args{"id": 0}).Reverts(t, "all of it is vested")
		c.Advance(time.Hour * 24)
		k.Call(worker, "release", args{"id": 0})
		if left := c.Balance(k.Account()); left != 0 {
			t.Errorf("%d coins are left", left)
		}
	})
}

func TestNFTMeetsTheStandard(t *testing.T) {
	both(t, "nft", func(t *testing.T, module string) {
		c := contracttest.New(t)
		k := deploy(c, t, module, args{"symbol": "ART"})
		for i := range 3 {
			k.Call(c.Account("alice"), "mint", args{
				"to": c.Account("alice"), "tokenId": fmt.Sprintf("0x%02x", i), "properties": `{"name":"one"}`,
			}).Must(t)
		}
		report := k.CheckNFT(c.Account("alice"))
		for _, r := range report.Results {
			if r.Verdict != "pass" {
				t.Errorf("got %+v", r)
			}
		}
		if len(report.Results) < 18 {
			t.Errorf("%d rules were checked", len(report.Results))
		}
	})
}

func TestNFT(t *testing.T) {
	both(t, "nft", func(t *testing.T, module string) {
		c := contracttest.New(t)
		alice, bob, eve := c.Account("alice"), c.Account("bob"), c.Account("eve")
		k := deploy(c, t, module, args{"symbol": "ART"})
		for _, id := range []string{"0x01", "0x02", "0x03"} {
			k.Call(alice, "mint", args{"to": bob, "tokenId": id, "properties": `{"name":"ä"}`}).Must(t)
		}
		k.Call(alice, "mint", args{"to": bob, "tokenId": "0x01", "properties": ""}).Reverts(t, "there is such a token")
		shows(t, k, "properties", args{"tokenId": "0x01"}, `"{\"name\":\"ä\"}"`)
		k.Call(eve, "transfer", args{"to": eve, "tokenId": "0x01"}).Reverts(t, "not the owner's, nor approved")
		k.Call(bob, "approve", args{"to": eve, "tokenId": "0x01"}).Must(t)
		moved := k.Call(eve, "transfer", args{"to": eve, "tokenId": "0x01", "data": "0x"}).Must(t)
		want := fmt.Sprintf(`{"from":"%s","to":"%s","amount":1,"tokenId":"0x01"}`, bob.Account, eve.Account)
		if e := moved.Events[0]; string(moved.Output) != "true" || e.Name != "Transfer" || string(e.Data) != want ||
			len(e.Topics) != 3 {
			t.Errorf("transfer gives %s and %s %s, want %s", moved.Output, e.Name, e.Data, want)
		}
		k.Call(bob, "transfer", args{"to": eve, "tokenId": "0x01"}).Reverts(t, "not the owner's, nor approved")
		// A contract that exports no onNEP11Payment gets the token too.
		k.Call(bob, "transfer", args{"to": k.Account(), "tokenId": "0x02"}).Must(t)
		k.Call(eve, "burn", args{"tokenId": "0x01"}).Must(t)
		shows(t, k, "tokens", args{"start": 0, "count": 9}, `["0x03","0x02"]`)
		shows(t, k, "tokensOf", args{"owner": bob, "start": 0, "count": 9}, `["0x03"]`)
		shows(t, k, "totalSupply", nil, "2")
	})
}

func TestMultisig(t *testing.T) {
	both(t, "multisig", func(t *testing.T, module string) {
		c := contracttest.New(t)
		alice, bob, eve := c.Account("alice"), c.Account("bob"), c.Account("eve")
		k := deploy(c, t, module, args{"owners": []any{alice, bob}, "threshold": 2})
		gold := token(c, t, "Gold")
		gold.Call(alice, "transfer", args{"to": k.Account(), "amount": 50}).Must(t)
		give := fmt.Sprintf(`{"to":"%s","amount":50}`, eve.Account)
		k.Call(eve, "propose", args{"to": gold.Account(), "method": "transfer", "args": "0x", "value": 0}).Reverts(
			t, "only an owner may",
		)
		proposal := args{"to": gold.Account(), "method": "transfer", "args": fmt.Sprintf("0x%x", give), "value": 0}
		k.Call(alice, "propose", proposal).Must(t)
		k.Call(alice, "execute", args{"id": 0}).Reverts(t, "too few confirmations")
		k.Call(bob, "confirm", args{"id": 0}).Must(t)
		k.Call(alice, "execute", args{"id": 0}).Must(t)
		k.Call(alice, "execute", args{"id": 0}).Reverts(t, "executed already")
		shows(t, gold, "balanceOf", args{"address": eve}, "50")

		k.Call(eve, "deposit", nil, contracttest.Options{Value: 9}).Must(t)
		pay := args{"to": bob, "method": "", "args": "0x", "value": 9}
		k.Call(alice, "propose", pay).Must(t)
		owners := fmt.Sprintf(`{"owners":["%s"],"threshold":1}`, bob.Account)
		k.Call(bob, "propose", args{
			"to": k.Account(), "method": "setOwners", "args": fmt.Sprintf("0x%x", owners), "value": 0,
		}).Must(t)
		k.Call(alice, "confirm", args{"id": 2}).Must(t)
		k.Call(alice, "execute", args{"id": 2}).Must(t) // the wallet calls itself
		k.Call(bob, "execute", args{"id": 1}).Reverts(t, "the owners have changed since")
		k.Call(bob, "propose", pay).Must(t)
		had := c.Balance(k.Account())
		k.Call(bob, "execute", args{"id": 3}).Must(t)
		if left := c.Balance(k.Account()); had != 9 || left != 0 {
			t.Errorf("%d coins, then %d", had, left)
		}
	})
}

// codeHash returns a module's hash in the form of the router's init argument.
func codeHash(t *testing.T, name string) string {
	t.Helper()
	code, err := os.ReadFile("../wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return types.CodeHash(sha256.Sum256(code)).String()
}

// late is a deadline that never passes.
const late = "18446744073709551615"

func TestPoolAndRouterCallEachOther(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	tokens := []*contracttest.Contract{token(c, t, "A"), token(c, t, "B"), token(c, t, "C")}
	path := []types.Account{tokens[0].Account(), tokens[1].Account(), tokens[2].Account()}
	var pools []types.Account
	for i := range 2 {
		k := deploy(c, t, "pool", args{"tokenA": path[i], "tokenB": path[i+1]})
		for _, token := range tokens[i : i+2] {
			token.Call(alice, "approve", args{"spender": k.Account(), "amount": 100_000}).Must(t)
		}
		k.Call(alice, "add", args{"maxA": 50_000, "maxB": 100_000, "minShares": 69_710, "deadline": late}).Must(t)
		pools = append(pools, k.Account())
	}
	router := deploy(c, t, "router", args{"poolCode": codeHash(t, "pool")})
	tokens[0].Call(alice, "transfer", args{"to": bob, "amount": 1_000}).Must(t)
	tokens[0].Call(bob, "approve", args{"spender": router.Account(), "amount": 1_000}).Must(t)
	swap := func(pools []types.Account, minimum uint64) contracttest.Result {
		given := args{"pools": pools, "path": path[:len(pools)+1], "amount": 1_000, "minimum": minimum, "deadline": late}
		return router.Call(bob, "swap", given)
	}
	swap(pools, 1<<40).Reverts(t, "less than the minimum")
	swap([]types.Account{path[0]}, 0).Reverts(t, "not a pool")
	first := uint64(997 * 100_000 / (50_000 + 997))
	paid := first * 997 / 1000
	second := paid * 100_000 / (50_000 + paid)
	if r := swap(pools, second).Must(t); string(r.Output) != fmt.Sprint(second) {
		t.Errorf("swap gives %s, want %d", r.Output, second)
	}
	shows(t, tokens[2], "balanceOf", args{"address": bob}, fmt.Sprint(second))
	shows(t, tokens[1], "balanceOf", args{"address": router.Account()}, "0")
	router.Call(bob, "pay", args{"token": path[0], "amount": 1}).Reverts(t, "nothing is to be paid")
	t.Logf("\n%s", c.GasReport())
}

// TestPoolWithstandsInflation: the holder of the first shares cannot make shares so expensive that the next deposit
// rounds down to few.
func TestPoolWithstandsInflation(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	a, b := token(c, t, "A"), token(c, t, "B")
	pool := deploy(c, t, "pool", args{"tokenA": a.Account(), "tokenB": b.Account()})
	router := deploy(c, t, "router", args{"poolCode": codeHash(t, "pool")})
	for _, token := range []*contracttest.Contract{a, b} {
		token.Call(alice, "transfer", args{"to": bob, "amount": 100_000}).Must(t)
		for _, spender := range []types.Account{pool.Account(), router.Account()} {
			token.Call(alice, "approve", args{"spender": spender, "amount": 1_000_000}).Must(t)
			token.Call(bob, "approve", args{"spender": spender, "amount": 1_000_000}).Must(t)
		}
	}
	add := func(amount uint64) args {
		return args{"maxA": amount, "maxB": amount, "minShares": 0, "deadline": late}
	}
	pool.Call(alice, "add", add(2)).Reverts(t, "too little for a first deposit")
	pool.Call(alice, "add", add(1_001)).Must(t)
	path := []types.Account{a.Account(), b.Account()}
	swap := args{"pools": []types.Account{pool.Account()}, "path": path, "amount": 100_000, "minimum": 0, "deadline": late}
	router.Call(alice, "swap", swap).Must(t)
	var shares uint64
	pool.Call(bob, "add", add(50_000)).Must(t).Decode(t, &shares)
	pool.Call(bob, "remove", args{"shares": shares, "minA": 49_500, "minB": 0, "deadline": late}).Must(t)
	var left uint64
	if a.View("balanceOf", args{"address": bob}).Must(t).Decode(t, &left); left < 99_800 {
		t.Errorf("bob has %d of 100,000 left", left)
	}
}

// TestAmountsOfEventsAreNumbers: as NEP-20 requires, they are numbers even where results are strings.
func TestAmountsOfEventsAreNumbers(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	for _, module := range []string{"nep20", "as-nep20"} {
		k := deploy(c, t, module, args{
			"name": "Gold", "symbol": "GLD", "decimals": 18, "initialSupply": "18446744073709551615",
		})
		amount := args{"to": bob, "spender": bob, "amount": "9007199254740993"}
		for function, extra := range map[string]string{"transfer": "spender", "approve": "to"} {
			given := maps.Clone(amount)
			delete(given, extra)
			event := k.Call(alice, function, given).Must(t).Events[0]
			if !strings.HasSuffix(string(event.Data), `,"amount":9007199254740993}`) {
				t.Errorf("%s: %s emits %s", module, function, event.Data)
			}
		}
		shows(t, k, "balanceOf", args{"address": bob.Account}, `"9007199254740993"`)
	}
}

// TestRefusedArgumentsReadTheSame: both SDKs refuse arguments with the same text, so that a token's caller cannot tell
// its language.
func TestRefusedArgumentsReadTheSame(t *testing.T) {
	c := contracttest.New(t)
	bob := c.Account("bob")
	tokens := map[string]*contracttest.Contract{}
	for _, module := range []string{"nep20", "as-nep20"} {
		tokens[module] = deploy(c, t, module, args{"name": "Gold", "symbol": "GLD", "decimals": 2, "initialSupply": 1_000})
	}
	for text, want := range map[string]string{
		``:                                           "to: missing",
		`{}`:                                         "to: missing",
		`[]`:                                         "arguments: not a JSON object",
		`{"to":"BOB"}`:                               "amount: missing",
		`{"amount":1}`:                               "to: missing",
		`{"to":"BOB","amount":1,"to":"BOB"}`:         "to: given twice",
		`{"to":"BOB","amount":1,"memo":""}`:          "unknown argument memo",
		`{"memo":{},"to":"BOB","amount":1}`:          "unknown argument memo",
		`{"to":"0x12","amount":1}`:                   "to: not a valid account",
		`{"to":7,"amount":1}`:                        "to: not a valid account",
		`{"to":null,"amount":1}`:                     "to: not a valid account",
		`{"to":"BOB","amount":1.0}`:                  "amount: not a valid u64",
		`{"to":"BOB","amount":01}`:                   "amount: not a valid u64",
		`{"to":"BOB","amount":-1}`:                   "amount: not a valid u64",
		`{"to":"BOB","amount":true}`:                 "amount: not a valid u64",
		`{"to":"BOB","amount":[1]}`:                  "amount: not a valid u64",
		`{"to":"BOB","amount":{}}`:                   "amount: not a valid u64",
		`{"to":"BOB","amount":}`:                     "amount: malformed JSON",
		`{"to":"BOB","amount":"1 "}`:                 "amount: not a valid u64",
		`{"to":"BOB","amount":18446744073709551616}`: "amount: not a valid u64",
		`{"to":"BOB","amount":1} x`:                  "arguments: malformed JSON",
		`{"to":"BOB","amount":1,}`:                   "arguments: malformed JSON",
		`{"to":"BOB","amount":1`:                     "arguments: malformed JSON",
		`{"to":"BOB" "amount":1}`:                    "arguments: malformed JSON",
	} {
		given := strings.ReplaceAll(text, "BOB", bob.String())
		for module, token := range tokens {
			if got := token.View("transfer", json.RawMessage(given)); got.Reason != "reverted" || string(got.Output) != want {
				t.Errorf("%s refuses %s with %s: %q, want %q", module, text, got.Reason, got.Output, want)
			}
		}
	}
}
