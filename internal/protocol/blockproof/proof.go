package blockproof

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
	"github.com/cairn-chain/cairn/internal/proof/verifier"
	"github.com/cairn-chain/cairn/types"
)

// ErrProof is returned for a proof that does not hold or cannot be decoded.
var ErrProof = errors.New("blockproof: the proof is invalid")

// ErrWeak is returned, wrapped with ErrProof, for a proof of fewer bits than required. The proof itself may hold.
var ErrWeak = verifier.ErrLevel

// version is the first byte of a proof.
const version = 1

// Limits of decoding, which no honest proof exceeds. There are at most 2^24 accesses, and each adds at most 2·248 + 1
// to a segment's rowBounds. So each segment of 2^17 rows or more has at least 262 accesses, except the last segment.
const (
	maxSegments     = 1 << 16
	maxEntries      = 1 << maxLogRows
	maxOthers       = 1 << maxLogRows
	maxPositions    = 1<<maxLogRows + 1 // entries and other leaves: a row has two halves; all but the root are halves
	bytesPerOther   = 1 + 32 + 32
	othersPerEntry  = 2 // at most one is shown on the way to an entry, and others beside the first and the last entry
	minSegmentBytes = 8 + 8 + 8 + 32 + 8
)

// maxArgument is the maximum size of an argument in bytes.
var maxArgument = verifier.MostBytes(circuit)

// Proven is a segment's share of a proof.
type Proven struct {
	part
	argument []byte
}

// EncodeProof encodes a proof from the shares of its segments, in order.
func EncodeProof(segments []Proven) []byte {
	size := 1 + 8
	for i := range segments {
		s := &segments[i]
		size += minSegmentBytes + 8 + len(s.levels) + bytesPerOther*len(s.others) + 4*len(s.steps) + len(s.argument)
	}
	e := codec.NewEncoder(size)
	e.U8(version)
	e.U64(uint64(len(segments)))
	for i := range segments {
		segments[i].part.encode(e)
		e.Bytes(segments[i].argument)
	}
	return e.Data()
}

// decodeProof decodes the output of EncodeProof. It returns an error that wraps ErrProof.
func decodeProof(b []byte) ([]Proven, error) {
	d := codec.NewDecoder(b)
	if v := d.U8(); v != version {
		d.Fail(fmt.Errorf("version %d", v))
	}
	segments := make([]Proven, 0, 8)
	for range d.Length(maxSegments, minSegmentBytes) {
		var s Proven
		s.decode(d)
		s.argument = d.Bytes(maxArgument)
		if d.Err() != nil {
			break
		}
		segments = append(segments, s)
	}
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProof, err)
	}
	return segments, nil
}

// decode decodes the output of encode. Levels must be 1 to pathBits, the last step must be looked up, and the other
// leaves must ascend by path.
func (p *part) decode(d *codec.Decoder) {
	p.levels = d.Bytes(maxEntries)
	for _, level := range p.levels {
		checkLevel(d, level)
	}
	p.others = make([]other, 0, d.Length(min(othersPerEntry*len(p.levels), maxPositions-len(p.levels)), bytesPerOther))
	for range cap(p.others) {
		o := other{d.U8(), digest(d), digest(d)}
		checkLevel(d, o.level)
		if n := len(p.others); n > 0 && comparePaths(&p.others[n-1].path, &o.path) >= 0 {
			d.Fail(errors.New("leaves do not ascend"))
		}
		if d.Err() != nil {
			return
		}
		p.others = append(p.others, o)
	}
	p.steps = make([]uint32, d.Length(pathBits, 4))
	for level := range p.steps {
		p.steps[level] = d.U32()
		if p.steps[level] > 1<<maxLogRows {
			d.Fail(fmt.Errorf("%d rows of level %d", p.steps[level], level))
		}
	}
	if n := len(p.steps); n == 0 || p.steps[n-1] == 0 {
		d.Fail(errors.New("the last step has no rows"))
	}
	p.after = digest(d)
}

func checkLevel(d *codec.Decoder, level uint8) {
	if level == 0 || level > pathBits {
		d.Fail(fmt.Errorf("level %d", level))
	}
}

func digest(d *codec.Decoder) poseidon.Digest {
	var b [32]byte
	d.Fixed(b[:])
	digest, err := poseidon.ParseDigest(b)
	if err != nil {
		d.Fail(err)
	}
	return digest
}

const (
	// segmentsAtOnce is the maximum number of arguments that are checked before their results are examined.
	segmentsAtOnce = 8
	// positionsAtOnce bounds the entries and other leaves of several segments that are checked at once. Each takes
	// about 300 bytes of memory.
	positionsAtOnce = 1 << 16
)

// checkedAtOnce returns the number of segments to check at once.
func checkedAtOnce(segments []Proven) int {
	n, positions := 0, 0
	for n < min(segmentsAtOnce, len(segments)) {
		positions += len(segments[n].levels) + len(segments[n].others)
		if n > 0 && positions > positionsAtOnce {
			break
		}
		n++
	}
	return n
}

// VerifyProof checks that the statement holds, with a proof of at least the given number of bits. It returns the number
// of bits proven, or an error that wraps ErrStatement, ErrAccesses or ErrProof. It uses parallel to hash the list and
// to check the segments' arguments.
func VerifyProof(s Statement, accesses []types.Access, proof []byte, bits int, parallel Parallel) (int, error) {
	if err := s.check(accesses); err != nil {
		return 0, err
	}
	return s.verify(accesses, proof, bits, parallel)
}

// verify checks the proof of a statement about these accesses. Cheap checks come first: a proof that cannot be for
// these accesses, or that is too weak, is refused before any path is hashed.
func (s *Statement) verify(accesses []types.Access, proof []byte, bits int, parallel Parallel) (int, error) {
	if len(accesses) == 0 && s.PreRoot != s.PostRoot {
		return 0, fmt.Errorf("%w: the root changes without an access", ErrStatement)
	}
	if bits > stark.MaxBits {
		return 0, fmt.Errorf("%w: %w: no proof has more than %d", ErrProof, ErrWeak, stark.MaxBits)
	}
	segments, err := decodeProof(proof)
	if err != nil {
		return 0, err
	}
	before, err := s.cover(accesses, segments)
	if err != nil {
		return 0, err
	}
	for i := range segments {
		if err := verifier.Screen(circuit, bits, segments[i].argument); err != nil {
			return 0, fmt.Errorf("%w: segment %d: %w", ErrProof, i, err)
		}
	}
	entries, err := newEntries(accesses, false, parallel)
	if err != nil {
		return 0, err
	}
	places, low := make([]chain, len(segments)), 0
	for i := range segments {
		places[i] = chain{i, len(segments), len(accesses), low, before}
		before, low = segments[i].after, low+len(segments[i].levels)
	}
	least := stark.MaxBits
	for first, n := 0, 0; first < len(segments); first += n {
		n = checkedAtOnce(segments[first:])
		var proven [segmentsAtOnce]int
		var failed [segmentsAtOnce]error
		parallel(n, func(i int) {
			place, segment := places[first+i], &segments[first+i]
			instance := s.instance(place, entries[place.low:place.low+len(segment.levels)], &segment.part)
			proven[i], failed[i] = verifier.Verify(&instance, bits, segment.argument)
		})
		for i := range n {
			if failed[i] != nil {
				return 0, fmt.Errorf("%w: segment %d: %w", ErrProof, first+i, failed[i])
			}
			least = min(least, proven[i])
		}
	}
	return least, nil
}

// cover checks that the segments, each of which begins at the end of the previous one, cover the list, and that the
// last ends with the root after. It returns the root before.
func (s *Statement) cover(accesses []types.Access, segments []Proven) (poseidon.Digest, error) {
	before, err := poseidon.ParseDigest(s.PreRoot)
	if err != nil {
		return before, fmt.Errorf("%w: root before: %w", ErrStatement, err)
	}
	covered, last := 0, before
	for i := range segments {
		n := len(segments[i].levels)
		if n == 0 || n > len(accesses)-covered {
			return before, fmt.Errorf("%w: segment %d has %d accesses", ErrProof, i, n)
		}
		covered, last = covered+n, segments[i].after
	}
	if covered != len(accesses) {
		return before, fmt.Errorf("%w: the segments cover %d of %d accesses", ErrProof, covered, len(accesses))
	}
	if last.Bytes() != s.PostRoot {
		return before, fmt.Errorf("%w: it leads to a different root", ErrProof)
	}
	return before, nil
}

// InOrder is a sequential [Parallel].
func InOrder(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// Bits returns the number of bits that a proof claims, the minimum over its segments, without verifying the proof. It
// returns an error that wraps ErrProof if proof cannot be decoded.
func Bits(proof []byte) (int, error) {
	segments, err := decodeProof(proof)
	if err != nil {
		return 0, err
	}
	least := stark.MaxBits
	for i := range segments {
		header, err := stark.ReadHeader(transcript.NewReader(segments[i].argument))
		if err != nil {
			return 0, fmt.Errorf("%w: segment %d: %w", ErrProof, i, err)
		}
		least = min(least, stark.Levels[header.Level].Bits)
	}
	return least, nil
}
