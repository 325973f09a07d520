package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// Manifest describes a snapshot (docs/protocol.md, "Snapshots"). Its JSON is the file [ManifestFile].
type Manifest struct {
	Height         types.Height    `json:"height"` // height of the snapshot's block
	BlockHash      types.BlockHash `json:"block_hash"`
	StateRoot      types.StateRoot `json:"state_root"`
	Format         string          `json:"format"` // encoding of the chunks
	Accounts       uint64          `json:"accounts"`
	Contracts      uint64          `json:"contracts"`
	StorageEntries uint64          `json:"storage_entries"` // keys of contracts' storage
	SizeBytes      uint64          `json:"size_bytes"`      // total size of all chunks' files
	ChunkCount     uint64          `json:"chunk_count"`
	Chunks         []Chunk         `json:"chunks"`     // in reading order
	CreatedAt      uint64          `json:"created_at"` // Unix seconds
	ChainID        uint64          `json:"chainId"`
	GenesisHash    types.BlockHash `json:"genesisHash"` // hash of block 0
	Header         types.Hex       `json:"header"`      // bincode(SignedHeader) of the block
}

// Chunk describes a file of a snapshot.
type Chunk struct {
	Index     uint64       `json:"index"` // position in the list
	SHA256    types.Digest `json:"sha256"`
	SizeBytes uint64       `json:"size_bytes"` // size of the file, which is compressed with zstd
	URL       string       `json:"url"`        // relative to a node's public address
	Kind      Kind         `json:"kind"`
}

// Kind is the kind of a chunk's contents.
type Kind string

// The kinds of chunks, in the order in which they appear.
const (
	KindGenesis   Kind = "genesis"   // the chain's genesis
	KindBlock     Kind = "block"     // the snapshot's block and the results of its execution
	KindState     Kind = "state"     // state keys and values
	KindCode      Kind = "code"      // contracts' codes
	KindPolicies  Kind = "policies"  // policies of accounts that transactions have shown
	KindContracts Kind = "contracts" // the contracts in order of deployment
	KindHolders   Kind = "holders"   // token balances according to Transfer events
)

// Format names the encoding of chunks.
const Format = "cairn-snapshot-1"

// ManifestFile is the name of the manifest in a snapshot's directory, next to the chunks.
const ManifestFile = "manifest.json"

// Bounds of a snapshot.
const (
	maxChunks     = 1 << 17
	maxChunkBytes = 8 << 20                // decompressed
	maxFileBytes  = maxChunkBytes + 64<<10 // zstd never adds more than this
	maxManifest   = 512 * maxChunks        // encoded as JSON
	maxGenesis    = types.MaxGenesisBytes  // bincode(Genesis), split into pieces
	maxBlock      = 256 << 20              // the block and the results of its execution, split into pieces
)

// The errors of an invalid snapshot.
var (
	// ErrManifest is returned for a manifest that is malformed or contradicts itself.
	ErrManifest = errors.New("the snapshot's manifest is not valid")
	// ErrDamaged is returned for a chunk whose SHA-256 is not the manifest's.
	ErrDamaged = errors.New("the chunk is damaged")
	// ErrFalse is returned if a chunk, or all chunks together, do not match the sealed header.
	ErrFalse = errors.New("the snapshot is invalid")
	// ErrOtherChain is returned for a snapshot of another chain than the requested one.
	ErrOtherChain = errors.New("the snapshot belongs to another chain")
	// ErrUntrusted is returned if the block is sealed by a key other than the genesis's producer and its hash was not
	// given.
	ErrUntrusted = errors.New("cannot verify that the snapshot's block belongs to the chain")
)

// Unusable reports whether an error means that a snapshot does not belong to the requested chain, so that fetching it
// again is useless. After any other error, the parts already here remain useful.
func Unusable(err error) bool {
	return errors.Is(err, ErrFalse) || errors.Is(err, ErrOtherChain) || errors.Is(err, ErrUntrusted)
}

// kinds lists the kinds of chunks in order.
var kinds = []Kind{KindGenesis, KindBlock, KindState, KindCode, KindPolicies, KindContracts, KindHolders}

func fileName(index uint64) string { return fmt.Sprintf("%06d.zst", index) }

// PathPrefix begins the paths under which a node serves its snapshots.
const PathPrefix = "/snapshots/"

func chunkPath(height types.Height, index uint64) string {
	return fmt.Sprintf("%s%d/%s", PathPrefix, height, fileName(index))
}

// readManifest reads the manifest of a snapshot and checks its consistency.
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

// checkManifest checks a manifest's consistency: it describes the block whose sealed header it holds, and lists chunks
// as this package writes them.
func checkManifest(m Manifest) (header types.SignedHeader, err error) {
	refuse := func(text string, args ...any) (types.SignedHeader, error) {
		return header, fmt.Errorf("%w: "+text, append([]any{ErrManifest}, args...)...)
	}
	if m.Format != Format {
		return refuse("its format is %q, but this program supports %s", m.Format, Format)
	}
	if header, err = types.DecodeSignedHeader(m.Header); err != nil {
		return refuse("its header: %w", err)
	}
	switch h := header.Header; {
	case !params.Known(h.Version):
		return refuse("its header has protocol version %d, which this program does not support", h.Version)
	case h.Height == 0:
		return refuse("it is for block 0")
	case h.Height != m.Height || h.Hash() != m.BlockHash || h.StateRoot != m.StateRoot || h.ChainID != m.ChainID:
		return refuse("its header belongs to a different block than it states")
	case !header.VerifySeal():
		return refuse("its header is not signed by the producer")
	case m.ChunkCount != uint64(len(m.Chunks)) || len(m.Chunks) > maxChunks:
		return refuse("it lists %d chunks but states %d; the maximum is %d", len(m.Chunks), m.ChunkCount, maxChunks)
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
		return refuse("its chunks have %d bytes, but it states %d", size, m.SizeBytes)
	}
	for _, kind := range kinds[:3] {
		if of[kind] == 0 {
			return refuse("it has no chunk of the kind %s", kind)
		}
	}
	return header, nil
}

// Trust says which chain and block a snapshot must belong to. The zero value trusts any signer.
type Trust struct {
	Genesis types.BlockHash // hash of block 0; zero for any
	// Block is the hash of the snapshot's block. It is required if the producer is no longer the one in the genesis:
	// then nothing in a snapshot shows that the signing key is the chain's.
	Block types.BlockHash
}

// checkGenesis checks a snapshot against t and its genesis. zero is the hash of block 0.
func (t Trust) checkGenesis(m Manifest, header types.SignedHeader, g types.Genesis, zero types.BlockHash) error {
	switch {
	case zero != m.GenesisHash || g.ChainID != m.ChainID:
		return fmt.Errorf("%w: its genesis has the hash %s, but it states %s", ErrFalse, zero, m.GenesisHash)
	case t.Genesis != (types.BlockHash{}) && zero != t.Genesis:
		return fmt.Errorf("%w: its genesis hash is %s, not %s", ErrOtherChain, zero, t.Genesis)
	case t.Block != (types.BlockHash{}) && m.BlockHash != t.Block:
		return fmt.Errorf("%w: it is for block %d, %s, not %s", ErrOtherChain, m.Height, m.BlockHash, t.Block)
	case t == (Trust{}) || t.Block == m.BlockHash || header.Header.Producer == g.Parameters.Producer:
		return nil
	default:
		return fmt.Errorf("%w: block %d is signed by %s, but the producer in the genesis is %s; if production was "+
			"handed over, confirm the block hash %s from a source that you trust, with --bootstrap-hash or "+
			"--block-hash",
			ErrUntrusted, m.Height, header.Header.Producer, g.Parameters.Producer, m.BlockHash)
	}
}
