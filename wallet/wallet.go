// Package wallet makes keys from a mnemonic as Bitcoin's taproot wallets do. It knows words (BIP-39), a tree of keys
// (BIP-32) and the path of a single key's taproot output in it (BIP-86). What signs and verifies is in package crypto,
// which programs that need no mnemonic import alone.
package wallet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/tyler-smith/go-bip39"
	"golang.org/x/text/unicode/norm"
)

// maxMnemonicBytes bounds a mnemonic before it is normalized: 24 words of 8 letters need 215 bytes,
// three times that in full-width letters.
const maxMnemonicBytes = 1024

// purposeBIP86 is the first step of the path of single-key taproot wallets.
const purposeBIP86 = 86

// NewMnemonic returns the English BIP-39 words of 16, 20, 24, 28 or 32 bytes of entropy: 12, 15,
// 18, 21 or 24 words with one space between.
func NewMnemonic(entropy []byte) (string, error) {
	mnemonic, err := bip39.NewMnemonic(entropy)
	if err != nil {
		return "", fmt.Errorf("wallet: mnemonic: %w", err)
	}
	return mnemonic, nil
}

// ParseMnemonic returns the entropy of an English BIP-39 mnemonic, whose words may be separated by
// any white space. Unknown words and a wrong checksum are errors, which never quote a word.
func ParseMnemonic(mnemonic string) ([]byte, error) {
	_, entropy, err := parseMnemonic(mnemonic)
	return entropy, err
}

// SeedFromMnemonic returns the 64-byte BIP-39 seed of a mnemonic, which must be valid as for
// [ParseMnemonic], and a passphrase, normally "". Both are brought to Unicode form NFKD.
func SeedFromMnemonic(mnemonic, passphrase string) ([]byte, error) {
	sentence, _, err := parseMnemonic(mnemonic)
	if err != nil {
		return nil, err
	}
	return bip39.NewSeed(sentence, norm.NFKD.String(passphrase)), nil
}

// parseMnemonic returns the words in NFKD with one space between, and their entropy. go-bip39
// normalizes nothing itself.
func parseMnemonic(mnemonic string) (sentence string, entropy []byte, err error) {
	if len(mnemonic) > maxMnemonicBytes {
		return "", nil, errors.New("wallet: mnemonic: too long")
	}
	words := strings.Fields(norm.NFKD.String(mnemonic))
	switch len(words) {
	case 12, 15, 18, 21, 24:
	default:
		return "", nil, fmt.Errorf("wallet: mnemonic: %d words, not 12, 15, 18, 21 or 24", len(words))
	}
	for i, word := range words {
		if _, ok := bip39.GetWordIndex(word); !ok {
			return "", nil, fmt.Errorf("wallet: mnemonic: word %d is not in the English word list", i+1)
		}
	}
	sentence = strings.Join(words, " ")
	entropy, err = bip39.EntropyFromMnemonic(sentence)
	if err != nil {
		return "", nil, fmt.Errorf("wallet: mnemonic: %w", err)
	}
	return sentence, entropy, nil
}

// DeriveBIP86 returns the key at m/86'/coin'/account'/change/index of the BIP-32 tree of seed (16 to 64 bytes), tweaked
// as BIP-86 says. Its x-only public key is the taproot output key that the address shows. Each number is below 2^31.
// For one seed in 2^127 BIP-32 has no key at a path: that is an error, and the next index is to be taken.
func DeriveBIP86(seed []byte, coin, account, change, index uint32) (crypto.PrivateKey, error) {
	const hardened = hdkeychain.HardenedKeyStart
	if max(coin, account, change, index) >= hardened {
		return crypto.PrivateKey{}, errors.New("wallet: derive: path numbers must be below 2^31")
	}
	internal, err := derivePath(seed, hardened+purposeBIP86, hardened+coin, hardened+account, change, index)
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	return internal.TapTweak()
}

// derivePath returns the BIP-32 private key of seed at the path of child numbers, those from 2^31
// on hardened.
func derivePath(seed []byte, path ...uint32) (crypto.PrivateKey, error) {
	// The network only goes into a serialized extended key, which is never written.
	extended, err := hdkeychain.NewMaster(seed, &chaincfg.MainNetParams)
	if err != nil {
		return crypto.PrivateKey{}, fmt.Errorf("wallet: derive: %w", err)
	}
	for _, child := range path {
		extended, err = extended.Derive(child)
		if err != nil {
			return crypto.PrivateKey{}, fmt.Errorf("wallet: derive: %w", err)
		}
	}
	key, err := extended.ECPrivKey()
	if err != nil {
		return crypto.PrivateKey{}, fmt.Errorf("wallet: derive: %w", err)
	}
	return crypto.NewPrivateKey([32]byte(key.Serialize()))
}
