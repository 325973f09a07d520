package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/cairn-chain/cairn/crypto/bip340"
)

// perBatch is the number of signatures that are verified together.
const perBatch = 512

// schnorr compares verdicts on BIP-340 signatures, half of them damaged: one by one, in a batch, and by the judge.
func (m *mutator) schnorr(r *rand.Rand, cases int) error {
	items := make([]bip340.SignedMessage, min(perBatch, cases-m.cases))
	lines := make([][]any, len(items))
	key := newKey(r)
	for i := range items {
		if r.IntN(2) == 0 {
			key = newKey(r)
		}
		item := bip340.SignedMessage{PublicKey: key.PublicKey(), Message: scalar(r)}
		item.Signature = schnorr(key, item.Message, scalar(r))
		switch r.IntN(8) {
		case 0:
			changeHalf(r, item.PublicKey[:])
		case 1:
			changeHalf(r, item.Message[:])
		case 2, 3:
			changeSignature(r, &item.Signature)
		}
		items[i] = item
		lines[i] = []any{item.PublicKey[:], item.Message[:], item.Signature[:]}
	}
	answers, err := m.judge.askAll("schnorr", lines)
	if err != nil {
		return err
	}
	together := bip340.VerifyBatch(items)
	for i, item := range items {
		alone := bip340.Verify(item.PublicKey, item.Message[:], item.Signature)
		if want := fmt.Sprint(bit(alone)); alone != together[i] || answers[i] != want {
			return fmt.Errorf("%x: alone %t, in a batch %t, the judge says %s", lines[i], alone, together[i], answers[i])
		}
		m.cases++
		m.counts[fmt.Sprintf("schnorr, %t", alone)]++
	}
	return nil
}

// changeHalf flips one bit of 32 bytes, or sets them to an edge number.
func changeHalf(r *rand.Rand, b []byte) {
	if r.IntN(4) == 0 {
		number := pick(r, numbers)
		copy(b, number[:])
	} else {
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	}
}
