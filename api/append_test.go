package api

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// What appends itself is what encoding/json gives.
func TestAppendedJSON(t *testing.T) {
	for _, v := range []jsonrpc.Appender{
		Quantity(0), Quantity(1), Quantity(0xabcdef), Quantity(math.MaxUint64), Data(nil), Data{}, Data{0},
		Data{0xab, 0xcd, 0xef},
		&BlockItem{}, &BlockItem{Raw: Data{1, 2}}, &BlockItem{Block: &Block{Height: 3}, Raw: Data{}},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(v.AppendJSON([]byte("x"))); got != "x"+string(want) {
			t.Errorf("%#v: got %s, want %s", v, got, want)
		}
	}
}
