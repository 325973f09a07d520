// Package sealed adds checksums to small files that are written as a whole, so that damage is detected.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// ErrDamaged is returned for content that has changed since it was written.
var ErrDamaged = errors.New("the file is damaged")

const (
	beforeSum = ",\n  \"sha256\": \""
	afterSum  = "\"\n}\n"
	endOfJSON = "\n}" // follows the checksum
)

// JSON returns value, which must be an object with at least one member, as indented JSON. It adds a last member, the
// SHA-256 of all text before that member.
func JSON(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte(endOfJSON))
	sum := sha256.Sum256(text)
	text = append(text, beforeSum...)
	text = hex.AppendEncode(text, sum[:])
	return append(text, afterSum...), nil
}

// ParseJSON decodes the output of [JSON]. It returns [ErrDamaged] for anything else.
func ParseJSON(content []byte, into any) error {
	tail := len(beforeSum) + hex.EncodedLen(sha256.Size) + len(afterSum)
	if len(content) < tail {
		return ErrDamaged
	}
	text, end := content[:len(content)-tail], content[len(content)-tail:]
	sum := sha256.Sum256(text)
	if string(end) != beforeSum+hex.EncodeToString(sum[:])+afterSum {
		return ErrDamaged
	}
	decoder := json.NewDecoder(io.MultiReader(bytes.NewReader(text), bytes.NewReader([]byte(endOfJSON))))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// Bytes returns content followed by its SHA-256.
func Bytes(content []byte) []byte {
	sum := sha256.Sum256(content)
	return append(append(make([]byte, 0, len(content)+len(sum)), content...), sum[:]...)
}

// ParseBytes returns the content in the output of [Bytes]. It returns [ErrDamaged] for anything else.
func ParseBytes(sealed []byte) ([]byte, error) {
	end := len(sealed) - sha256.Size
	if end < 0 {
		return nil, ErrDamaged
	}
	if sum := sha256.Sum256(sealed[:end]); !bytes.Equal(sum[:], sealed[end:]) {
		return nil, ErrDamaged
	}
	return sealed[:end:end], nil
}
