package testkit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/testkit/plainverifier"
)

// The second verifier of bundles, as docs/proofs.md and docs/protocol.md define it. It works on bytes and big integers,
// and uses no code of packages blockproof, verifier, types, codec, crypto and poseidon. The circuit is read as data.

// naiveReader reads bincode; its results after an error are meaningless.
type naiveReader struct {
	rest []byte
	err  error
}

func (r *naiveReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.err, r.rest = errors.New("too short"), nil
		n = min(n, 64)
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *naiveReader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *naiveReader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// list returns the length of a list whose items have at least size bytes each.
func (r *naiveReader) list(size uint64) uint64 {
	n := r.u64()
	if n > uint64(len(r.rest))/size {
		r.err = errors.New("a list longer than what there is")
		return 0
	}
	return n
}

func (r *naiveReader) vector() []byte { return r.take(r.list(1)) }

func (r *naiveReader) digest() (d naiveDigest) {
	b := r.take(32)
	for i := range d {
		if d[i] = binary.BigEndian.Uint32(b[4*i:]); d[i] >= koalaBear {
			r.err = errors.New("a digest that is not canonical")
		}
	}
	return d
}

func (r *naiveReader) level() uint8 {
	level := r.take(1)[0]
	if level == 0 || level > 248 {
		r.err = errors.New("level")
	}
	return level
}

// naiveHeader holds the bytes of a header with its seal.
type naiveHeader []byte

func (h naiveHeader) chainID() uint64   { return binary.LittleEndian.Uint64(h[4:]) }
func (h naiveHeader) height() uint64    { return binary.LittleEndian.Uint64(h[12:]) }
func (h naiveHeader) parent() []byte    { return h[20:52] }
func (h naiveHeader) producer() []byte  { return h[60:92] }
func (h naiveHeader) stateRoot() []byte { return h[156:188] }
func (h naiveHeader) seal() []byte      { return h[212:] } // variant and signature
func (h naiveHeader) hash() [32]byte    { return naiveTagged("cairn/block/v2", h[:212]) }
func (h naiveHeader) isUnsealed() bool {
	return h.height() == 0 && bytes.Equal(h.seal(), make([]byte, 68))
}
func (h naiveHeader) root() *naiveReader { return &naiveReader{rest: h.stateRoot()} }

func (h naiveHeader) isSealed() bool {
	hash := h.hash()
	return bytes.Equal(h.seal()[:4], make([]byte, 4)) && naiveVerify(h.producer(), hash[:], h.seal()[4:])
}

// naiveVerify implements BIP-340's verification.
func naiveVerify(public, message, signature []byte) bool {
	x, r, s := number(public), number(signature[:32]), number(signature[32:])
	if x.Cmp(curveP) >= 0 || r.Cmp(curveP) >= 0 || s.Cmp(curveOrder) >= 0 {
		return false
	}
	square := new(big.Int).Exp(x, big.NewInt(3), curveP)
	y := new(big.Int).ModSqrt(square.Add(square, big.NewInt(7)).Mod(square, curveP), curveP)
	if y == nil {
		return false
	}
	if y.Bit(0) == 1 {
		y.Sub(curveP, y)
	}
	challenge := naiveTagged("BIP0340/challenge", signature[:32], public, message)
	e := new(big.Int).Mod(number(challenge[:]), curveOrder)
	point := curveG.times(s).plus(point{x, y}.times(e.Sub(curveOrder, e)))
	return point.x != nil && point.y.Bit(0) == 0 && point.x.Cmp(r) == 0
}

// naiveAccess is an entry of the list: its bytes, and its part of the tree.
type naiveAccess struct {
	encoded, key  []byte
	path          naiveDigest
	before, after naiveDigest // leaves
}

func readAccesses(r *naiveReader) (accesses []naiveAccess) {
	for range r.list(24) {
		from := r.rest
		a := naiveAccess{key: r.vector()}
		old, new := r.vector(), r.vector()
		if r.err != nil {
			return nil
		}
		if n := len(accesses); n > 0 && bytes.Compare(accesses[n-1].key, a.key) >= 0 {
			r.err = errors.New("keys do not ascend")
		}
		a.encoded = from[:len(from)-len(r.rest)]
		a.path = naivePath(a.key)
		if len(old) > 0 {
			a.before = naiveLeaf(a.path, naiveValueHash(old))
		}
		if len(new) > 0 {
			a.after = naiveLeaf(a.path, naiveValueHash(new))
		}
		accesses = append(accesses, a)
	}
	return accesses
}

func digestOf(accesses []naiveAccess) [32]byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(accesses)))
	for _, a := range accesses {
		b = append(b, a.encoded...)
	}
	return sha256.Sum256(b)
}

// naiveVerifyBundle returns nil for a valid bundle with a proof of 100 or 128 bits.
func naiveVerifyBundle(bundle []byte, bits int) error {
	r := &naiveReader{rest: bundle}
	parent, header := naiveHeader(r.take(280)), naiveHeader(r.take(280))
	if r.err != nil {
		return r.err
	}
	accesses := readAccesses(r)
	proof := &naiveReader{rest: r.vector()}
	switch {
	case r.err != nil:
		return r.err
	case len(r.rest) > 0:
		return errors.New("bytes after the bundle")
	}
	parentHash := parent.hash()
	switch {
	case header.height() != parent.height()+1 || header.chainID() != parent.chainID() ||
		!bytes.Equal(header.parent(), parentHash[:]):
		return errors.New("the header does not follow")
	case !parent.isUnsealed() && !parent.isSealed() || !header.isSealed():
		return errors.New("a seal")
	}
	return checkSegments(parent, header, accesses, proof, bits)
}

// checkSegments checks a proof's segments one after the other.
func checkSegments(parent, header naiveHeader, accesses []naiveAccess, r *naiveReader, bits int) error {
	hash, digest := header.hash(), digestOf(accesses)
	accesses = slices.SortedFunc(slices.Values(accesses), func(a, b naiveAccess) int {
		return slices.Compare(a.path[:], b.path[:])
	})
	for i := range accesses {
		if i > 0 && accesses[i].path == accesses[i-1].path {
			return errors.New("two keys of one path")
		}
	}
	root := parent.root()
	before := root.digest()
	if version := r.take(1)[0]; version != 1 || root.err != nil {
		return errors.New("version or root before")
	}
	count := r.u64()
	for low, i := 0, uint64(0); i < count || low < len(accesses); i++ {
		from := r.rest
		s := readSegment(r)
		stated := from[:len(from)-len(r.rest)]
		argument := r.vector()
		if r.err != nil || i == count || len(s.levels) == 0 || len(s.levels) > len(accesses)-low || len(argument) < 2 {
			return fmt.Errorf("segment %d: %w", i, cmpError(r.err))
		}
		if argument[1] == 0 && bits > 100 {
			return errors.New("too few bits")
		}
		context := binary.LittleEndian.AppendUint64(nil, 19)
		context = append(context, "cairn/blockproof/S1"...)
		context = binary.LittleEndian.AppendUint64(context, header.chainID())
		context = binary.LittleEndian.AppendUint64(context, header.height())
		context = append(append(context, hash[:]...), digest[:]...)
		for _, n := range []uint64{i, count, uint64(len(accesses)), uint64(low)} {
			context = binary.LittleEndian.AppendUint32(context, uint32(n))
		}
		start := before.bytes()
		context = append(append(context, start[:]...), stated...)
		high := low + len(s.levels)
		if err := plainverifier.Verify(plainverifier.Statement{
			Circuit: blockproof.Circuit(),
			Context: context,
			Public:  append(before[:], s.after[:]...),
			Terms:   s.terms(accesses[low:high]),
		}, argument); err != nil {
			return fmt.Errorf("segment %d: %w", i, err)
		}
		low, before = high, s.after
	}
	if end := before.bytes(); !bytes.Equal(end[:], header.stateRoot()) {
		return errors.New("root after")
	}
	if len(r.rest) > 0 {
		return errors.New("bytes after the proof")
	}
	return r.err
}

func cmpError(err error) error {
	if err == nil {
		return errors.New("it does not fit the list")
	}
	return err
}

// naiveSegment is the part of a proof about one segment.
type naiveSegment struct {
	levels []byte
	others []naiveOther
	steps  []uint32
	after  naiveDigest
}

type naiveOther struct {
	level           uint8
	path, valueHash naiveDigest
}

func readSegment(r *naiveReader) (s naiveSegment) {
	for range r.list(1) {
		s.levels = append(s.levels, r.level())
	}
	for i := range r.list(65) {
		s.others = append(s.others, naiveOther{r.level(), r.digest(), r.digest()})
		if i > 0 && slices.Compare(s.others[i-1].path[:], s.others[i].path[:]) >= 0 {
			r.err = errors.New("other leaves do not ascend")
		}
	}
	for range r.list(4) {
		s.steps = append(s.steps, r.u32())
	}
	if n := len(s.steps); n == 0 || n > 248 || s.steps[n-1] == 0 || slices.Max(s.steps) > 1<<17 {
		r.err = errors.New("steps")
	}
	s.after = r.digest()
	return s
}

// terms returns the public side of a segment with these entries.
func (s *naiveSegment) terms(entries []naiveAccess) (terms []plainverifier.Term) {
	position := func(level uint8, path naiveDigest, leaves ...naiveDigest) {
		tuple := []uint32{uint32(level)}
		for i, e := range path { // the bits of the element from level on are 0
			kept := min(31, max(0, int(level)-31*i))
			tuple = append(tuple, e>>(31-kept)<<(31-kept))
		}
		for _, leaf := range leaves {
			if leaf == (naiveDigest{}) {
				tuple = append(tuple, 1, 0)
			} else {
				tuple = append(tuple, 0, 1)
			}
		}
		for _, leaf := range leaves {
			tuple = append(tuple, leaf[:]...)
		}
		terms = append(terms, plainverifier.Term{Bus: 1, Multiplicity: koalaBear - 1, Tuple: tuple})
	}
	for i, e := range entries {
		position(s.levels[i], e.path, e.before, e.after)
	}
	for _, o := range s.others {
		leaf := naiveLeaf(o.path, o.valueHash)
		position(o.level, o.path, leaf, leaf)
	}
	for level, n := range s.steps {
		tuple := make([]uint32, 9)
		tuple[0] = uint32(level)
		tuple[1+level/31] = 1 << (30 - level%31)
		terms = append(terms, plainverifier.Term{Bus: 2, Multiplicity: (koalaBear - n) % koalaBear, Tuple: tuple})
	}
	return terms
}
