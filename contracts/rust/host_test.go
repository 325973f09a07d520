package rust

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/crypto/foreign"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// hostVectors is what both chains of native tests read: lines of a host function, its arguments and its result. Data of
// hashes is told by its length, as its byte i is i modulo 251.
const hostVectors = "../testdata/host.txt"

// TestHostVectors has the node's own code say what the functions give that both chains of native tests have to make
// again. UPDATE=1 writes the file.
func TestHostVectors(t *testing.T) {
	var b bytes.Buffer
	for _, n := range []int{0, 1, 3, 55, 64, 135, 136, 137, 272, 1023, 1024, 1025, 2048, 2049, 3073, 8193} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i % 251)
		}
		fmt.Fprintf(&b, "sha256 %d %x\n", n, sha256.Sum256(data))
		fmt.Fprintf(&b, "keccak256 %d %x\n", n, foreign.Keccak256(data))
		fmt.Fprintf(&b, "blake3 %d %x\n", n, foreign.Blake3(data))
	}
	schnorrLines(t, &b)
	recoverLines(&b)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(hostVectors, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(hostVectors)
	if err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not what the node computes (%v): UPDATE=1 writes it", hostVectors, err)
	}
}

func numbered(what string, i int) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64([]byte(what), uint64(i)))
}

func schnorrLines(t *testing.T, b *bytes.Buffer) {
	line := func(key [32]byte, message []byte, sig [64]byte) {
		ok := 0
		if bip340.Verify(key, message, sig) {
			ok = 1
		}
		fmt.Fprintf(b, "schnorr_verify %x %x %x %d\n", key, message, sig, ok)
	}
	top := [32]byte(bytes.Repeat([]byte{0xff}, 32))
	for i := range 4 {
		secret, err := crypto.NewPrivateKey(numbered("key", i))
		if err != nil {
			t.Fatal(err)
		}
		message := numbered("message", i)
		sig, err := secret.Sign(message[:], [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		key := [32]byte(secret.PublicKey())
		line(key, message[:], sig)
		line(key, message[1:], sig)
		for _, at := range []int{0, 40} {
			bad := sig
			bad[at] ^= 1
			line(key, message[:], bad)
		}
		for _, half := range []int{0, 32} { // r over p, s over n
			bad := sig
			copy(bad[half:], top[:])
			line(key, message[:], bad)
		}
		line(numbered("no point, maybe", i), message[:], sig)
		line(top, message[:], sig)
	}
}

func recoverLines(b *bytes.Buffer) {
	line := func(hash [32]byte, sig [65]byte) {
		key, ok := foreign.RecoverECDSA(hash, sig)
		result := "-"
		if ok {
			result = hex.EncodeToString(key[:])
		}
		fmt.Fprintf(b, "ecdsa_recover %x %x %s\n", hash, sig, result)
	}
	for i := range 8 {
		var sig [65]byte
		r, s := numbered("r", i), numbered("s", i)
		copy(sig[:], r[:])
		copy(sig[32:], s[:])
		sig[32] &= 0x7f
		for v := range byte(3) {
			sig[64] = v
			line(numbered("hash", i), sig)
		}
		high := sig
		high[32], high[64] = 0xff, 0
		line(numbered("hash", i), high)
		none := sig
		clear(none[:32])
		none[64] = 0
		line(numbered("hash", i), none)
	}
	line([32]byte(bytes.Repeat([]byte{0xff}, 32)), [65]byte(append(bytes.Repeat([]byte{0x55}, 64), 1)))
}

// TestNativeChainsHaveEveryHostFunction: what a contract may import, both chains of native tests have, and those that
// compute have vectors.
func TestNativeChainsHaveEveryHostFunction(t *testing.T) {
	vectors, err := os.ReadFile(hostVectors)
	if err != nil {
		t.Fatal(err)
	}
	computing := []vm.Function{vm.SHA256, vm.Keccak256, vm.Blake3, vm.SchnorrVerify, vm.ECDSARecover}
	for file, form := range map[string]string{
		"cairn/src/testing/sys.rs": "pub unsafe fn %s(", "../assemblyscript/sdk/testing/frame.mjs": "      %s: (",
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for f, row := range vm.Functions {
			name := row.Name
			if name == "self" && strings.HasSuffix(file, ".rs") {
				name = "this" // self is a word of Rust
			}
			if !bytes.Contains(source, fmt.Appendf(nil, form, name)) {
				t.Errorf("got no %s in %s, want each host function", name, file)
			}
			if slices.Contains(computing, vm.Function(f)) && !bytes.Contains(vectors, []byte(row.Name+" ")) {
				t.Errorf("got no vector of %s, want some", row.Name)
			}
		}
	}
}
