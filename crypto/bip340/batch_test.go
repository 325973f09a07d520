package bip340

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/bip"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
	"pgregory.net/rapid"
)

// signedMessages returns n valid items with different keys.
func signedMessages(t testing.TB, n int) []SignedMessage {
	t.Helper()
	items := make([]SignedMessage, n)
	for i := range items {
		number := binary.LittleEndian.AppendUint64(nil, uint64(i))
		items[i] = signWithBtcec(t, TaggedHash("key", number), TaggedHash("message", number))
	}
	return items
}

// verifySingly returns the results that VerifyBatch must return.
func verifySingly(items []SignedMessage) []bool {
	valid := make([]bool, len(items))
	for i, item := range items {
		valid[i] = verifyScalar(item.PublicKey, item.Message[:], item.Signature)
	}
	return valid
}

// addToS adds delta to the scalar s of a signature.
func addToS(t testing.TB, item *SignedMessage, delta int64) {
	t.Helper()
	var s, d fr.Element
	if err := s.SetBytesCanonical(item.Signature[32:]); err != nil {
		t.Fatal(err)
	}
	sum := s.Add(&s, d.SetInt64(delta)).Bytes()
	copy(item.Signature[32:], sum[:])
}

// corruption is a way to make one item of a batch invalid.
type corruption struct {
	name  string
	apply func(t testing.TB, item *SignedMessage, random uint64)
}

// corruptions are the ways in which an item can fail, during decoding and afterwards.
func corruptions(t testing.TB) []corruption {
	order := bip.Unhex32(t, groupOrder)
	noPoint := notOnCurve(t)
	ones := bip.Unhex32(t, "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff")
	other := signWithBtcec(t, TaggedHash("another key"), [32]byte{})
	return []corruption{
		{"bit of the key", func(_ testing.TB, m *SignedMessage, r uint64) { m.PublicKey[r/8%32] ^= 1 << (r % 8) }},
		{"bit of the message", func(_ testing.TB, m *SignedMessage, r uint64) { m.Message[r/8%32] ^= 1 << (r % 8) }},
		{"bit of the signature", func(_ testing.TB, m *SignedMessage, r uint64) { m.Signature[r/8%64] ^= 1 << (r % 8) }},
		{"key of another", func(_ testing.TB, m *SignedMessage, _ uint64) { m.PublicKey = other.PublicKey }},
		{"key not on the curve", func(_ testing.TB, m *SignedMessage, _ uint64) { m.PublicKey = noPoint }},
		{"key beyond the field", func(_ testing.TB, m *SignedMessage, _ uint64) { m.PublicKey = ones }},
		{"R not on the curve", func(_ testing.TB, m *SignedMessage, _ uint64) { copy(m.Signature[:32], noPoint[:]) }},
		{"R beyond the field", func(_ testing.TB, m *SignedMessage, _ uint64) { copy(m.Signature[:32], ones[:]) }},
		{"s is the order", func(_ testing.TB, m *SignedMessage, _ uint64) { copy(m.Signature[32:], order[:]) }},
		{"s beyond the order", func(_ testing.TB, m *SignedMessage, _ uint64) { copy(m.Signature[32:], ones[:]) }},
		{"s is zero", func(_ testing.TB, m *SignedMessage, _ uint64) { clear(m.Signature[32:]) }},
		{"s + 1", func(t testing.TB, m *SignedMessage, _ uint64) { addToS(t, m, 1) }},
		{"s - 1", func(t testing.TB, m *SignedMessage, _ uint64) { addToS(t, m, -1) }},
		{"all zero", func(_ testing.TB, m *SignedMessage, _ uint64) { *m = SignedMessage{} }},
	}
}

func TestVerifyBatchFindsEachCorruption(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyBatchFindsEachCorruption)
}

func testVerifyBatchFindsEachCorruption(t *testing.T) {
	good := signedMessages(t, 2*minBatch)
	for _, c := range corruptions(t) {
		for _, at := range []int{0, 5, len(good) - 1} {
			items := slices.Clone(good)
			c.apply(t, &items[at], 77)
			for i, valid := range VerifyBatch(items) {
				if valid != (i != at) {
					t.Errorf("%s at %d: item %d is %v, want %v", c.name, at, i, valid, (i != at))
				}
			}
		}
	}
}

func TestVerifyBatchSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyBatchSizes)
}

func testVerifyBatchSizes(t *testing.T) {
	all := signedMessages(t, maxBatch+2)
	for _, n := range []int{
		0, 1, 2, 3, minBatch - 1, minBatch, minBisect - 1, minBisect, 64, 65, 66, 511, 512, maxBatch, maxBatch + 1,
		maxBatch + 2,
	} {
		valid := VerifyBatch(all[:n])
		if len(valid) != n {
			t.Fatalf("%d items give %d answers", n, len(valid))
		}
		if i := slices.Index(valid, false); i >= 0 {
			t.Errorf("of %d valid items, %d is said to be bad", n, i)
		}
		if n == 0 {
			continue
		}
		// One bad item at each end and in the middle, and two at once.
		for _, bad := range [][]int{{0}, {n / 2}, {n - 1}, {0, n - 1}} {
			items := slices.Clone(all[:n])
			for _, i := range bad {
				items[i].Message = [32]byte{}
			}
			for i, valid := range VerifyBatch(items) {
				if valid != !slices.Contains(bad, i) {
					t.Errorf("%d items, bad %v: item %d is %v", n, bad, i, valid)
				}
			}
		}
	}
}

func TestVerifyBatchVectors(t *testing.T) { withVerifiers(t, testVerifyBatchVectors) }

func testVerifyBatchVectors(t *testing.T) {
	var items []SignedMessage
	var want []bool
	for _, v := range bip.Signatures(t) {
		if len(v.Message) == 32 {
			items = append(items, SignedMessage{v.Public, [32]byte(v.Message), v.Signature})
			want = append(want, v.Valid)
		}
	}
	if len(items) != 15 {
		t.Fatalf("%d vectors, not 15", len(items))
	}
	if got := VerifyBatch(items); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Each corruption among valid items.
	good := signedMessages(t, minBisect)
	for i, item := range items {
		batch := append(slices.Clone(good), item)
		if got := VerifyBatch(batch); got[minBisect] != want[i] || slices.Contains(got[:minBisect], false) {
			t.Errorf("vector %d among valid ones: got %v", i, got[minBisect])
		}
	}
}

// TestVerifyBatchErrorsDoNotCancel uses pairs of bad signatures with opposite defects, which would pass together if all
// coefficients were equal.
func TestVerifyBatchErrorsDoNotCancel(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyBatchErrorsDoNotCancel)
}

func testVerifyBatchErrorsDoNotCancel(t *testing.T) {
	good := signedMessages(t, 2*minBisect)
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, minBisect}, {1, 2*minBisect - 1}} {
		items := slices.Clone(good)
		addToS(t, &items[pair[0]], 5)
		addToS(t, &items[pair[1]], -5)

		equal := newBatch(items)
		for i := range equal.signatures {
			d := &equal.signatures[i]
			d.coefficient.SetOne()
			equal.scalars[2*i].SetOne()
			equal.scalars[2*i+1] = d.e
		}
		if sum := equal.sum(0, len(items)); !sum.Z.IsZero() {
			t.Fatalf("pair %v: the test's errors do not cancel", pair)
		}
		for i, valid := range VerifyBatch(items) {
			if valid != (i != pair[0] && i != pair[1]) {
				t.Errorf("pair %v: item %d is %v, want %v", pair, i, valid, (i != pair[0] && i != pair[1]))
			}
		}
	}
}

// TestSettleSubtracts has a valid right half, whose sum is computed as the whole minus the left half. It must be
// accepted without looking at its signatures, which are changed after the sum was computed.
func TestSettleSubtracts(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	items := signedMessages(t, 2*minBisect)
	addToS(t, &items[0], 1)
	b := newBatch(items)
	sum := b.sum(0, len(items))
	for i := minBisect; i < len(items); i++ {
		b.signatures[i].s.SetZero()
	}
	valid := make([]bool, len(items))
	b.settle(valid, 0, len(items), &sum)
	for i, v := range valid {
		if v != (i != 0) {
			t.Errorf("item %d is %v, want %v", i, v, (i != 0))
		}
	}
}

func TestVerifyBatchDuplicates(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyBatchDuplicates)
}

func testVerifyBatchDuplicates(t *testing.T) {
	good := signedMessages(t, 1)[0]
	bad := good
	bad.Message[0] ^= 1
	items := slices.Repeat([]SignedMessage{good, bad, good}, minBisect)
	for i, valid := range VerifyBatch(items) {
		if valid != (i%3 != 1) {
			t.Errorf("item %d is %v, want %v", i, valid, (i%3 != 1))
		}
	}
	for i, valid := range VerifyBatch(slices.Repeat([]SignedMessage{bad}, 3*minBisect)) {
		if valid {
			t.Errorf("bad item %d is said to be valid", i)
		}
	}
}

func TestVerifyBatchIsVerifyForEach(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyBatchIsVerifyForEach)
}

func testVerifyBatchIsVerifyForEach(t *testing.T) {
	all := signedMessages(t, 2*minBisect+10)
	ways := corruptions(t)
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.IntRange(0, len(all)-1).Draw(rt, "from")
		items := slices.Clone(all[from:])
		for range rapid.IntRange(0, 6).Draw(rt, "changes") {
			at := rapid.IntRange(0, len(items)-1).Draw(rt, "at")
			way := rapid.SampledFrom(ways).Draw(rt, "way")
			if way.name == "s + 1" || way.name == "s - 1" {
				items[at].Signature = all[from+at].Signature // a scalar below the order
			}
			way.apply(t, &items[at], rapid.Uint64().Draw(rt, "random"))
		}
		for range rapid.IntRange(0, 4).Draw(rt, "copies") {
			to := rapid.IntRange(0, len(items)-1).Draw(rt, "to")
			items[to] = items[rapid.IntRange(0, len(items)-1).Draw(rt, "of")]
		}
		if got, want := VerifyBatch(items), verifySingly(items); !slices.Equal(got, want) {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestCoefficients(t *testing.T) {
	items := signedMessages(t, 3)
	seed := batchSeed(items)
	first, second, third := coefficient(seed, 0), coefficient(seed, 1), coefficient(seed, 2)
	if !first.IsOne() {
		t.Errorf("the first coefficient is %s", first.String())
	}
	if second.IsZero() || second == third || second.Bits()[2]|second.Bits()[3]|third.Bits()[2]|third.Bits()[3] != 0 {
		t.Errorf("coefficients %s, %s", second.String(), third.String())
	}
	// The seed depends on every byte of every item.
	for i := range items {
		for _, part := range []func(*SignedMessage) []byte{
			func(m *SignedMessage) []byte { return m.PublicKey[:] },
			func(m *SignedMessage) []byte { return m.Message[:] },
			func(m *SignedMessage) []byte { return m.Signature[:] },
		} {
			for at := range part(&items[i]) {
				changed := slices.Clone(items)
				part(&changed[i])[at] ^= 0x80
				if batchSeed(changed) == seed {
					t.Fatalf("byte %d of item %d is not hashed", at, i)
				}
			}
		}
	}
}

func BenchmarkVerifyBatch(b *testing.B) {
	for _, n := range []int{64, 256, 512} {
		good := signedMessages(b, n)
		oneBad, allBad := slices.Clone(good), slices.Clone(good)
		oneBad[n/3].Message = [32]byte{}
		for i := range allBad {
			allBad[i].Message = [32]byte{}
		}
		for _, c := range []struct {
			name  string
			items []SignedMessage
		}{{"valid", good}, {"one-bad", oneBad}, {"all-bad", allBad}} {
			b.Run(fmt.Sprintf("%d/%s", n, c.name), func(b *testing.B) {
				for b.Loop() {
					VerifyBatch(c.items)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/signature")
			})
		}
	}
}
