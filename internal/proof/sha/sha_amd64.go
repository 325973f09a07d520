//go:build !purego

package sha

import (
	"crypto/sha256"

	"golang.org/x/sys/cpu"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// vector reports whether the kernels may run.
var vector = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW

// compress compresses blocks into the states of 16 messages. Word k of all messages is at k·stride bytes from words.
//
//go:noescape
func compress(state *[8][lanes]uint32, words *uint32, stride, blocks uintptr)

// compressColumns compresses blocks into the states of 16 messages. The words of the messages are a tag, followed by
// the canonical integers of elements first to first + 15 of each column.
//
//go:noescape
func compressColumns(state *[8][lanes]uint32, tag uint32, columns *field.Vector, first, blocks uintptr)

// search hashes sixteen messages that begin with the block's words, the number in word searchWord counting up from one
// message to the next. Bit i of the result tells whether the first word of hash i has no bit of mask.
//
//go:noescape
func search(b *searchBlock, mask uint32) uint32

// storeLanes stores the hashes of 16 messages.
//
//go:noescape
func storeLanes(dst *[sha256.Size]byte, state *[8][lanes]uint32)

// loadPairs sets words to the words of 16 pairs of digests.
//
//go:noescape
func loadPairs(words *[2 * digestWords][lanes]uint32, digests *[sha256.Size]byte)
