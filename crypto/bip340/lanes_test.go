package bip340

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/cairn-chain/cairn/crypto/internal/lanes"
	"github.com/cairn-chain/cairn/internal/testkit/bip"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// verifiers are the settings of UseLanes that work here.
func verifiers() []bool {
	if lanesWork() {
		return []bool{false, true}
	}
	return []bool{false}
}

func useLanes(t testing.TB, on bool) {
	t.Helper()
	if err := UseLanes(on); err != nil {
		t.Fatal(err)
	}
}

// withVerifiers runs a test with the portable code, and with lanes if there are any.
func withVerifiers(t *testing.T, f func(*testing.T)) {
	defer useLanes(t, Lanes())
	for _, on := range verifiers() {
		useLanes(t, on)
		t.Run(fmt.Sprintf("lanes=%v", on), f)
	}
}

func TestUseLanes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	if lanesWork() != lanes.Available() {
		t.Error("the self-test fails")
	}
	if Lanes() != lanesWork() {
		t.Error("lanes are not the default where they are available")
	}
	defer useLanes(t, Lanes())
	useLanes(t, false)
	if Lanes() {
		t.Error("lanes are in use though switched off")
	}
	if err := UseLanes(true); (err == nil) != lanes.Available() || Lanes() != lanes.Available() {
		t.Errorf("switched on: got %v, %v", err, Lanes())
	}
}

// TestAllValid has batches that one sum decides, and each corruption in such a batch.
func TestAllValid(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	if !lanes.Available() {
		if allValid(signedMessages(t, minTogether)) {
			t.Error("without lanes all are said to be valid")
		}
		return
	}
	for _, n := range []int{minTogether, 2*minTogether + 1} {
		good := signedMessages(t, n)
		if !allValid(good) {
			t.Errorf("%d valid signatures are not seen as such", n)
		}
		for _, c := range corruptions(t) {
			items := slices.Clone(good)
			c.apply(t, &items[n/2], 77)
			if allValid(items) {
				t.Errorf("all are valid, with %s", c.name)
			}
		}
	}
}

// TestVerifyInEveryLane puts each vector and each corruption in each place of a group of eight, and of a second that
// is not full.
func TestVerifyInEveryLane(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyInEveryLane)
}

func testVerifyInEveryLane(t *testing.T) {
	good := signedMessages(t, lanes.Count+3)
	check := func(name string, item SignedMessage, want bool) {
		t.Helper()
		for at := range good {
			items := slices.Clone(good)
			items[at] = item
			for i, valid := range VerifyBatch(items) {
				if valid != (want || i != at) {
					t.Errorf("%s at %d: item %d is %v, want %v", name, at, i, valid, (want || i != at))
				}
			}
		}
	}
	for _, v := range bip.Signatures(t) {
		if len(v.Message) == 32 {
			check("vector "+v.Index, SignedMessage{v.Public, [32]byte(v.Message), v.Signature}, v.Valid)
		}
	}
	for _, c := range corruptions(t) {
		item := good[0]
		c.apply(t, &item, 77)
		check(c.name, item, false)
	}
}

// TestVerifyWithKeysOfSmallSecrets uses signatures that only the key's owner can make, whose sums meet themselves or
// zero on the way. For each secret it uses honest signatures, an infinite R (s = e·d), and values of s for which the
// sum before the last digit is that digit's point or its negative.
func TestVerifyWithKeysOfSmallSecrets(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withVerifiers(t, testVerifyWithKeysOfSmallSecrets)
}

func testVerifyWithKeysOfSmallSecrets(t *testing.T) {
	order := fr.Modulus()
	lambda, _ := new(big.Int).SetString("5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72", 16)
	secrets := []*big.Int{
		lambda, new(big.Int).Sub(order, lambda), new(big.Int).Sub(order, big.NewInt(1)), new(big.Int).Lsh(big.NewInt(1), 248),
	}
	for i := int64(1); i <= 9; i++ {
		secrets = append(secrets, big.NewInt(i))
	}
	var items []SignedMessage
	for _, secret := range secrets {
		scalar := [32]byte(secret.FillBytes(make([]byte, 32)))
		item := signWithBtcec(t, scalar, TaggedHash("message", secret.Bytes()))
		items = append(items, item)
		var d, ed, top fr.Element
		d.SetBytes(scalar[:])
		if _, public := btcec.PrivKeyFromBytes(scalar[:]); public.SerializeCompressed()[0] == 0x03 {
			d.Neg(&d) // the secret of the point with even y
		}
		// The nonce keeps its x, and therefore e stays the same.
		e := challenge(item.PublicKey, item.Message[:], item.Signature)
		ed.Mul(&e, &d)
		for _, digit := range []int64{0, 1, -1, 2, 64, 127, -127} {
			top.SetBigInt(new(big.Int).Lsh(big.NewInt(2), 248))
			var s fr.Element
			s.SetInt64(digit)
			s.Mul(&s, &top).Add(&s, &ed)
			bytes := s.Bytes()
			copy(item.Signature[32:], bytes[:])
			items = append(items, item)
		}
	}
	want := make([]bool, len(items))
	for i, item := range items {
		want[i] = verifyWithBtcec(item.PublicKey, item.Message, item.Signature)
		if got := Verify(item.PublicKey, item.Message[:], item.Signature); got != want[i] {
			t.Errorf("item %d: %v, btcec %v", i, got, want[i])
		}
	}
	if got := VerifyBatch(items); !slices.Equal(got, want) {
		t.Errorf("%v, btcec %v", got, want)
	}
}
