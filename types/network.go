package types

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/crypto/bech32m"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

// Network is a kind of chain. It determines the prefix of addresses.
type Network string

// Networks.
const (
	Mainnet Network = "mainnet"
	Testnet Network = "testnet"
	Regtest Network = "regtest"
)

// Networks returns all networks.
func Networks() []Network { return []Network{Mainnet, Testnet, Regtest} }

// Prefix returns the human-readable part of the network's bech32m addresses (BIP-173), or "" for an unknown network.
func (n Network) Prefix() string {
	switch n {
	case Mainnet:
		return "bc"
	case Testnet:
		return "tb"
	case Regtest:
		return "bcrt"
	default:
		return ""
	}
}

// CoinType returns the coin type in the network's BIP-86 derivation path: 0 on mainnet, otherwise 1 (SLIP-44).
func (n Network) CoinType() uint32 {
	if n == Mainnet {
		return 0
	}
	return 1
}

// Address returns the account's taproot address (bech32m, BIP-350) on the network, which must be known.
func (n Network) Address(account Account) string { return bech32m.EncodeAddress(n.Prefix(), account) }

// Errors of parsing accounts.
var (
	ErrBadAccount   = errors.New("neither a taproot address nor a public key in hex")
	ErrWrongNetwork = errors.New("address of another network")
)

// ParseAddress parses a taproot address (BIP-350, witness version 1) of any network, in lower or upper case. Its errors
// wrap [ErrBadAccount] and state the reason.
func ParseAddress(s string) (Network, Account, error) {
	prefix, program, err := bech32m.DecodeAddress(s)
	if err != nil {
		return "", Account{}, fmt.Errorf("%w: %w", ErrBadAccount, err)
	}
	for _, n := range Networks() {
		if n.Prefix() == prefix {
			return n, program, nil
		}
	}
	return "", Account{}, fmt.Errorf("%w: unknown prefix", ErrBadAccount)
}

// IsKey reports whether an account can have an owner: whether it is the x coordinate of a point on the curve, as every
// signing key is. This holds for half of all 32-byte values. A contract's ID need not be a key.
func IsKey(a Account) bool { return bip340.IsXOnly(a) }

// ParseAccount parses an address of the network or a public key in hex, with or without 0x and of either case. The key
// has 32 bytes x-only, or 33 bytes compressed (SEC 1), whose parity byte 02 or 03 is dropped. ParseAccount does not
// check whether the key is on the curve. It returns [ErrWrongNetwork] for another network's address and [ErrBadAccount]
// for anything else.
func (n Network) ParseAccount(s string) (Account, error) {
	if account, ok := parsePublicKey(s); ok {
		return account, nil
	}
	network, account, err := ParseAddress(s)
	if err != nil {
		return Account{}, err
	}
	if network != n {
		return Account{}, fmt.Errorf("%w: expected prefix %s", ErrWrongNetwork, n.Prefix())
	}
	return account, nil
}

func parsePublicKey(s string) (account Account, ok bool) {
	digits := strings.TrimPrefix(s, "0x")
	if len(digits) == 66 && (strings.HasPrefix(digits, "02") || strings.HasPrefix(digits, "03")) {
		digits = digits[2:]
	}
	if len(digits) != 64 {
		return account, false
	}
	_, err := hex.Decode(account[:], []byte(digits))
	return account, err == nil
}
