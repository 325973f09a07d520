// Package sealed gives small files that are written whole a checksum of their own, so that damage is told from what was
// written.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// ErrDamaged is the error of content that is not as it was written.
var ErrDamaged = errors.New("the file is damaged")

const (
	beforeSum = ",\n  \"sha256\": \""
	afterSum  = "\"\n}\n"
	endOfJSON = "\n}" // what the checksum stands before
)

// JSON is value, which must be an object with a member, as indented JSON. Its last member is the SHA-256 of what comes
// before that member.
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

// ParseJSON reads what [JSON] gave. Anything else is [ErrDamaged].
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

// Bytes is content with its SHA-256 after it.
func Bytes(content []byte) []byte {
	sum := sha256.Sum256(content)
	return append(append(make([]byte, 0, len(content)+len(sum)), content...), sum[:]...)
}

// ParseBytes is the content of what [Bytes] gave. Anything else is [ErrDamaged].
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
