package wallet

import (
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"

	"github.com/cairn-chain/cairn/crypto/bip340"
)

// ErrNotAccountKey is the error of [ParseAccount], wrapped.
var ErrNotAccountKey = errors.New("not the extended public key of an account")

// accountDepth is the number of steps in m/86'/coin'/account'.
const accountDepth = 3

// Account is the extended public key (BIP-32) of an account m/86'/coin'/account' (BIP-86). It yields the account's
// addresses but cannot sign, so a server that hands out addresses needs no mnemonic. Keep it secret all the same:
// whoever has it knows all addresses, and with any one private key of the account can compute all of its private keys.
type Account struct{ public *hdkeychain.ExtendedKey }

// DeriveAccount returns the account m/86'/coin'/account' of a seed (16 to 64 bytes). The numbers are below 2^31.
func DeriveAccount(seed []byte, coin, account uint32) (Account, error) {
	const hardened = hdkeychain.HardenedKeyStart
	if max(coin, account) >= hardened {
		return Account{}, errors.New("wallet: derive: path numbers must be below 2^31")
	}
	net := &chaincfg.TestNet3Params
	if coin == 0 {
		net = &chaincfg.MainNetParams
	}
	private, err := extend(seed, net, hardened+purposeBIP86, hardened+coin, hardened+account)
	if err != nil {
		return Account{}, err
	}
	public, err := private.Neuter()
	if err != nil {
		return Account{}, fmt.Errorf("wallet: derive: %w", err)
	}
	return Account{public}, nil
}

// ParseAccount reads an account as [Account.String] writes it. The error wraps [ErrNotAccountKey], and never quotes the
// text, which may be a private key by mistake.
func ParseAccount(text string) (Account, error) {
	key, err := hdkeychain.NewKeyFromString(text)
	switch {
	case err != nil:
		return Account{}, fmt.Errorf("%w: not an extended key (xpub… or tpub…)", ErrNotAccountKey)
	case key.IsPrivate():
		return Account{}, fmt.Errorf("%w: it is a private key", ErrNotAccountKey)
	case key.Depth() != accountDepth:
		return Account{}, fmt.Errorf("%w: it is %d steps below the master key, not %d", ErrNotAccountKey, key.Depth(), accountDepth)
	case !key.IsForNet(&chaincfg.MainNetParams) && !key.IsForNet(&chaincfg.TestNet3Params):
		return Account{}, fmt.Errorf("%w: it is neither xpub… nor tpub…", ErrNotAccountKey)
	}
	return Account{key}, nil
}

// String returns the account in the form of BIP-32: xpub… for coin 0 (mainnet), tpub… for all others.
func (a Account) String() string { return a.public.String() }

// Mainnet reports whether the account is on the mainnet.
func (a Account) Mainnet() bool { return a.public.IsForNet(&chaincfg.MainNetParams) }

// Output returns the taproot output key (BIP-86) at change/index below the account: the x-only public key of the key
// that [DeriveBIP86] derives, which the address shows. The numbers are below 2^31.
func (a Account) Output(change, index uint32) ([32]byte, error) {
	if max(change, index) >= hdkeychain.HardenedKeyStart {
		return [32]byte{}, errors.New("wallet: derive: path numbers must be below 2^31")
	}
	key := a.public
	for _, child := range []uint32{change, index} {
		var err error
		if key, err = key.Derive(child); err != nil {
			return [32]byte{}, fmt.Errorf("wallet: derive: %w", err)
		}
	}
	internal, err := key.ECPubKey()
	if err != nil {
		return [32]byte{}, fmt.Errorf("wallet: derive: %w", err)
	}
	return bip340.TapTweakPublicKey([32]byte(internal.SerializeCompressed()[1:]))
}
