package proof_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/provenchain"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// FuzzVerify replaces a part of an honest bundle. Each accepted bundle is honest to the byte, and each other one gets
// ErrRefused. A verification takes no more memory than the bundle's length allows, whatever lengths the bundle claims.
//
// The fuzzer varies the replacement and not the bundle, or it would spend its time on shortening bundles of 200 KB.
func FuzzVerify(f *testing.F) {
	var honest [][]byte
	for i, b := range provenchain.Make(f, 100) {
		bundle := b.Bundle.Encode()
		if _, err := proof.Verify(bundle, 100); err != nil {
			f.Fatalf("%s: error %v", b.Name, err)
		}
		honest = append(honest, bundle)
		block, said, all := uint8(i), uint32(len(bundle)-len(b.Bundle.Proof)), uint32(len(bundle))
		f.Add(block, uint32(0), uint32(0), []byte{})
		f.Add(block, said, all, []byte{})
		f.Add(block, said+100, all, []byte{})
		// Lengths without the bytes: of the accesses, and in the proof.
		for _, at := range []uint32{2 * types.SignedHeaderBytes, said - 8, said + 1, said + 9} {
			f.Add(block, at, uint32(8), []byte{0xff, 0x7f, 0x3f, 0x1f, 0x0f, 0x07, 0x03, 0x01})
		}
	}
	f.Fuzz(func(t *testing.T, block uint8, at, removed uint32, put []byte) {
		original := honest[int(block)%len(honest)]
		low := min(int(at), len(original))
		high := min(low+int(removed), len(original))
		bundle := slices.Concat(original[:low], put, original[high:])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := proof.Verify(bundle, 100)
		runtime.ReadMemStats(&after)
		switch {
		case err == nil && !slices.ContainsFunc(honest, func(b []byte) bool { return bytes.Equal(b, bundle) }):
			t.Error("another bundle is accepted")
		case err != nil && !errors.Is(err, proof.ErrRefused):
			t.Error(err)
		}
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+64*len(bundle)); took > most {
			t.Errorf("%d bytes are allocated for a bundle of %d, at most %d are expected", took, len(bundle), most)
		}
	})
}
