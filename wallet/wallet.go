// Package wallet makes keys from a mnemonic as Bitcoin's taproot wallets do. It knows words (BIP-39), a tree of keys
// (BIP-32) and the path of a single key's taproot output in it (BIP-86). What signs and verifies is in package crypto,
// which programs that need no mnemonic import alone.
package wallet

import (
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/cairn-chain/cairn/crypto"
)

// purposeBIP86 is the first step of the path of single-key taproot wallets.
const purposeBIP86 = 86

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
	extended, err := extend(seed, &chaincfg.MainNetParams, path...)
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	key, err := extended.ECPrivKey()
	if err != nil {
		return crypto.PrivateKey{}, fmt.Errorf("wallet: derive: %w", err)
	}
	return crypto.NewPrivateKey([32]byte(key.Serialize()))
}

// extend returns the extended private key of seed at a path.
func extend(seed []byte, net *chaincfg.Params, path ...uint32) (*hdkeychain.ExtendedKey, error) {
	extended, err := hdkeychain.NewMaster(seed, net)
	for _, child := range path {
		if err != nil {
			break
		}
		extended, err = extended.Derive(child)
	}
	if err != nil {
		return nil, fmt.Errorf("wallet: derive: %w", err)
	}
	return extended, nil
}
