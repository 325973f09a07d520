package rust

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// beginnings are the examples that have an init, with the arguments with which anybody may deploy them. ACCOUNT is eve.
var beginnings = map[string]string{
	"coin":        `{"name":"Coin","symbol":"CN","supply":1000,"delay":60}`,
	"multisig":    `{"owners":["ACCOUNT"],"threshold":1}`,
	"nep20":       `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000000}`,
	"nft":         `{"symbol":"ART"}`,
	"pool":        `{"tokenA":"ACCOUNT","tokenB":"0x%064d"}`,
	"registry":    `{"delay":60}`,
	"router":      `{"poolCode":"ACCOUNT"}`,
	"savings":     `{"proxy":"ACCOUNT"}`,
	"wallet":      `{"owner":"ACCOUNT"}`,
	"as-coin":     `{"supply":1000,"delay":60}`,
	"as-multisig": `{"owners":["ACCOUNT"],"threshold":1}`,
	"as-nep20":    `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000000}`,
	"as-nft":      `{"symbol":"ART"}`,
	"as-registry": `{"delay":60}`,
	"as-savings":  `{"proxy":"ACCOUNT"}`,
	"as-wallet":   `{"owner":"ACCOUNT"}`,
}

// TestNobodyBeginsAgain: the deployer of an example is its owner. Nobody becomes the owner by calling init again,
// neither in a transaction nor from a contract.
func TestNobodyBeginsAgain(t *testing.T) {
	for name, text := range beginnings {
		t.Run(name, func(t *testing.T) {
			c := contracttest.New(t)
			eve := c.Account("eve")
			text := strings.ReplaceAll(text, "ACCOUNT", eve.String())
			if strings.Contains(text, "%") {
				text = fmt.Sprintf(text, 1)
			}
			k := deploy(c, t, name, json.RawMessage(text))
			if r := k.Call(eve, "init", json.RawMessage(text)); r.OK || r.Reason != "no_such_function" {
				t.Errorf("init gives %+v", r)
			}
			// A contract of the attacker, which makes any call.
			hers := deploy(c, t, "multisig", args{"owners": []any{eve}, "threshold": 1})
			hers.Call(eve, "propose", args{
				"to": k.Account(), "method": "init", "args": hexOf([]byte(text)), "value": 0,
			}).Must(t)
			hers.Call(eve, "execute", args{"id": 0}).Reverts(t, "no such function")
		})
	}
}

// TestProposalsOfTheGreatestLength: the event has the arguments in hex, and the call receives them as they were
// proposed.
func TestProposalsOfTheGreatestLength(t *testing.T) {
	both(t, "multisig", func(t *testing.T, module string) {
		c := contracttest.New(t)
		alice := c.Account("alice")
		k := deploy(c, t, module, args{"owners": []any{alice}, "threshold": 1})
		propose := func(length int) contracttest.Result {
			given := `{"amount":5}` + strings.Repeat(" ", length-12)
			to := deploy(c, t, "counter", nil)
			return k.Call(alice, "propose", args{
				"to": to.Account(), "method": "add", "args": hexOf([]byte(given)), "value": 0,
			})
		}
		propose(7 << 10).Must(t)
		propose(7<<10+1).Reverts(t, "too long")
		if r := k.Call(alice, "execute", args{"id": 0}).Must(t); len(r.Events) != 2 {
			t.Errorf("events %+v", r.Events)
		}
	})
}
