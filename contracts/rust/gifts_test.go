package rust

import (
	"os"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// TestGiftsMakeNobodyPay checks that the properties of a token do not change the gas of a transfer. Nor do the properties
// of the owner's other token, which moves into the place of the transferred one.
func TestGiftsMakeNobodyPay(t *testing.T) {
	for _, module := range []string{"nft", "as-nft"} {
		gas := map[string]uint64{}
		for name, properties := range map[string]string{"light": "{}", "heavy": strings.Repeat("x", 16_000)} {
			c := contracttest.New(t)
			alice, bob, carol := c.Account("alice"), c.Account("bob"), c.Account("carol")
			k := deploy(c, t, module, args{"symbol": "ART"})
			k.Call(alice, "mint", args{"to": bob, "tokenId": "0x01", "properties": "{}"}).Must(t)
			k.Call(alice, "mint", args{"to": alice, "tokenId": "0x02", "properties": properties}).Must(t)
			give := k.Binary("transfer", args{"to": bob, "tokenId": "0x02", "data": nil})
			gas[name+" gift"] = uint64(k.Call(alice, "transfer", give).Must(t).GasUsed)
			move := k.Binary("transfer", args{"to": carol, "tokenId": "0x01", "data": nil})
			gas[name+" move"] = uint64(k.Call(bob, "transfer", move).Must(t).GasUsed)
		}
		for _, step := range []string{"gift", "move"} {
			if got, want := gas["heavy "+step], gas["light "+step]; got != want {
				t.Errorf("%s, %s: got %d gas with 16,000 bytes of properties, want %d as with 2", module, step, got, want)
			}
		}
	}
}

// TestInstancesAreCheap: another contract with the same code does not pay for compiling it, and has its own storage.
func TestInstancesAreCheap(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	init := args{"name": "T", "symbol": "T", "decimals": 0, "initialSupply": 1_000}
	code, err := os.ReadFile("../wasm/nep20.wasm")
	if err != nil {
		t.Fatal(err)
	}
	first, deployed := c.TryDeploy(alice, code, init)
	deployed.Must(t)
	second, again := first.TryInstantiate(bob, init)
	again.Must(t)
	if got := second.View("balanceOf", args{"address": bob}).Must(t).Output; string(got) != "1000" {
		t.Errorf("got %s units of the instance, want 1000", got)
	}
	if got := first.View("balanceOf", args{"address": bob}).Must(t).Output; string(got) != "0" {
		t.Errorf("got %s units of the first, want 0", got)
	}
	if got := again.GasUsed; got > 1_000_000 || got > deployed.GasUsed/20 {
		t.Errorf("got %d gas of an instance, want at most a twentieth of %d", got, deployed.GasUsed)
	}
}
