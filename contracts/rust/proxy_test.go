package rust

import (
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// hexOf is bytes in JSON.
func hexOf(parts ...[]byte) string {
	text := "0x"
	for _, part := range parts {
		text += hex.EncodeToString(part)
	}
	return text
}

// number is a u64 in the binary form.
func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// TestProxy replaces the logic behind a proxy by the other SDK's: both must behave and store alike.
func TestProxy(t *testing.T) {
	both(t, "proxy", func(t *testing.T, module string) {
		prefix := module[:len(module)-len("proxy")]
		c := contracttest.New(t)
		bob, eve := c.Account("bob"), c.Account("eve")
		registry := deploy(c, t, prefix+"registry", args{"delay": 60})
		proxy := deploy(c, t, module, args{"registry": registry.Account(), "name": "savings"})
		replace := func(logic *contracttest.Contract) {
			t.Helper()
			announced := args{"name": "savings", "contract": logic.Account()}
			registry.Call(eve, "announce", announced).Reverts(t, "only the owner may")
			registry.Call(c.Account("alice"), "announce", announced).Must(t)
			c.Advance(time.Minute)
			registry.Call(eve, "activate", args{"name": "savings"}).Must(t)
			id := logic.Account()
			shows(t, proxy, "logic", nil, `"`+hexOf(id[:])+`"`)
		}
		forward := func(method, with string) args { return args{"method": method, "args": with} }
		saves := func(want uint64) {
			t.Helper()
			key := bob.Account
			shows(t, proxy, "view", forward("savings", hexOf(key[:])), `"`+hexOf([]byte{1}, number(want))+`"`)
		}
		first := deploy(c, t, "savings", args{"proxy": proxy.Account()})
		replace(first)
		proxy.Call(bob, "forward", forward("deposit", "0x"), contracttest.Options{Value: 70}).Must(t)
		saves(70)
		registry.Call(c.Account("alice"), "announce", args{"name": "savings", "contract": eve}).
			Reverts(t, "there is no such contract")
		replace(deploy(c, t, "as-savings", args{"proxy": proxy.Account()}))
		saves(70)
		first.Call(eve, "withdraw", args{"by": bob, "coins": 0, "amount": 70}).Reverts(t, "only by the proxy")
		proxy.Call(eve, "forward", forward("withdraw", hexOf(number(70)))).Reverts(t, "less is saved")
		proxy.Call(eve, "send", args{"to": eve, "amount": 70}).Reverts(t, "only the logic may, and only in a call")
		r := proxy.Call(bob, "forward", forward("withdraw", hexOf(number(30)))).Must(t)
		if string(r.Output) != `"`+hexOf([]byte{1}, number(40))+`"` {
			t.Errorf("withdraw gives %s", r.Output)
		}
		if left := c.Balance(proxy.Account()); left != 40 {
			t.Errorf("the proxy has %d, want 40", left)
		}
		saves(40)
		t.Logf("\n%s", c.GasReport())
	})
}
