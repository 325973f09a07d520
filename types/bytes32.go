package types

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Bytes32 is a 32-byte value. The type parameter is its meaning, so that the compiler distinguishes values of different
// meanings.
type Bytes32[Meaning any] [32]byte

type (
	accountMeaning   struct{}
	contractMeaning  struct{}
	codeMeaning      struct{}
	txMeaning        struct{}
	blockMeaning     struct{}
	stateMeaning     struct{}
	merkleMeaning    struct{}
	digestMeaning    struct{}
	publicKeyMeaning struct{}
)

// 32-byte types of the protocol.
type (
	// Account is an x-only public key, a policy hash or a contract ID: the witness program of the account's address.
	Account = Bytes32[accountMeaning]
	// PublicKey is the x-only key of the producer, which must lie on the curve.
	PublicKey = Bytes32[publicKeyMeaning]
	// ContractID identifies a contract. The contract's coins are in the account with the same bytes.
	ContractID = Bytes32[contractMeaning]
	// CodeHash is the SHA-256 of a contract's code as submitted.
	CodeHash = Bytes32[codeMeaning]
	// TxID is the hash of a transaction without its witnesses.
	TxID = Bytes32[txMeaning]
	// BlockHash is the hash of a header.
	BlockHash = Bytes32[blockMeaning]
	// StateRoot is the root of the state tree: eight KoalaBear elements, big-endian.
	StateRoot = Bytes32[stateMeaning]
	// MerkleRoot is the root of the list of a block's transactions or receipts: eight KoalaBear elements, big-endian.
	MerkleRoot = Bytes32[merkleMeaning]
	// Digest is the SHA-256 hash of a block's accesses, of a receipt's details, of witnesses, or of the gas schedule.
	Digest = Bytes32[digestMeaning]
)

// String returns the value in hex with the prefix 0x.
func (b Bytes32[M]) String() string { return "0x" + hex.EncodeToString(b[:]) }

// IsZero reports whether all bytes are 0.
func (b Bytes32[M]) IsZero() bool { return b == Bytes32[M]{} }

// Compare compares values by their bytes: −1, 0 or 1.
func (b Bytes32[M]) Compare(other Bytes32[M]) int { return bytes.Compare(b[:], other[:]) }

// MarshalText returns the output of [Bytes32.String].
func (b Bytes32[M]) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// AppendText appends the output of [Bytes32.String].
func (b Bytes32[M]) AppendText(dst []byte) ([]byte, error) {
	return hex.AppendEncode(append(dst, '0', 'x'), b[:]), nil
}

// UnmarshalText parses 64 hex digits of either case, with or without the prefix 0x.
func (b *Bytes32[M]) UnmarshalText(text []byte) error {
	v, err := parseHex32(string(text))
	if err != nil {
		return err
	}
	*b = v
	return nil
}

// ErrBadHex32 is returned for text that is not 32 bytes in hex.
var ErrBadHex32 = errors.New("not 32 bytes in hex")

// ParseBytes32 parses 64 hex digits of either case, with or without the prefix 0x.
func ParseBytes32[T ~[32]byte](s string) (T, error) {
	v, err := parseHex32(s)
	return T(v), err
}

func parseHex32(s string) (out [32]byte, err error) {
	digits := strings.TrimPrefix(s, "0x")
	if len(digits) != 64 {
		return out, fmt.Errorf("%w: %d digits", ErrBadHex32, len(digits))
	}
	if _, err := hex.Decode(out[:], []byte(digits)); err != nil {
		return [32]byte{}, ErrBadHex32
	}
	return out, nil
}

// Signature is a BIP-340 signature.
type Signature [64]byte

// String returns the signature in hex with the prefix 0x.
func (s Signature) String() string { return "0x" + hex.EncodeToString(s[:]) }
