package bech32m

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// witnessVersion is the version of taproot outputs (BIP-341), the first 5-bit group of an address.
	witnessVersion = 1
	programBytes   = 32
)

// EncodeAddress returns the bech32m address (BIP-350) of the 32-byte witness program, version 1. hrp is the network's
// human-readable part: 1 to 30 characters of lower-case printable ASCII, as an address has at most 90 characters.
func EncodeAddress(hrp string, program [32]byte) string {
	text := make([]byte, 0, maxBech32)
	text = append(append(text, hrp...), '1')
	c := checksumOf(hrp)
	put := func(group byte) {
		c = c.add(group)
		text = append(text, bech32Charset[group])
	}
	put(witnessVersion)
	waiting, bits := uint(0), 0
	for _, b := range program {
		waiting, bits = waiting<<8|uint(b), bits+8
		for ; bits >= 5; bits -= 5 {
			put(byte(waiting >> (bits - 5) & 31))
		}
	}
	put(byte(waiting << (5 - bits) & 31))
	for range checksumLength {
		c = c.add(0)
	}
	c ^= bech32mChecksum
	for at := topGroup; at >= 0; at -= 5 {
		text = append(text, bech32Charset[c>>at&31])
	}
	return string(text)
}

// DecodeAddress is the inverse of EncodeAddress. It accepts only bech32m with witness version 1 and a 32-byte program,
// of at most 90 characters, all lower-case or (per BIP-173) all upper-case. It returns hrp in lower case; the caller
// must check that hrp is the expected network's.
func DecodeAddress(addr string) (hrp string, program [32]byte, err error) {
	hrp, data, err := splitBech32(addr)
	if err != nil {
		return "", program, fmt.Errorf("bech32m: address: %w", err)
	}
	var room [maxBech32]byte
	if err := decodeGroups(&room, data); err != nil {
		return "", program, fmt.Errorf("bech32m: address: %w", err)
	}
	c := checksumOf(hrp).addAll(room[:len(data)])
	groups := room[:len(data)-checksumLength]
	switch {
	case c == bech32Checksum:
		return "", program, errors.New("bech32m: address: not bech32m")
	case c != bech32mChecksum:
		// The error does not reveal which checksum would fit the mistyped address (BIP-173).
		return "", program, errors.New("bech32m: address: checksum does not match")
	case len(groups) == 0 || groups[0] != witnessVersion:
		return "", program, errors.New("bech32m: address: witness version is not 1")
	}
	if err := checkProgram(groups[1:]); err != nil {
		return "", program, fmt.Errorf("bech32m: address: %w", err)
	}
	return hrp, joinGroups(room[1:]), nil
}

// checkProgram refuses groups that do not have a program's length. It also refuses groups whose trailing bits, which
// are not part of a byte, make a whole group or are not all zeros.
func checkProgram(groups []byte) error {
	padding := 5 * len(groups) % 8
	if padding > 4 || padding > 0 && groups[len(groups)-1]&(1<<padding-1) != 0 {
		return errors.New("invalid incomplete group")
	}
	if size := 5 * len(groups) / 8; size != programBytes {
		return fmt.Errorf("witness program of %d bytes, not %d", size, programBytes)
	}
	return nil
}

// joinGroups joins the leading groups into a program. Further groups must follow, to complete the last eight groups,
// which are five bytes.
func joinGroups(groups []byte) (program [programBytes]byte) {
	var joined [programBytes + 8]byte
	for i := 0; i < programBytes; i += 5 {
		g := groups[i/5*8:][:8]
		eight := uint64(g[0])<<35 | uint64(g[1])<<30 | uint64(g[2])<<25 | uint64(g[3])<<20 |
			uint64(g[4])<<15 | uint64(g[5])<<10 | uint64(g[6])<<5 | uint64(g[7])
		binary.BigEndian.PutUint64(joined[i:], eight<<24) // later writes overwrite the three excess bytes
	}
	return [programBytes]byte(joined[:])
}
