package submit

import (
	"encoding/json"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
)

// TestArgumentsText: arguments in the binary form are shown by an ABI that declares their function, or else in hex.
func TestArgumentsText(t *testing.T) {
	const want = `{"spender":"0x0505050505050505050505050505050505050505050505050505050505050505","amount":5}`
	var declared abi.ABI
	if err := json.Unmarshal([]byte(`{"functions":[{"name":"approve","mode":"write",
		"args":[{"name":"spender","type":"account"},{"name":"amount","type":"u64"}],"returns":"bool"}]}`), &declared); err != nil {
		t.Fatal(err)
	}
	approve, _ := declared.Function("approve")
	binary, err := declared.Binary(approve.Args, []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		abi  *abi.ABI
		want string
	}{{&declared, want}, {&abi.ABI{}, api.Data(binary).String()}, {nil, api.Data(binary).String()}} {
		if got := argumentsText(test.abi, "approve", binary); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}
