// Package signer keeps a producer's key in a process of its own, on another machine than the nodes that make blocks
// with it. They send it whole headers over TLS with pinned keys, one round trip a block. It holds each in a sign state
// before it answers, so that it signs one block of a height, whoever asks.
package signer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// protocol is the name of what both ends speak, in TLS (ALPN).
const protocol = "cairn-signer/1"

// request is a header to be signed, on the chain of a genesis block. On the wire it is that block's hash and
// bincode(Header).
type request struct {
	genesis types.BlockHash
	header  types.Header
}

const requestSize = len(types.BlockHash{}) + types.HeaderBytes

func (r request) encode() []byte {
	return append(append(make([]byte, 0, requestSize), r.genesis[:]...), r.header.Encode()...)
}

func decodeRequest(b []byte) (r request, err error) {
	if len(b) != requestSize {
		return r, fmt.Errorf("a request has %d bytes, not %d", requestSize, len(b))
	}
	copy(r.genesis[:], b)
	r.header, err = types.DecodeHeader(b[len(r.genesis):])
	return r, err
}

// verdict is what a signer says of a header.
type verdict byte

const (
	signed      verdict = iota
	locked              // another block may have been signed at the height
	otherChain          // the signer's chain is another one
	otherKey            // the header's producer is not the signer's key
	faulty              // the signer cannot write its lock
	contested           // signed, and another header was not a moment ago, as its height had one
	verdictsEnd         // no verdict
)

// refusals are the verdicts without a signature, in a word.
var refusals = map[verdict]string{
	locked: "height_signed", otherChain: "other_chain", otherKey: "other_key", faulty: "faulty",
}

// Reasons are why headers are not signed, as [Stats] count them.
func Reasons() []string { return slices.Sorted(maps.Values(refusals)) }

// answer is a signature, or why there is none. On the wire it is the verdict and 64 bytes. They are the signature, or
// for locked the height that is held as 8 little-endian bytes and the block's hash, or zeros.
type answer struct {
	verdict   verdict
	signature types.Signature
	held      signstate.Block
}

const answerSize = 1 + len(types.Signature{})

func (a answer) encode() []byte {
	b := make([]byte, answerSize)
	b[0] = byte(a.verdict)
	switch a.verdict {
	case signed, contested:
		copy(b[1:], a.signature[:])
	case locked:
		binary.LittleEndian.PutUint64(b[1:], uint64(a.held.Height))
		copy(b[9:], a.held.Hash[:])
	}
	return b
}

func decodeAnswer(b []byte) (a answer, err error) {
	if len(b) != answerSize || b[0] >= byte(verdictsEnd) {
		return a, errors.New("this is no answer of a signer")
	}
	a.verdict = verdict(b[0])
	switch a.verdict {
	case signed, contested:
		copy(a.signature[:], b[1:])
	case locked:
		a.held.Height = types.Height(binary.LittleEndian.Uint64(b[1:]))
		copy(a.held.Hash[:], b[9:])
	}
	return a, nil
}

var (
	// ErrOtherChain is the error of a header of another chain than the signer's.
	ErrOtherChain = errors.New("the signer is that of another chain")
	// ErrOtherKey is the error of a header whose producer is not the signer's key.
	ErrOtherKey = errors.New("the signer has the key of another producer")
	// ErrFaulty is the error of a signer that cannot remember what it signs.
	ErrFaulty = errors.New("the signer cannot write its sign state")
)

// err is why a header was not signed; nil for a signature.
func (a answer) err() error {
	switch a.verdict {
	case signed, contested:
		return nil
	case locked:
		return emergency.SignerSigned(a.held.Height, a.held.Hash, signstate.ErrSigned)
	case otherChain:
		return emergency.SignerOfOtherChain(ErrOtherChain)
	case otherKey:
		return emergency.SignerOfOtherKey(ErrOtherKey)
	}
	return emergency.SignerFailed(ErrFaulty)
}
