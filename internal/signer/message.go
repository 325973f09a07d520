// Package signer keeps a producer's key in a separate process, on another machine than the nodes that make blocks with
// it. The nodes send whole headers over TLS with pinned keys, one round trip per block. The signer records each header
// in a sign state before it answers, so it signs only one block per height, whichever node asks.
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

// protocol is the ALPN protocol name.
const protocol = "cairn-signer/2"

// request asks for the signature of a header, on the chain with the given genesis block. On the wire it is that block's
// hash followed by bincode(Header).
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
		return r, fmt.Errorf("a request must have %d bytes, not %d", requestSize, len(b))
	}
	copy(r.genesis[:], b)
	r.header, err = types.DecodeHeader(b[len(r.genesis):])
	return r, err
}

// verdict is a signer's decision on a header.
type verdict byte

const (
	signed      verdict = iota
	locked              // another block may have been signed at the height
	otherChain          // the signer is for another chain
	otherKey            // the header's producer is not the signer's key
	faulty              // the signer cannot write its sign state
	contested           // signed, but a different header was refused moments ago because this height was signed
	verdictsEnd         // not a verdict
)

// refusals maps the verdicts without a signature to their names in metrics.
var refusals = map[verdict]string{
	locked: "height_signed", otherChain: "other_chain", otherKey: "other_key", faulty: "faulty",
}

// Reasons returns the reasons for refusals that [Stats] counts.
func Reasons() []string { return slices.Sorted(maps.Values(refusals)) }

// answer is a signature or a refusal. On the wire it is the verdict and 64 bytes: the signature, or for locked the
// height of the recorded block as 8 little-endian bytes and its hash, padded with zeros, or else zeros.
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
		return a, errors.New("not a valid answer of a signer")
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
	// ErrOtherChain is returned for a header of another chain than the signer's.
	ErrOtherChain = errors.New("the signer belongs to another chain")
	// ErrOtherKey is returned for a header whose producer is not the signer's key.
	ErrOtherKey = errors.New("the signer has the key of another producer")
	// ErrFaulty is returned when the signer cannot write its sign state.
	ErrFaulty = errors.New("the signer cannot write its sign state")
)

// err returns the reason for a refusal, or nil for a signature.
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
