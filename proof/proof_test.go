package proof_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/provenchain"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// FuzzVerify: what is accepted is an honest bundle to the byte, and what is refused is so with ErrRefused. A verification
// takes no more memory than the bundle's length allows, whatever lengths the bundle claims.
func FuzzVerify(f *testing.F) {
	var honest []string
	for _, b := range provenchain.Make(f, 100) {
		bundle := b.Bundle.Encode()
		if _, err := proof.Verify(bundle, 100); err != nil {
			f.Fatalf("%s: %v", b.Name, err)
		}
		honest = append(honest, string(bundle))
		said := len(bundle) - len(b.Bundle.Proof)
		f.Add(bundle)
		f.Add(bundle[:said])
		f.Add(slices.Concat(bundle[:said], bundle[said:][:min(100, len(b.Bundle.Proof))]))
		// Lengths that nothing stands behind: of the accesses, and in the proof.
		for _, at := range []int{2 * types.SignedHeaderBytes, said - 8, said + 1, said + 9} {
			changed := slices.Clone(bundle)
			for i := range min(8, len(changed)-at) {
				changed[at+i] = 0xff >> i
			}
			f.Add(changed)
		}
	}
	f.Fuzz(func(t *testing.T, bundle []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := proof.Verify(bundle, 100)
		runtime.ReadMemStats(&after)
		switch {
		case err == nil && !slices.Contains(honest, string(bundle)):
			t.Error("another bundle is accepted")
		case err != nil && !errors.Is(err, proof.ErrRefused):
			t.Error(err)
		}
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+64*len(bundle)); took > most {
			t.Errorf("%d bytes are allocated for a bundle of %d, at most %d are expected", took, len(bundle), most)
		}
	})
}
