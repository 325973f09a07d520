package tracing

import (
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// TestTraceBoundsWhatItReads: the ABI, which a contract chooses, may make a long text of each byte in storage.
func TestTraceBoundsWhatItReads(t *testing.T) {
	declared, err := abi.Parse([]byte(`{"types":[{"name":"Long","kind":"enum","variants":[{"name":"` +
		strings.Repeat("n", 128) + `"}]},{"name":"Many","kind":"record","fields":[{"name":"a","type":"Long[]"}]}],
		"storage":{"encoding":"bare","cells":[{"name":"many","kind":"cell","value":"Many"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	count := byte(255)
	value := append([]byte{count, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 4*int(count))...)
	w := api.TraceWrite{Key: []byte("many"), New: value}
	r := traceReader{known: map[types.ContractID]*abi.ABI{{}: &declared}, left: 1}
	read, err := r.call(t.Context(), api.TraceCall{Storage: []api.TraceWrite{w, w}})
	if err != nil || len(read.Storage) != 2 || read.Storage[0].Decoded == nil || read.Storage[1].Decoded != nil {
		t.Errorf("got %+v, error %v", read.Storage, err)
	}
}
