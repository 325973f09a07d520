// Package wallet makes keys from a mnemonic as Bitcoin's taproot wallets do. It implements mnemonics (BIP-39), the key
// tree (BIP-32) and the path in it to a single-key taproot output (BIP-86). Signing and verifying are in package
// crypto, which is enough for programs that need no mnemonic.
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
// With probability 2^-127 BIP-32 has no key at a path: that is an error, and the caller should use the next index.
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

// derivePath returns the BIP-32 private key of seed at the path of child numbers, of which those from 2^31 on are
// hardened.
func derivePath(seed []byte, path ...uint32) (crypto.PrivateKey, error) {
	// The network matters only for serialized extended keys, which are never written.
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
