package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// newEncoder returns an encoder that compresses chunks one frame at a time.
func newEncoder() (*zstd.Encoder, error) { return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) }

// decompress decompresses consecutive zstd frames. It fails if the output exceeds maxChunkBytes in total.
func decompress(data []byte) ([]byte, error) {
	decoder, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(2*maxChunkBytes),
		zstd.WithDecoderMaxWindow(maxChunkBytes))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(decoder, maxChunkBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompress: %w", err)
	case n > maxChunkBytes:
		return nil, fmt.Errorf("it has more than %d bytes decompressed", maxChunkBytes)
	}
	return out.Bytes(), nil
}

// pair is a state key with its value.
type pair struct{ key, value []byte }

// place is a leaf's path and the hash of its value, the inputs of the leaf's digest.
type place struct{ path, valueHash poseidon.Digest }

// stateChunk is a run of the state's entries:
//
//	State   { before: Option<Place>, entries: Vec<Entry>, left: Vec<Sibling>, right: Vec<Sibling> }
//	Place   { path: [u8;32], value_hash: [u8;32] }
//	Entry   { key: Vec<u8>, value: Vec<u8> }
//	Sibling { depth: u8, digest: [u8;32] }
//
// before is the last entry of the previous chunk. left holds the siblings to the left of the path to before, and right
// those to the right of the path to the last entry, root first, without empty ones.
type stateChunk struct {
	before      *place
	entries     []pair
	left, right []tree.Sibling
}

func encodeEntry(e *codec.Encoder, key, value []byte) {
	e.Bytes(key)
	e.Bytes(value)
}

// encodeRun encodes the part of a chunk that is known while the state is read. The entries are already encoded.
func encodeRun(before *place, count int, entries []byte) []byte {
	e := codec.NewEncoder(128 + len(entries))
	e.Option(before != nil)
	if before != nil {
		encodeDigest(e, before.path)
		encodeDigest(e, before.valueHash)
	}
	e.U64(uint64(count))
	e.Fixed(entries)
	return e.Data()
}

// encodeSides encodes the rest of a chunk: the siblings on both sides.
func encodeSides(left, right []tree.Sibling) []byte {
	e := codec.NewEncoder(16 + siblingBytes*(len(left)+len(right)))
	for _, side := range [][]tree.Sibling{left, right} {
		e.U64(uint64(len(side)))
		for _, s := range side {
			e.U8(uint8(s.Depth))
			encodeDigest(e, s.Digest)
		}
	}
	return e.Data()
}

func encodeDigest(e *codec.Encoder, d poseidon.Digest) {
	b := d.Bytes()
	e.Fixed(b[:])
}

// Bounds on the contents of chunks.
const (
	maxKeyBytes  = 1 + 32 + types.MaxStorageKeyBytes
	pathBits     = 248
	siblingBytes = 1 + 32
)

// decodeState decodes a chunk of the state without verifying it. Keys and values alias data.
func decodeState(data []byte) (c stateChunk, err error) {
	d := codec.NewDecoder(data)
	if d.Option() {
		c.before = &place{decodeDigest(d), decodeDigest(d)}
	}
	c.entries = make([]pair, d.Length(maxChunkBytes, 16))
	for i := range c.entries {
		c.entries[i] = pair{d.Bytes(maxKeyBytes), d.Bytes(types.MaxStorageValueBytes)}
		if len(c.entries[i].key) == 0 || len(c.entries[i].value) == 0 {
			d.Fail(errors.New("an empty key or value"))
			break
		}
	}
	if len(c.entries) == 0 {
		d.Fail(errors.New("no entries"))
	}
	c.left, c.right = decodeSiblings(d), decodeSiblings(d)
	return c, d.Finish()
}

func decodeSiblings(d *codec.Decoder) []tree.Sibling {
	siblings := make([]tree.Sibling, d.Length(pathBits, siblingBytes))
	for i := range siblings {
		siblings[i] = tree.Sibling{Depth: int(d.U8()), Digest: decodeDigest(d)}
	}
	return siblings
}

func decodeDigest(d *codec.Decoder) poseidon.Digest {
	var b [32]byte
	d.Fixed(b[:])
	digest, err := poseidon.ParseDigest(b)
	if err != nil {
		d.Fail(err)
	}
	return digest
}

// provenRun is a run of entries that is proven complete under a state root.
type provenRun struct {
	before *poseidon.Digest // path of the entry before the run; nil if the run begins with the first entry of the state
	chain  []chain.StateEntry
	last   bool // whether the run ends with the last entry of the state
}

// prove verifies a chunk by itself against a state root: it holds exactly the entries after before up to its last.
func (c stateChunk) prove(root types.StateRoot) (run provenRun, err error) {
	run.chain = make([]chain.StateEntry, len(c.entries))
	leaves := make([]tree.Leaf, 0, 1+len(c.entries))
	if c.before != nil {
		run.before = &c.before.path
		leaves = append(leaves, tree.Leaf{Path: c.before.path, Digest: leafOf([]place{*c.before})[0]})
	} else if len(c.left) > 0 {
		return run, fmt.Errorf("%w: it does not say which entry is before it", ErrFalse)
	}
	const batch = 512
	for from := 0; from < len(c.entries); from += batch {
		entries := c.entries[from:min(from+batch, len(c.entries))]
		places := placesOf(entries)
		for i, digest := range leafOf(places) {
			leaves = append(leaves, tree.Leaf{Path: places[i].path, Digest: digest})
			run.chain[from+i] = chain.StateEntry{
				Path: places[i].path, Leaf: digest, Key: entries[i].key, Value: entries[i].value,
			}
		}
	}
	got, err := tree.RangeRoot(c.left, leaves, c.right, inOrder)
	if err != nil {
		return run, fmt.Errorf("%w: %w", ErrFalse, err)
	}
	if got != root {
		return run, fmt.Errorf("%w: its entries lead to the state root %s, not %s", ErrFalse, got, root)
	}
	run.last = len(c.right) == 0
	return run, nil
}

func placesOf(entries []pair) []place {
	keys, values := make([][]byte, len(entries)), make([][]byte, len(entries))
	for i, e := range entries {
		keys[i], values[i] = e.key, e.value
	}
	hashes := make([]poseidon.Digest, len(entries))
	poseidon.HashMany(poseidon.TagValue, hashes, values)
	places := make([]place, len(entries))
	for i, path := range tree.Paths(keys) {
		places[i] = place{path, hashes[i]}
	}
	return places
}

func leafOf(places []place) []poseidon.Digest {
	pairs := make([][2]poseidon.Digest, len(places))
	for i, p := range places {
		pairs[i] = [2]poseidon.Digest{p.path, p.valueHash}
	}
	digests := make([]poseidon.Digest, len(places))
	poseidon.Leaves(digests, pairs)
	return digests
}

// inOrder is a tree.Parallel that uses a single goroutine: chunks, not their parts, are processed in parallel.
func inOrder(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// decodeCodes decodes Vec<Vec<u8>>, the codes ascending by SHA-256. They alias data.
func decodeCodes(data []byte) ([][]byte, error) {
	d := codec.NewDecoder(data)
	codes := make([][]byte, d.Length(maxChunkBytes, 8))
	var last [32]byte
	for i := range codes {
		codes[i] = d.Bytes(types.MaxCodeBytes)
		if d.Err() != nil {
			break
		}
		hash := sha256.Sum256(codes[i])
		if i > 0 && bytes.Compare(last[:], hash[:]) >= 0 {
			d.Fail(fmt.Errorf("code %d does not ascend", i))
		}
		last = hash
	}
	return codes, d.Finish()
}

// decodePolicies decodes Vec<Vec<u8>> of valid policies.
func decodePolicies(data []byte) ([]types.Policy, error) {
	d := codec.NewDecoder(data)
	policies := make([]types.Policy, d.Length(maxChunkBytes, 8))
	for i := range policies {
		encoded := d.Bytes(types.MaxTransactionBytes)
		if d.Err() != nil {
			break
		}
		p, err := types.DecodePolicy(encoded)
		if err == nil {
			err = p.Check()
		}
		if err != nil {
			d.Fail(fmt.Errorf("policy %d: %w", i, err))
			break
		}
		policies[i] = p
	}
	return policies, d.Finish()
}

const (
	deploymentBytes = 8 + 4 + 32
	holderBytes     = 32 + 32 + 16
)

func encodeDeployment(e *codec.Encoder, d chain.Deployment) {
	e.U64(uint64(d.Height))
	e.U32(d.Index)
	e.Fixed(d.Contract[:])
}

// decodeDeployments decodes Vec<{ height: u64, index: u32, contract: [u8;32] }>, ascending by height and index.
func decodeDeployments(data []byte) ([]chain.Deployment, error) {
	d := codec.NewDecoder(data)
	list := make([]chain.Deployment, d.Length(maxChunkBytes, deploymentBytes))
	for i := range list {
		list[i].Height, list[i].Index = types.Height(d.U64()), d.U32()
		d.Fixed(list[i].Contract[:])
		if i > 0 && list[i-1].Compare(list[i].Position) >= 0 {
			d.Fail(fmt.Errorf("contract %d does not ascend", i))
			break
		}
	}
	return list, d.Finish()
}

func encodeHolder(e *codec.Encoder, h chain.TokenSum) {
	e.Fixed(h.Token[:])
	e.Fixed(h.Account[:])
	e.U64(h.Low)
	e.U64(h.High)
}

// decodeHolders decodes Vec<{ token: [u8;32], account: [u8;32], sum: i128 }>, ascending by token and account.
func decodeHolders(data []byte) ([]chain.TokenSum, error) {
	d := codec.NewDecoder(data)
	list := make([]chain.TokenSum, d.Length(maxChunkBytes, holderBytes))
	for i := range list {
		h := &list[i]
		d.Fixed(h.Token[:])
		d.Fixed(h.Account[:])
		h.Low, h.High = d.U64(), d.U64()
		switch {
		case d.Err() != nil:
		case h.Low == 0 && h.High == 0:
			d.Fail(fmt.Errorf("holder %d holds nothing", i))
		case i > 0 && compareHolders(list[i-1], *h) >= 0:
			d.Fail(fmt.Errorf("holder %d does not ascend", i))
		}
	}
	return list, d.Finish()
}

func compareHolders(a, b chain.TokenSum) int {
	if c := a.Token.Compare(b.Token); c != 0 {
		return c
	}
	return a.Account.Compare(b.Account)
}
