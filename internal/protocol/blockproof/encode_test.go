package blockproof

import (
	"runtime"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// TestEncodingTakesItsLength: files of up to 125 MB are encoded with a single allocation.
func TestEncodingTakesItsLength(t *testing.T) {
	list := make([]types.Access, 10_000)
	for i := range list {
		list[i] = types.Access{Key: make([]byte, 33), Old: make([]byte, i%20), New: make([]byte, 16)}
	}
	r := Range{Headers: make([]types.SignedHeader, 3), Accesses: list, Proof: make([]byte, 100)}
	b := Bundle{Accesses: list, Proof: make([]byte, 100)}
	for name, encode := range map[string]func() []byte{"range": r.Encode, "bundle": b.Encode} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		encoded := encode()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(encoded))*5/4 {
			t.Errorf("%s: %d bytes take %d of memory", name, len(encoded), took)
		}
	}
}
