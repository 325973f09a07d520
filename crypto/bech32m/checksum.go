package bech32m

import (
	"errors"
	"fmt"
	"strings"
)

// The lengths of a bech32 string (BIP-173) in characters: of all of it, and of its checksum.
const (
	minBech32, maxBech32 = 8, 90
	checksumLength       = 6
)

// bech32Charset has the character of each group of 5 bits.
const bech32Charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// A checksum is the remainder of BIP-173's BCH code: six groups, the first of them at the top.
type checksum uint32

// What the remainder of a whole string is: of BIP-173's, and of BIP-350's.
const (
	bech32Checksum  checksum = 1
	bech32mChecksum checksum = 0x2bc830a3
)

// The places of a remainder's first group, and of its first two.
const (
	topGroup = 25
	topPair  = 20
)

// reductions are what two groups come to that are pushed out at the top; those below 32, what one comes to.
var reductions = func() (table [1 << 10]checksum) {
	for pair := range table {
		table[pair] = checksum(pair << topPair).pushZero().pushZero()
	}
	return table
}()

// pushZero is the remainder after a group of zero, as BIP-173 defines it.
func (c checksum) pushZero() checksum {
	next := c & (1<<topGroup - 1) << 5
	for i, generator := range [5]checksum{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if c>>(topGroup+i)&1 == 1 {
			next ^= generator
		}
	}
	return next
}

// add is the remainder after another group.
func (c checksum) add(group byte) checksum {
	return c&(1<<topGroup-1)<<5 ^ checksum(group) ^ reductions[c>>topGroup&31]
}

// addAll is the remainder after groups: two at a time, since each step waits for the one before.
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

// checksumOf is the remainder after a human-readable part in lower case.
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

// The kinds of characters, and what stands for the group of one that has none.
const (
	lowerCase = 1 << iota
	upperCase
	unprintable

	noGroup = 1 << 7
)

// charKinds and charGroups are the kind of each character, 0 of most, and its group.
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

// splitBech32 returns the parts of a bech32 string before and after the separator, in lower case. The second has a
// checksum's length at least.
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

// badCharacter says what keeps the characters of s from being a bech32 string's: the first that is not printable, or
// one of another case than those before.
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
