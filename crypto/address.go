package crypto

import (
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// witnessVersion is the version of taproot outputs (BIP-341), the first 5-bit group of an address.
const witnessVersion = 1

// EncodeAddress returns the bech32m address (BIP-350) of the 32-byte witness program, version 1.
// hrp is the network's human-readable part: lower-case printable ASCII, 1 to 30 characters, which
// the longest address of 90 characters leaves.
func EncodeAddress(hrp string, program [32]byte) string {
	groups, err := bech32.ConvertBits(program[:], 8, 5, true)
	if err != nil {
		panic("crypto: " + err.Error()) // cannot be: padding is allowed
	}
	address, err := bech32.EncodeM(hrp, append([]byte{witnessVersion}, groups...))
	if err != nil {
		panic("crypto: " + err.Error()) // cannot be: every group is below 32
	}
	return address
}

// DecodeAddress is the inverse of EncodeAddress: it accepts bech32m with witness version 1 and a
// 32-byte program only, of at most 90 characters, all lower-case or (as BIP-173 says) all
// upper-case. hrp comes back in lower case; whether it is the right network's the caller checks.
func DecodeAddress(addr string) (hrp string, program [32]byte, err error) {
	hrp, groups, encoding, err := bech32.DecodeGeneric(addr)
	if err != nil {
		// The library's text would tell the checksum that fits the mistyped address.
		var mismatch bech32.ErrInvalidChecksum
		if errors.As(err, &mismatch) {
			err = errors.New("checksum does not match")
		}
		return "", program, fmt.Errorf("crypto: address: %w", err)
	}
	if encoding != bech32.VersionM {
		return "", program, errors.New("crypto: address: not bech32m")
	}
	if len(groups) == 0 || groups[0] != witnessVersion {
		return "", program, errors.New("crypto: address: witness version is not 1")
	}
	decoded, err := bech32.ConvertBits(groups[1:], 5, 8, false)
	if err != nil {
		return "", program, fmt.Errorf("crypto: address: %w", err)
	}
	if len(decoded) != len(program) {
		return "", program, fmt.Errorf("crypto: address: witness program of %d bytes, not %d", len(decoded), len(program))
	}
	return hrp, [32]byte(decoded), nil
}
