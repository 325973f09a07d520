package wallet

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// maxMnemonicBytes bounds a mnemonic before it is normalized: 24 words of 8 letters need 215 bytes, three times that in
// full-width letters.
const maxMnemonicBytes = 1024

// BIP-39: each word encodes 11 bits of the entropy followed by its checksum, which has one bit per 32 bits of entropy.
const (
	wordBits       = 11
	bitsAChecksum  = 32
	seedIterations = 2048
	seedBytes      = 64
)

// english is BIP-39's English word list, a word a line.
//
//go:embed english.txt
var english string

var (
	words   = strings.Fields(english)
	numbers = numbered(words)
)

func numbered(words []string) map[string]int64 {
	numbers := make(map[string]int64, len(words))
	for i, word := range words {
		numbers[word] = int64(i)
	}
	return numbers
}

// NewMnemonic returns the English BIP-39 words of 16, 20, 24, 28 or 32 bytes of entropy: 12, 15, 18, 21 or 24 words with
// one space between.
func NewMnemonic(entropy []byte) (string, error) {
	if len(entropy) < 16 || len(entropy) > 32 || len(entropy)%4 != 0 {
		return "", fmt.Errorf("wallet: mnemonic: entropy must be 16, 20, 24, 28 or 32 bytes, not %d", len(entropy))
	}
	rest := withChecksum(entropy)
	sentence := make([]string, (len(entropy)*8+checksumBits(entropy))/wordBits)
	word, base := new(big.Int), big.NewInt(1<<wordBits)
	for i := len(sentence) - 1; i >= 0; i-- {
		rest.DivMod(rest, base, word)
		sentence[i] = words[word.Int64()]
	}
	return strings.Join(sentence, " "), nil
}

func checksumBits(entropy []byte) int { return len(entropy) * 8 / bitsAChecksum }

// withChecksum returns the entropy followed by its checksum, as a number whose base-2048 digits are the words.
func withChecksum(entropy []byte) *big.Int {
	sum := sha256.Sum256(entropy)
	bits := uint(checksumBits(entropy))
	n := new(big.Int).SetBytes(entropy)
	return n.Lsh(n, bits).Or(n, big.NewInt(int64(sum[0]>>(8-bits))))
}

// ParseMnemonic returns the entropy of an English BIP-39 mnemonic. Its words may be separated by any white space, in
// capitals, and behind a byte-order mark. Unknown words and a wrong checksum are errors, which never quote a word.
func ParseMnemonic(mnemonic string) ([]byte, error) {
	_, entropy, err := parseMnemonic(mnemonic)
	return entropy, err
}

// SeedFromMnemonic returns the 64-byte BIP-39 seed of a mnemonic, which must be valid as for [ParseMnemonic], and a
// passphrase, normally "". Both are normalized to Unicode form NFKD.
func SeedFromMnemonic(mnemonic, passphrase string) ([]byte, error) {
	sentence, _, err := parseMnemonic(mnemonic)
	if err != nil {
		return nil, err
	}
	salt := "mnemonic" + norm.NFKD.String(passphrase)
	return pbkdf2.Key(sha512.New, sentence, []byte(salt), seedIterations, seedBytes)
}

// parseMnemonic returns the words as the word list spells them, separated by single spaces, and their entropy.
func parseMnemonic(mnemonic string) (sentence string, entropy []byte, err error) {
	if len(mnemonic) > maxMnemonicBytes {
		return "", nil, errors.New("wallet: mnemonic: too long")
	}
	const byteOrderMark = "\ufeff"
	given := strings.Fields(strings.ToLower(norm.NFKD.String(strings.TrimPrefix(mnemonic, byteOrderMark))))
	switch len(given) {
	case 12, 15, 18, 21, 24:
	default:
		return "", nil, fmt.Errorf("wallet: mnemonic: %d words, not 12, 15, 18, 21 or 24", len(given))
	}
	n := new(big.Int)
	for i, word := range given {
		number, known := numbers[word]
		if !known {
			return "", nil, fmt.Errorf("wallet: mnemonic: word %d is not in the English word list", i+1)
		}
		n.Lsh(n, wordBits).Or(n, big.NewInt(number))
	}
	entropy = make([]byte, len(given)*4/3) // three words are 33 bits, 32 of them entropy
	new(big.Int).Rsh(n, uint(checksumBits(entropy))).FillBytes(entropy)
	if withChecksum(entropy).Cmp(n) != 0 {
		return "", nil, errors.New("wallet: mnemonic: the checksum is wrong: a word is mistyped or out of place")
	}
	return strings.Join(given, " "), entropy, nil
}
