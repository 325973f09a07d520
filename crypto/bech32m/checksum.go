package bech32m

import (
	"errors"
	"fmt"
	"strings"
)

// Lengths in characters of a bech32 string (BIP-173) and of its checksum.
const (
	minBech32, maxBech32 = 8, 90
	checksumLength       = 6
)

// bech32Charset is the character of each group of 5 bits.
const bech32Charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// checksum is a remainder of BIP-173's BCH code: six groups, the first in the most significant bits.
type checksum uint32

// Remainders of whole strings, for BIP-173 and for BIP-350.
const (
	bech32Checksum  checksum = 1
	bech32mChecksum checksum = 0x2bc830a3
)

// Bit offsets of a remainder's first group, and of its first two.
const (
	topGroup = 25
	topPair  = 20
)

// reductions holds the remainder of each pair of groups that is shifted out at the top; entries below 32 are for a
// single group.
var reductions = func() (table [1 << 10]checksum) {
	for pair := range table {
		table[pair] = checksum(pair << topPair).pushZero().pushZero()
	}
	return table
}()

// pushZero returns the remainder after a zero group, as defined by BIP-173.
func (c checksum) pushZero() checksum {
	next := c & (1<<topGroup - 1) << 5
	for i, generator := range [5]checksum{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if c>>(topGroup+i)&1 == 1 {
			next ^= generator
		}
	}
	return next
}

// add returns the remainder after another group.
func (c checksum) add(group byte) checksum {
	return c&(1<<topGroup-1)<<5 ^ checksum(group) ^ reductions[c>>topGroup&31]
}

// addAll returns the remainder after groups. It adds two at a time, since each step depends on the previous one.
func (c checksum) addAll(groups []byte) checksum {
	for ; len(groups) >= 2; groups = groups[2:] {
		pair := checksum(groups[0])<<5 | checksum(groups[1])
		c = c&(1<<topPair-1)<<10 ^ pair ^ reductions[c>>topPair&(1<<10-1)]
	}
	if len(groups) == 1 {
		c = c.add(groups[0])
	}
	return c
}

// checksumOf returns the remainder after a human-readable part in lower case.
func checksumOf(hrp string) checksum {
	c := checksum(1)
	for i := range len(hrp) {
		c = c.add(hrp[i] >> 5)
	}
	c = c.add(0)
	for i := range len(hrp) {
		c = c.add(hrp[i] & 31)
	}
	return c
}

// Kinds of characters, and the group value of characters without a group.
const (
	lowerCase = 1 << iota
	upperCase
	unprintable

	noGroup = 1 << 7
)

// charKinds and charGroups hold the kind of each character, which is 0 for most, and its group.
var charKinds, charGroups = func() (kinds, groups [256]byte) {
	for c := range kinds {
		groups[c] = noGroup
		switch {
		case c < '!' || c > '~':
			kinds[c] = unprintable
		case 'a' <= c && c <= 'z':
			kinds[c] = lowerCase
		case 'A' <= c && c <= 'Z':
			kinds[c] = upperCase
		}
	}
	for group, c := range bech32Charset {
		groups[c] = byte(group)
	}
	return kinds, groups
}()

// splitBech32 returns the parts of a bech32 string before and after the separator, in lower case. The second part is at
// least as long as a checksum.
func splitBech32(s string) (hrp, data string, err error) {
	if len(s) < minBech32 || len(s) > maxBech32 {
		return "", "", fmt.Errorf("invalid bech32 string length %d", len(s))
	}
	var seen byte
	for i := range len(s) {
		seen |= charKinds[s[i]]
	}
	if seen&unprintable != 0 || seen == lowerCase|upperCase {
		return "", "", badCharacter(s)
	}
	if seen == upperCase {
		s = strings.ToLower(s)
	}
	separator := strings.LastIndexByte(s, '1')
	if separator < 1 || separator+1+checksumLength > len(s) {
		return "", "", fmt.Errorf("invalid separator index %d", separator)
	}
	return s[:separator], s[separator+1:], nil
}

// badCharacter returns an error for the first character of s that is not printable, or that has another case than those
// before it.
func badCharacter(s string) error {
	var seen byte
	for i := range len(s) {
		if seen |= charKinds[s[i]]; seen&unprintable != 0 {
			return fmt.Errorf("invalid character in string: '%c'", s[i])
		}
		if seen == lowerCase|upperCase {
			break
		}
	}
	return errors.New("string not all lowercase or all uppercase")
}

// decodeGroups replaces the characters of data, at most maxBech32, by their groups.
func decodeGroups(into *[maxBech32]byte, data string) error {
	var all byte
	for i := range len(data) {
		into[i] = charGroups[data[i]]
		all |= into[i]
	}
	if all&noGroup == 0 {
		return nil
	}
	for i := range len(data) {
		if into[i] == noGroup {
			return fmt.Errorf("invalid character not part of charset: %d", data[i])
		}
	}
	return nil
}
