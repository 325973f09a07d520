package sha

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// TestHash compares messages of every number of words with a different padding, and some numbers of messages that do
// not fill the lanes, with the standard library.
func TestHash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for length := range 70 {
		for _, count := range []int{1, 15, 16, 17, 48, 50} {
			words := make([]uint32, length*count)
			for i := range words {
				words[i] = r.Uint32()
			}
			got := make([][sha256.Size]byte, count)
			Hash(got, words)
			for i := range got {
				var message []byte
				for k := range length {
					message = binary.LittleEndian.AppendUint32(message, words[k*count+i])
				}
				if want := sha256.Sum256(message); got[i] != want {
					t.Fatalf("message %d of %d, %d words: %x, want %x", i, count, length, got[i], want)
				}
			}
		}
	}
}

func BenchmarkHash(b *testing.B) {
	const count = 256
	for _, length := range []int{11, 17, 49, 209} {
		words, dst := make([]uint32, length*count), make([][sha256.Size]byte, count)
		b.Run(fmt.Sprintf("%d words", length), func(b *testing.B) {
			b.SetBytes(4 * int64(len(words)))
			for b.Loop() {
				Hash(dst, words)
			}
		})
		b.Run(fmt.Sprintf("%d words, one by one", length), func(b *testing.B) {
			b.SetBytes(4 * int64(len(words)))
			message := make([]byte, 4*length)
			for b.Loop() {
				for i := range dst {
					dst[i] = sha256.Sum256(message)
				}
			}
		})
	}
}

// BenchmarkSearch tries as many numbers as a proof's 20 bits of work take on average.
func BenchmarkSearch(b *testing.B) {
	prefix := [SearchPrefix]byte{}
	for b.Loop() {
		Search(&prefix, 0, 1<<20, 32)
	}
}

func TestHashPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, count := range []int{0, 1, 15, 16, 17, 40} {
		digests := make([][sha256.Size]byte, 2*count)
		for i := range digests {
			for k := range digests[i] {
				digests[i][k] = byte(r.Uint32())
			}
		}
		got := make([][sha256.Size]byte, count)
		HashPairs(got, 0x01020304, digests)
		for i := range got {
			message := append([]byte{4, 3, 2, 1}, digests[2*i][:]...)
			if want := sha256.Sum256(append(message, digests[2*i+1][:]...)); got[i] != want {
				t.Errorf("pair %d of %d: %x, want %x", i, count, got[i], want)
			}
		}
	}
}

// TestSearch compares Search with hashing one number after the other, also where the low word overflows.
func TestSearch(t *testing.T) {
	prefix := [SearchPrefix]byte{0: 1, 17: 2, SearchPrefix - 1: 3}
	for _, c := range []struct {
		first       uint64
		count, bits int
	}{
		{0, 16, 0}, {0, 16, 20}, {0, 1 << 10, 4}, {0, 1 << 10, 8}, {1 << 20, 1 << 13, 9}, {1<<20 + 16, 1 << 13, 10},
		{1<<32 - 48, 96, 5}, {1<<32 - 32, 1 << 10, 32}, {1 << 40, 1 << 12, 11},
	} {
		want, is := uint64(0), false
		for n := c.first; n < c.first+uint64(c.count) && !is; n++ {
			sum := sha256.Sum256(binary.LittleEndian.AppendUint64(prefix[:], n))
			if is = binary.LittleEndian.Uint64(sum[:])&(1<<c.bits-1) == 0; is {
				want = n
			}
		}
		if got, found := Search(&prefix, c.first, c.count, c.bits); got != want || found != is {
			t.Errorf("%d bits from %d on: %d, %t, want %d, %t", c.bits, c.first, got, found, want, is)
		}
	}
}

// TestHashRows compares rows of every number of columns with a different padding, at offsets around the kernel's, with
// the standard library.
func TestHashRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for count := range 51 {
		columns := make([]field.Vector, count)
		for k := range columns {
			columns[k] = make(field.Vector, 80)
			for i := range columns[k] {
				columns[k][i] = field.New(r.Uint64())
			}
			columns[k][19], columns[k][20] = field.New(field.P-1), field.New(0)
		}
		for _, n := range []int{1, 16, 33, 60} {
			got := make([][sha256.Size]byte, n)
			HashRows(got, 0x01020304, columns, 17)
			for i := range got {
				message := []byte{4, 3, 2, 1}
				for _, column := range columns {
					message = field.Append(message, &column[17+i])
				}
				if want := sha256.Sum256(message); got[i] != want {
					t.Fatalf("row %d of %d, %d columns: %x, want %x", i, n, count, got[i], want)
				}
			}
		}
	}
}
