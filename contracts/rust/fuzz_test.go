package rust

import (
	"fmt"
	"math/big"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/kit/contracttest/fuzz"
	"github.com/cairn-chain/cairn/types"
)

// searched searches an example in both languages. It begins with the sequences in testdata/fuzz, which a longer search
// found.
func searched(t *testing.T, name string, setup func(w *fuzz.World, module string)) {
	t.Helper()
	both(t, name, func(t *testing.T, module string) {
		fuzz.Run(t, fuzz.Config{Calls: 4_000}, func(w *fuzz.World) { setup(w, module) })
	})
}

func put(w *fuzz.World, from contracttest.Account, module, name string, given any) *contracttest.Contract {
	w.T.Helper()
	code, err := os.ReadFile("../wasm/" + module + ".wasm")
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Deploy(from, name, code, given)
}

// TestSearchEscrow: after any calls, the contract has the coins of its open deals.
func TestSearchEscrow(t *testing.T) {
	searched(t, "escrow", func(w *fuzz.World, module string) {
		alice, bob, carol := w.Actor("alice"), w.Actor("bob"), w.Actor("carol")
		k := put(w, alice, module, "escrow", nil)
		terms := args{"seller": bob, "arbiter": carol, "deadline": w.Chain.Time() + 86_400}
		k.Call(alice, "open", terms, contracttest.Options{Value: 1_000}).Must(w.T)
		w.Target(k)
		w.Adversary("mallory", abi.ABI{})
		w.Invariant("the escrow has what its deals hold", func(v *fuzz.View) error {
			var owed uint64
			for deal := 0; ; deal++ {
				r := v.View(k, "held", args{"deal": deal})
				if !r.OK {
					break
				}
				var held abi.Uint64
				if err := held.UnmarshalJSON(r.Output); err != nil {
					return err
				}
				owed += uint64(held)
			}
			if has := uint64(v.Balance(k.Account())); has < owed || owed == 0 && has > 0 {
				return fmt.Errorf("it has %d, and its deals hold %d", has, owed)
			}
			return nil
		})
	})
}

// TestSearchNFT: no token is lost or duplicated, whatever the receivers do.
func TestSearchNFT(t *testing.T) {
	searched(t, "nft", func(w *fuzz.World, module string) {
		alice, bob := w.Actor("alice"), w.Actor("bob")
		k := put(w, alice, module, "nft", args{"symbol": "ART"})
		for i, to := range []contracttest.Account{alice, alice, bob} {
			k.Call(alice, "mint", args{"to": to, "tokenId": fmt.Sprintf("0x%02x", i), "properties": ""}).Must(w.T)
		}
		w.Target(k)
		mallory := w.Adversary("mallory", abi.ABI{Functions: []abi.Function{{Name: "onNEP11Payment", Mode: abi.Write}}})
		w.Invariant("every token is in one list of its owner's", func(v *fuzz.View) error {
			var counted uint64
			for _, owner := range []types.Account{alice.Account, bob.Account, mallory, k.Account()} {
				var own []string
				v.Read(k, "tokensOf", args{"owner": owner, "start": 0, "count": 100}, &own)
				if balance := v.Uint(k, "balanceOf", args{"owner": owner}); balance != uint64(len(own)) {
					return fmt.Errorf("%s has %d tokens, and the list has %d", owner, balance, len(own))
				}
				for _, id := range own {
					var says types.Account
					if v.Read(k, "ownerOf", args{"tokenId": id}, &says); says != owner {
						return fmt.Errorf("%s lists %s, which is %s's", owner, id, says)
					}
				}
				counted += uint64(len(own))
			}
			if supply := v.Uint(k, "totalSupply", nil); counted != supply {
				return fmt.Errorf("they have %d tokens of %d", counted, supply)
			}
			return nil
		})
	})
}

// TestSearchPool: the pool keeps its reserves, and no sequence of calls makes a share worth less.
func TestSearchPool(t *testing.T) {
	fuzz.Run(t, fuzz.Config{Calls: 4_000}, func(w *fuzz.World) {
		eve, bob := w.Actor("eve"), w.Chain.Account("bob")
		given := func(name string) args {
			return args{"name": name, "symbol": name, "decimals": 0, "initialSupply": 2_000_000}
		}
		a, b := put(w, eve, "nep20", "A", given("A")), put(w, eve, "nep20", "B", given("B"))
		pool := put(w, eve, "pool", "pool", args{"tokenA": a.Account(), "tokenB": b.Account()})
		code, err := os.ReadFile("../wasm/pool.wasm")
		if err != nil {
			w.T.Fatal(err)
		}
		router := put(w, eve, "router", "router", args{"poolCode": w.Chain.AddCode(code).String()})
		for _, token := range []*contracttest.Contract{a, b} {
			token.Call(eve, "transfer", args{"to": bob, "amount": 500_000}).Must(w.T)
			for _, spender := range []types.Account{pool.Account(), router.Account()} {
				token.Call(eve, "approve", args{"spender": spender, "amount": 1_000_000}).Must(w.T)
				token.Call(bob, "approve", args{"spender": spender, "amount": 500_000}).Must(w.T)
			}
		}
		add := args{"maxA": 100_000, "maxB": 200_000, "minShares": 1, "deadline": uint64(1) << 40}
		pool.Call(bob, "add", add).Must(w.T)
		w.Target(pool, "add", "remove", "swap")
		w.Target(router, "swap")
		for _, function := range []string{"add", "remove"} {
			w.Choose(pool, function, "deadline", uint64(1)<<40)
		}
		w.Choose(pool, "remove", "minA", 0)
		w.Choose(pool, "remove", "minB", 0)
		w.Choose(router, "swap", "deadline", uint64(1)<<40)
		w.Choose(router, "swap", "minimum", 0, 1_000)
		w.Choose(router, "swap", "pools", []string{"pool"}, []string{"pool", "pool"})
		w.Choose(router, "swap", "path", []string{"A", "B"}, []string{"B", "A"}, []string{"A", "B", "A"})
		w.Target(a, "transfer")
		books := func(v *fuzz.View) (reserves [2]abi.Uint64, shares uint64) {
			v.Read(pool, "reserves", nil, &reserves)
			return reserves, v.Uint(pool, "totalShares", nil)
		}
		w.Invariant("the pool has its reserves", func(v *fuzz.View) error {
			reserves, _ := books(v)
			for i, token := range []*contracttest.Contract{a, b} {
				if has := v.Uint(token, "balanceOf", args{"address": pool.Account()}); has < uint64(reserves[i]) {
					return fmt.Errorf("it has %d of a reserve of %d", has, reserves[i])
				}
			}
			return nil
		})
		var began [2]abi.Uint64
		pool.View("reserves", nil).Decode(w.T, &began)
		var first abi.Uint64
		pool.View("totalShares", nil).Decode(w.T, &first)
		w.Invariant("a share is worth no less", func(v *fuzz.View) error {
			reserves, shares := books(v)
			now := product(uint64(reserves[0]), uint64(reserves[1]), uint64(first), uint64(first))
			if now.Cmp(product(uint64(began[0]), uint64(began[1]), shares, shares)) < 0 {
				return fmt.Errorf("%d shares are of %d and %d", shares, reserves[0], reserves[1])
			}
			return nil
		})
	})
}

func product(factors ...uint64) *big.Int {
	p := big.NewInt(1)
	for _, f := range factors {
		p.Mul(p, new(big.Int).SetUint64(f))
	}
	return p
}
