package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Manifest is what a snapshot says of itself (docs/protocol.md, "Snapshots"). Its JSON is the file [ManifestFile].
type Manifest struct {
	Height         types.Height    `json:"height"` // of the block after which the state is
	BlockHash      types.BlockHash `json:"block_hash"`
	StateRoot      types.StateRoot `json:"state_root"`
	Format         string          `json:"format"` // of the chunks
	Accounts       uint64          `json:"accounts"`
	Contracts      uint64          `json:"contracts"`
	StorageEntries uint64          `json:"storage_entries"` // keys of contracts' storage
	SizeBytes      uint64          `json:"size_bytes"`      // of all chunks
	ChunkCount     uint64          `json:"chunk_count"`
	Chunks         []Chunk         `json:"chunks"`     // in the order in which they are read
	CreatedAt      uint64          `json:"created_at"` // in Unix seconds
	ChainID        uint64          `json:"chainId"`
	GenesisHash    types.BlockHash `json:"genesisHash"` // of block 0
	Header         types.Hex       `json:"header"`      // bincode(SignedHeader) of the block
}

// Chunk is a file of a snapshot.
type Chunk struct {
	Index     uint64       `json:"index"` // its place in the list
	SHA256    types.Digest `json:"sha256"`
	SizeBytes uint64       `json:"size_bytes"` // of the file, which is compressed with zstd
	URL       string       `json:"url"`        // relative to a node's public address
	Kind      Kind         `json:"kind"`
}

// Kind says what a chunk holds.
type Kind string

// The kinds of chunks, in the order in which they come.
const (
	KindGenesis   Kind = "genesis"   // the chain's genesis
	KindBlock     Kind = "block"     // the block after which the state is, with what its execution gave
	KindState     Kind = "state"     // state keys and values
	KindCode      Kind = "code"      // contracts' codes
	KindContracts Kind = "contracts" // the contracts in the order of their deployment
	KindHolders   Kind = "holders"   // who holds tokens, as Transfer events say
)

// Format names the encoding of chunks.
const Format = "cairn-snapshot-1"

// ManifestFile is the file of the manifest in a snapshot's directory. Chunks are beside it.
const ManifestFile = "manifest.json"

// Bounds of a snapshot.
const (
	maxChunks     = 1 << 17
	maxChunkBytes = 8 << 20                // decompressed
	maxFileBytes  = maxChunkBytes + 64<<10 // zstd makes nothing longer by more
	maxManifest   = 512 * maxChunks        // its JSON
	maxGenesis    = 128 << 20              // bincode(Genesis), which chunks hold in pieces
	maxBlock      = 256 << 20              // the block and what its execution gave, likewise
)

// What is wrong with a snapshot.
var (
	// ErrManifest: the manifest is not one, or contradicts itself.
	ErrManifest = errors.New("the snapshot's manifest is not valid")
	// ErrDamaged: a chunk is not the one of which the manifest has the SHA-256.
	ErrDamaged = errors.New("the chunk is damaged")
	// ErrFalse: a chunk, or all together, are not what the signed header commits to.
	ErrFalse = errors.New("the snapshot is not true")
	// ErrOtherChain: the snapshot is of another chain than the one that is asked for.
	ErrOtherChain = errors.New("the snapshot is of another chain")
	// ErrUntrusted: the block is signed by a key that the genesis does not name, and its hash was not given.
	ErrUntrusted = errors.New("the snapshot's block is not known to be the chain's")
)

// Unusable reports whether an error says that a snapshot, however often it is fetched, is none of the chain that is
// asked for. Other errors are of what fetches or reads it: what is there of it is of use later.
func Unusable(err error) bool {
	return errors.Is(err, ErrFalse) || errors.Is(err, ErrOtherChain) || errors.Is(err, ErrUntrusted)
}

// kinds are those of chunks in their order.
var kinds = []Kind{KindGenesis, KindBlock, KindState, KindCode, KindContracts, KindHolders}

func fileName(index uint64) string { return fmt.Sprintf("%06d.zst", index) }

// PathPrefix begins the paths under which a node serves its snapshots.
const PathPrefix = "/snapshots/"

func chunkPath(height types.Height, index uint64) string {
	return fmt.Sprintf("%s%d/%s", PathPrefix, height, fileName(index))
}

// readManifest reads the manifest of a snapshot and checks it against itself.
func readManifest(fsys fs.FS) (m Manifest, header types.SignedHeader, err error) {
	file, err := fsys.Open(ManifestFile)
	if err != nil {
		return m, header, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return m, header, err
	}
	if len(content) > maxManifest {
		return m, header, fmt.Errorf("%w: it has more than %d bytes", ErrManifest, maxManifest)
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return m, header, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	header, err = checkManifest(m)
	return m, header, err
}

// checkManifest checks a manifest against itself: it speaks of the block whose signed header it holds, and lists chunks
// as this package writes them.
func checkManifest(m Manifest) (header types.SignedHeader, err error) {
	refuse := func(text string, args ...any) (types.SignedHeader, error) {
		return header, fmt.Errorf("%w: "+text, append([]any{ErrManifest}, args...)...)
	}
	if m.Format != Format {
		return refuse("its format is %q, this program knows %s", m.Format, Format)
	}
	if header, err = types.DecodeSignedHeader(m.Header); err != nil {
		return refuse("its header: %w", err)
	}
	switch h := header.Header; {
	case h.Height == 0:
		return refuse("it is of block 0")
	case h.Height != m.Height || h.Hash() != m.BlockHash || h.StateRoot != m.StateRoot || h.ChainID != m.ChainID:
		return refuse("its header is of another block than it says")
	case !header.VerifySignature():
		return refuse("its header's signature is not the producer's")
	case m.ChunkCount != uint64(len(m.Chunks)) || len(m.Chunks) > maxChunks:
		return refuse("it lists %d chunks and says %d, at most %d", len(m.Chunks), m.ChunkCount, maxChunks)
	}
	var size uint64
	of := make(map[Kind]int)
	last := 0
	for i, c := range m.Chunks {
		kind := slices.Index(kinds, c.Kind)
		switch {
		case c.Index != uint64(i) || c.URL != chunkPath(m.Height, uint64(i)):
			return refuse("chunk %d is listed as %d, %q", i, c.Index, c.URL)
		case kind < last:
			return refuse("chunk %d is of the kind %q, after %s", i, c.Kind, kinds[last])
		case c.SizeBytes == 0 || c.SizeBytes > maxFileBytes:
			return refuse("chunk %d has %d bytes, at most %d", i, c.SizeBytes, maxFileBytes)
		}
		last = kind
		of[c.Kind]++
		size += c.SizeBytes
	}
	if size != m.SizeBytes {
		return refuse("its chunks have %d bytes, it says %d", size, m.SizeBytes)
	}
	for _, kind := range kinds[:3] {
		if of[kind] == 0 {
			return refuse("it has no chunk of the kind %s", kind)
		}
	}
	return header, nil
}

// Trust says which chain and block a snapshot must be of. Its zero value trusts whoever signed.
type Trust struct {
	Genesis types.BlockHash // hash of block 0; zero: any
	// Block is the hash of the snapshot's block. It is needed where the producer is not the one that the genesis names:
	// then nothing in a snapshot says that its key is the chain's.
	Block types.BlockHash
}

// checkGenesis holds a snapshot to its genesis, whose block 0 is given.
func (t Trust) checkGenesis(m Manifest, header types.SignedHeader, g types.Genesis, zero types.BlockHash) error {
	switch {
	case zero != m.GenesisHash || g.ChainID != m.ChainID:
		return fmt.Errorf("%w: its genesis is that of %s, it says %s", ErrFalse, zero, m.GenesisHash)
	case t.Genesis != (types.BlockHash{}) && zero != t.Genesis:
		return fmt.Errorf("%w: its genesis hash is %s, not %s", ErrOtherChain, zero, t.Genesis)
	case t.Block != (types.BlockHash{}) && m.BlockHash != t.Block:
		return fmt.Errorf("%w: it is of block %d, %s, not of %s", ErrOtherChain, m.Height, m.BlockHash, t.Block)
	case t == (Trust{}) || t.Block == m.BlockHash || header.Header.Producer == g.Parameters.Producer:
		return nil
	default:
		return fmt.Errorf("%w: block %d is signed by %s, the genesis names %s as producer; if production was handed over, "+
			"give the hash of the block, %s, from a source that you trust",
			ErrUntrusted, m.Height, header.Header.Producer, g.Parameters.Producer, m.BlockHash)
	}
}
