package bech32m_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto/bech32m"
)

const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// One or two errors anywhere after the prefix are located; for three, the result is empty or wrong.
func TestLocate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var program [32]byte
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		right := bech32m.EncodeAddress("bcrt", program)
		if at := bech32m.Locate(right); at != nil {
			t.Fatalf("%s is right, wrong at %v", right, at)
		}
		text := []byte(right)
		var want []int
		for range 1 + random.IntN(2) {
			i := len("bcrt1") + random.IntN(len(right)-len("bcrt1"))
			if slices.Contains(want, i) {
				continue
			}
			group := strings.IndexByte(charset, text[i])
			text[i] = charset[(group+1+random.IntN(31))%32]
			want = append(want, i)
		}
		slices.Sort(want)
		if got := bech32m.Locate(string(text)); !slices.Equal(got, want) {
			t.Fatalf("%s for %s: wrong at %v, want %v", text, right, got, want)
		}
		if got := bech32m.Locate(strings.ToUpper(string(text))); !slices.Equal(got, want) {
			t.Fatalf("%s in upper case: wrong at %v, want %v", text, got, want)
		}
	}
}

func TestLocateWhatIsNoAddress(t *testing.T) {
	right := bech32m.EncodeAddress("bc", [32]byte{1})
	for text, want := range map[string][]int{
		"":                            nil,
		"hello":                       nil,
		"bc1":                         nil,
		right[:10] + "b" + right[11:]: {10},
		"B" + right[1:]:               nil,
		right[:3] + "io" + right[5:]:  {3, 4},
	} {
		if got := bech32m.Locate(text); !slices.Equal(got, want) {
			t.Errorf("%q: wrong at %v, want %v", text, got, want)
		}
	}
}

func FuzzLocate(f *testing.F) {
	f.Add(bech32m.EncodeAddress("bcrt", [32]byte{7}))
	f.Add("bc1p")
	f.Fuzz(func(t *testing.T, text string) {
		for _, at := range bech32m.Locate(text) {
			if at >= len(text) {
				t.Errorf("%q: wrong at %d", text, at)
			}
		}
	})
}
