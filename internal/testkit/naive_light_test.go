package testkit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
)

// A second implementation of the checks of a stateless client, as docs/protocol.md defines them: that a block includes
// a transaction with its receipt, and that headers follow each other. It works on bytes, without the packages proof,
// lists, tree, types, codec, crypto and poseidon.

// skipPayload reads a payload and discards it.
func (r *naiveReader) skipPayload() {
	switch kind := r.u32(); kind {
	case 0:
		r.skipOption(32)
	case 1:
		r.vector()
		r.vector()
		r.vector()
	case 2, 6:
		r.vector()
		r.vector()
	case 3:
		r.take(138)
		r.skipOption(12)
	case 4:
		for range r.list(45) {
			r.take(40)
			r.skipPayload()
		}
	case 5:
		r.take(1)
		if r.take(1)[0] == 1 {
			r.skipPolicy()
		}
	default:
		r.err = errors.New("payload")
	}
}

// skipOption skips an Option of the given size.
func (r *naiveReader) skipOption(size uint64) {
	if r.take(1)[0] == 1 {
		r.take(size)
	}
}

func (r *naiveReader) skipPolicy() {
	rule := func() {
		r.take(1)
		for range r.list(36) {
			switch r.u32() {
			case 0:
				r.take(32)
			case 1:
				r.take(64)
			default:
				r.take(65)
			}
		}
	}
	r.take(8)
	rule()
	if r.take(1)[0] == 1 {
		rule()
		r.take(8)
	}
}

// naiveTransactionLeaf returns the leaf of an encoded SignedTransaction that can be decoded.
func naiveTransactionLeaf(signed []byte) (naiveDigest, error) {
	r := &naiveReader{rest: signed[1:]}
	r.take(112)
	payer := r.take(1)[0]
	if payer == 1 {
		r.take(32)
	}
	r.skipOption(8)
	r.skipPayload()
	message, witnesses := signed[1:len(signed)-len(r.rest)], r.rest
	hash := naiveTagged("cairn/tx/v2", message)
	if payer == 0 && len(witnesses) == 69 && binary.LittleEndian.Uint32(witnesses) == 0 && witnesses[68] == 0 {
		return naiveSponge(4, 96, append(naivePair(hash[:]), naivePair(witnesses[4:68])...)), r.err
	}
	digest := naiveTagged("cairn/witness/v2", witnesses)
	return naiveSponge(4, 64, append(naivePair(hash[:]), naivePair(digest[:])...)), r.err
}

// naiveReceiptLeaf returns the leaf of an encoded Receipt that can be decoded.
func naiveReceiptLeaf(receipt []byte) (naiveDigest, error) {
	gas, details := binary.LittleEndian.Uint64(receipt[1:9]), sha256.Sum256(receipt[9:])
	if gas>>48 > 0 {
		return naiveDigest{}, errors.New("more gas than a leaf can say")
	}
	limbs := []uint32{uint32(receipt[0]), uint32(gas & 0xffff), uint32(gas >> 16 & 0xffff), uint32(gas >> 32)}
	return naiveSponge(6, 20, append(naivePair(details[:]), limbs...)), nil
}

// naiveInclusion checks an encoded inclusion proof of a leaf under the root of a list with the tag. It returns the
// item's number and the number of items.
func naiveInclusion(tag uint32, root []byte, leaf naiveDigest, proof []byte) (number, n uint32, err error) {
	r := &naiveReader{rest: proof}
	number, n = r.u32(), r.u32()
	digest := r.digest()
	if r.err != nil || digest != leaf {
		return 0, 0, errors.New("another leaf")
	}
	if n < 1 || n >= 1<<18 || number >= n {
		return 0, 0, errors.New("number or n")
	}
	height := uint64(0)
	for n > 1<<height {
		height++
	}
	if r.list(32) != height {
		return 0, 0, errors.New("the number of siblings")
	}
	for h := range height {
		if sibling := r.digest(); number>>h&1 == 0 {
			digest = naiveNode(digest, sibling)
		} else {
			digest = naiveNode(sibling, digest)
		}
	}
	if got := naiveSponge(tag, n, digest[:]).bytes(); r.err != nil || len(r.rest) > 0 || !bytes.Equal(got[:], root) {
		return 0, 0, errors.New("another root")
	}
	return number, n, nil
}

// naiveIncluded checks that a transaction with a receipt is in the block of a header, and reports whether it succeeded.
func naiveIncluded(header naiveHeader, signed, receipt, proofOfTransaction, proofOfReceipt []byte) (bool, error) {
	leaf, err := naiveTransactionLeaf(signed)
	if err != nil {
		return false, err
	}
	number, n, err := naiveInclusion(5, header[92:124], leaf, proofOfTransaction)
	if err != nil {
		return false, err
	}
	if leaf, err = naiveReceiptLeaf(receipt); err != nil {
		return false, err
	}
	again, n2, err := naiveInclusion(7, header[124:156], leaf, proofOfReceipt)
	if err != nil || number != again || n != n2 {
		return false, errors.New("the receipt")
	}
	return receipt[0] == 1, nil
}

// naiveValue checks an encoded Merkle proof of a key under a root and returns the key's value.
func naiveValue(root, key, encoded []byte) ([]byte, error) {
	r := &naiveReader{rest: encoded}
	if !bytes.Equal(r.vector(), key) {
		return nil, errors.New("another key")
	}
	value := r.vector()
	var p naiveProof
	if n := r.list(32); n > 248 {
		return nil, errors.New("too many siblings")
	} else {
		for range n {
			p.siblings = append(p.siblings, r.digest())
		}
	}
	kind := r.u32()
	if kind == 2 {
		p.end = &leafEntry{r.digest(), r.digest()}
	}
	if r.err != nil || len(r.rest) > 0 || kind > 2 || (kind == 0) != (len(value) > 0) {
		return nil, errors.New("not a Merkle proof")
	}
	got, err := p.rootOf(key, value)
	if err == nil && !bytes.Equal(got[:], root) {
		err = errors.New("another root")
	}
	return value, err
}

// rootOf computes the root that belongs to a proof of a key's value, or of its absence if the value is empty.
func (p naiveProof) rootOf(key, value []byte) (root [32]byte, err error) {
	path := naivePath(key)
	var digest naiveDigest
	switch {
	case len(value) > 0:
		digest = naiveLeaf(path, naiveValueHash(value))
	case p.end != nil:
		for depth := range p.siblings {
			if pathBit(p.end.path, depth) != pathBit(path, depth) {
				return root, errors.New("the other leaf leaves the path")
			}
		}
		if p.end.path == path {
			return root, errors.New("the other leaf is the key's own")
		}
		digest = naiveLeaf(p.end.path, p.end.valueHash)
	}
	for depth, sibling := range slices.Backward(p.siblings) {
		if pathBit(path, depth) == 0 {
			digest = naiveNode(digest, sibling)
		} else {
			digest = naiveNode(sibling, digest)
		}
	}
	return digest.bytes(), nil
}

func (h naiveHeader) version() uint32   { return binary.LittleEndian.Uint32(h) }
func (h naiveHeader) timestamp() uint64 { return binary.LittleEndian.Uint64(h[52:]) }

const maxTime = 253_402_300_799_999

// naiveNext checks the header after a trusted one, with an encoded Merkle proof of the parameters or without one.
func naiveNext(last, next naiveHeader, proof []byte) error {
	hash := last.hash()
	switch {
	case next.chainID() != last.chainID() || next.height() != last.height()+1 || !bytes.Equal(next.parent(), hash[:]):
		return errors.New("it does not follow")
	case next.timestamp() < last.timestamp() || next.timestamp() > maxTime:
		return errors.New("the time")
	case !next.isSealed():
		return errors.New("the seal")
	}
	if proof == nil {
		if next.version() != last.version() || !bytes.Equal(next.producer(), last.producer()) {
			return errors.New("a proof is needed")
		}
		return nil
	}
	parameters, err := naiveValue(last.stateRoot(), []byte{0, 1}, proof)
	if err != nil {
		return err
	}
	if len(parameters) != 139 && len(parameters) != 151 || binary.LittleEndian.Uint32(parameters) != 2 {
		return errors.New("the parameters")
	}
	version := uint32(2)
	if len(parameters) == 151 && next.timestamp() >= binary.LittleEndian.Uint64(parameters[143:]) {
		version = binary.LittleEndian.Uint32(parameters[139:])
	}
	if version != 2 || next.version() != version || !bytes.Equal(next.producer(), parameters[34:66]) {
		return errors.New("another producer or version")
	}
	return nil
}
