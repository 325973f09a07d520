// Package bip322 computes the message that a Bitcoin wallet signs when it signs a text by BIP-322 (Generic Signed
// Message Format, 2.0.0): the *simple* form, for a taproot output (BIP-341) that is spent by its key.
package bip322

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/crypto/bip340"
)

var (
	tagMessage    = bip340.NewTag("BIP0322-signed-message")
	tagTapSighash = bip340.NewTag("TapSighash")
)

// Message returns the message of the BIP-340 signature by which key, the x-only output key of the address, signs the
// text: BIP-341's hash for the only input of the transaction to_sign of BIP-322. sighash is 0, SIGHASH_DEFAULT, or 1,
// SIGHASH_ALL; wallets sign with either.
func Message(key [32]byte, text string, sighash uint8) [32]byte {
	const (
		scriptBytes = 34 // OP_1, and the push of the key
		opReturn    = 0x6a
	)
	script := append(append(make([]byte, 0, 1+scriptBytes), scriptBytes, 0x51, 0x20), key[:]...)

	// to_spend: version 0; an input that spends nothing, with the text's hash; an output of 0 to the key; lock time 0.
	digest := tagMessage.Hash([]byte(text))
	spend := make([]byte, 0, 136)
	spend = append(spend, 0, 0, 0, 0, 1)
	spend = append(spend, make([]byte, 32)...)
	spend = append(spend, 0xff, 0xff, 0xff, 0xff, 34, 0, 32) // the script: OP_0, and the push of the hash
	spend = append(spend, digest[:]...)
	spend = append(spend, 0, 0, 0, 0, 1)
	spend = append(spend, make([]byte, 8)...)
	spend = append(spend, script...)
	spend = append(spend, 0, 0, 0, 0)
	first := sha256.Sum256(spend)
	id := sha256.Sum256(first[:])

	// to_sign: version 0, lock time 0; its input spends output 0 of to_spend with sequence 0; its output has the amount
	// 0 and the script OP_RETURN.
	var none [8]byte
	prevouts := sha256.Sum256(append(id[:], none[:4]...))
	amounts := sha256.Sum256(none[:])
	scripts := sha256.Sum256(script)
	sequences := sha256.Sum256(none[:4])
	outputs := sha256.Sum256([]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, opReturn})
	return tagTapSighash.Hash([]byte{0, sighash}, none[:], prevouts[:], amounts[:], scripts[:], sequences[:],
		outputs[:], []byte{0}, none[:4])
}
