package types_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func TestBlockHash(t *testing.T) {
	header := sampleHeader()
	if got, want := header.Hash(), tagged("cairn/block/v2", header.Encode()); got != want {
		t.Errorf("got %v, want %x", got, want)
	}
	if n := len(header.Encode()); n != types.HeaderBytes {
		t.Errorf("a header has %d bytes, want %d", n, types.HeaderBytes)
	}
}

// The producer signs the block hash; the seal is not part of it.
func TestSignedHeader(t *testing.T) {
	key := testKey(t, "producer")
	header := sampleHeader()
	header.Producer = key.PublicKey()
	hash := header.Hash()
	signature, err := key.Sign(hash[:], [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	signed := types.Block{Header: header, Seal: types.Seal{Signature: signature}}.Signed()
	if !signed.VerifySeal() {
		t.Error("a good signature does not verify")
	}
	if want := append(append(header.Encode(), 0, 0, 0, 0), signature[:]...); !bytes.Equal(signed.Encode(), want) ||
		len(want) != types.SignedHeaderBytes {
		t.Errorf("encodes to %x, want %x", signed.Encode(), want)
	}
	corruptions := map[string]func(*types.SignedHeader){
		"changed header":    func(h *types.SignedHeader) { h.Header.Timestamp++ },
		"changed signature": func(h *types.SignedHeader) { h.Seal.Signature[40] ^= 1 },
		"another producer":  func(h *types.SignedHeader) { h.Header.Producer = testKey(t, "another").PublicKey() },
		"no signature":      func(h *types.SignedHeader) { h.Seal = types.Seal{} },
	}
	for name, corrupt := range corruptions {
		bad := signed
		corrupt(&bad)
		if bad.VerifySeal() {
			t.Errorf("%s: verifies", name)
		}
		if got := types.VerifySeals([]types.SignedHeader{
			signed, bad, signed,
		}); !slices.Equal(got, []bool{true, false, true}) {
			t.Errorf("%s beside others: got %v", name, got)
		}
	}
}

// accesses_digest is the hash of bincode(Vec<Access>). writes are the accesses that changed a value.
func TestAccessDigests(t *testing.T) {
	read := types.Access{Key: []byte{2}, Old: []byte{7}, New: []byte{7}}
	absent := types.Access{Key: []byte{2, 0}, New: []byte{}}
	written := sampleAccesses()
	all := []types.Access{written[0], written[1], read, absent, written[2]}
	writes := types.Writes(all)
	if len(writes) != len(written) {
		t.Fatalf("%d writes, want %d", len(writes), len(written))
	}
	for i := range writes {
		if !writes[i].Changed() || !bytes.Equal(writes[i].Key, written[i].Key) {
			t.Errorf("write %d has key %x", i, writes[i].Key)
		}
	}
	if read.Changed() || absent.Changed() {
		t.Error("a read counts as a write")
	}
	if got, want := types.DigestAccesses(writes), sha256.Sum256(types.EncodeAccesses(written)); got != want {
		t.Errorf("digest %v of writes, want %x", got, want)
	}
	for n := range 40 { // longer than the pieces that are hashed
		all = append(all, types.Access{Key: []byte{3, byte(n)}, New: make([]byte, 400*n)})
	}
	if got, want := types.DigestAccesses(all), sha256.Sum256(types.EncodeAccesses(all)); got != want {
		t.Errorf("digest of a long list %v, want %x", got, want)
	}
	if got, want := types.DigestAccesses(nil), sha256.Sum256(make([]byte, 8)); got != want {
		t.Errorf("digest of no accesses %v, want %x", got, want)
	}
}
