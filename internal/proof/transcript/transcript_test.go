package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

func serial(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// TestDefinition computes the definition in the package's comment with nothing but SHA-256.
func TestDefinition(t *testing.T) {
	state := sha256.Sum256([]byte("domain"))
	hash := func(tag byte, more ...byte) [32]byte {
		return sha256.Sum256(append(append(state[:32:32], tag, 0, 0, 0), more...))
	}
	tr := New("domain")
	tr.Absorb([]byte("message"))
	state = hash(1, append([]byte{7, 0, 0, 0, 0, 0, 0, 0}, "message"...)...)

	got := field.Coordinates(new(tr.Ext()))
	for i := range got {
		if i == 0 || i == 4 {
			b := hash(2)
			state = hash(3)
			for j := i; j < min(i+4, len(got)); j++ {
				word := new(big.Int).SetUint64(binary.LittleEndian.Uint64(b[8*(j-i):]))
				want := word.Mod(word, big.NewInt(field.P))
				if got[j].BigInt(new(big.Int)).Cmp(want) != 0 {
					t.Errorf("coordinate %d is %v, want %v", j, &got[j], want)
				}
			}
		}
	}
	b := hash(2)
	state = hash(3)
	if got, want := tr.Index(17), int(binary.LittleEndian.Uint32(b[:])&0x1ffff); got != want {
		t.Errorf("index %d, want %d", got, want)
	}
	if tr.state != state {
		t.Errorf("state %x, want %x", tr.state, state)
	}
}

func TestMessagesAreSetApart(t *testing.T) {
	states := map[[32]byte]string{}
	for name, messages := range map[string][]string{
		"none":      {},
		"empty":     {""},
		"two empty": {"", ""},
		"one":       {"ab"},
		"two":       {"a", "b"},
		"turned":    {"b", "a"},
		"zero":      {"ab\x00"},
	} {
		tr := New("domain")
		for _, m := range messages {
			tr.Absorb([]byte(m))
		}
		if other, ok := states[tr.state]; ok {
			t.Errorf("%s and %s have the same state", name, other)
		}
		states[tr.state] = name
	}
}

func TestSeal(t *testing.T) {
	for bits := range 15 {
		a := New("domain")
		b := *a
		nonce := a.Seal(bits, serial)
		for n := range nonce {
			if b.Sealed(n, bits) {
				t.Fatalf("%d bits: %d is good and below %d", bits, n, nonce)
			}
		}
		if !b.Sealed(nonce, bits) || a.state != b.state {
			t.Errorf("%d bits: %d is not accepted, or leaves another state", bits, nonce)
		}
		if b == *New("domain") {
			t.Errorf("%d bits: the nonce is not taken in", bits)
		}
	}
}
