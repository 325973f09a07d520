package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

var (
	// ErrExists is returned if a snapshot of that height already exists.
	ErrExists = errors.New("a snapshot of this block already exists")
	// ErrNoBlock is returned while the chain has only block 0, whose seal is empty: a snapshot needs a sealed block.
	ErrNoBlock = errors.New("there is no block after genesis yet")
)

// runBytes bounds the encoded entries in a chunk. It leaves room for the siblings up to maxChunkBytes.
const runBytes = maxChunkBytes - 32<<10

// newSuffix is the suffix of a directory in which a snapshot is being made.
const newSuffix = ".new"

// Create makes a snapshot of the store's head in a new directory below parent, named after the height. The directory
// appears atomically. now is the creation time in the manifest, in Unix seconds. Blocks may be appended meanwhile. The
// memory needed is that of the block and a few chunks.
func Create(ctx context.Context, store *chain.Store, parent string, now uint64) (m Manifest, err error) {
	return create(ctx, store, parent, now, runBytes)
}

// create is [Create] with chunks of at most limit bytes of entries.
func create(ctx context.Context, store *chain.Store, parent string, now uint64, limit int) (m Manifest, err error) {
	return createIn(ctx, store, parent, now, limit, nil)
}

// createIn is create with a check for disk space: space, unless nil, is called before each chunk, and its error ends
// the snapshot.
func createIn(
	ctx context.Context, store *chain.Store, parent string, now uint64, limit int, space func() error,
) (m Manifest, err error) {
	if store.Head().Header.Height == 0 {
		return m, ErrNoBlock
	}
	st, err := store.HeadState()
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	final := filepath.Join(parent, strconv.FormatUint(uint64(st.Height()), 10))
	if _, err := os.Stat(final); !errors.Is(err, fs.ErrNotExist) {
		return m, errors.Join(fmt.Errorf("%w: %s", ErrExists, final), err)
	}
	dir := final + newSuffix
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return m, err
	}
	c, err := newCreator(ctx, dir, st, limit)
	if err != nil {
		return m, err
	}
	c.space = space
	m, err = c.create(store.Genesis(), now)
	if err == nil {
		err = publish(dir, final)
	}
	if err != nil {
		return m, errors.Join(err, os.RemoveAll(dir))
	}
	return m, nil
}

// disk is the file system that holds snapshots.
var disk kv.FS

// publish renames a complete directory to its final name. Its files must be synced.
func publish(dir, final string) error {
	return errors.Join(disk.SyncDir(dir), os.Rename(dir, final), disk.SyncDir(filepath.Dir(final)))
}

type creator struct {
	ctx      context.Context
	dir      string
	state    *chain.State
	limit    int          // bytes of entries in a chunk
	space    func() error // called before each chunk; nil for no check
	zstd     *zstd.Encoder
	manifest Manifest

	run struct { // the entries of the next chunk of the state
		before  *place // last entry of the previous run
		leaves  []tree.Leaf
		entries *codec.Encoder
		last    chain.StateEntry
	}
	runs   []written // chunks of the state that still lack their siblings
	cutter tree.Cutter
}

// written is a partly written chunk file.
type written struct {
	index uint64
	hash  hash.Hash
}

func newCreator(ctx context.Context, dir string, st *chain.State, limit int) (*creator, error) {
	encoder, err := newEncoder()
	return &creator{ctx: ctx, dir: dir, state: st, limit: limit, zstd: encoder}, err
}

func (c *creator) create(g types.Genesis, now uint64) (Manifest, error) {
	block, err := c.state.Entry()
	if err != nil {
		return Manifest{}, err
	}
	zero, err := ledger.GenesisBlock(g)
	if err != nil {
		return Manifest{}, err
	}
	header := block.Signed()
	c.manifest = Manifest{
		Height:      header.Header.Height,
		BlockHash:   header.Header.Hash(),
		StateRoot:   header.Header.StateRoot,
		Format:      Format,
		CreatedAt:   now,
		ChainID:     header.Header.ChainID,
		GenesisHash: zero.Header.Hash(),
		Header:      header.Encode(),
	}
	for _, part := range []func() error{
		func() error { return c.pieces(KindGenesis, g.Encode(), maxGenesis) },
		func() error { return c.pieces(KindBlock, encodeExecuted(block), maxBlock) },
		c.entries, c.sides, c.codes, c.policies, c.contracts, c.holders, c.finish,
	} {
		if err := part(); err != nil {
			return c.manifest, err
		}
	}
	return c.manifest, nil
}

// pieces writes data that may be longer than a chunk.
func (c *creator) pieces(kind Kind, data []byte, limit int) error {
	if len(data) > limit {
		return fmt.Errorf("the %s has %d bytes, but a snapshot can hold at most %d", kind, len(data), limit)
	}
	for len(data) > 0 {
		n := min(len(data), maxChunkBytes)
		if err := c.whole(kind, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// whole writes a complete chunk.
func (c *creator) whole(kind Kind, data []byte) error {
	_, err := c.begin(kind, data)
	return err
}

// begin starts a new chunk with data. More may be added to it.
func (c *creator) begin(kind Kind, data []byte) (written, error) {
	if err := c.ctx.Err(); err != nil {
		return written{}, err
	}
	if c.space != nil {
		if err := c.space(); err != nil {
			return written{}, err
		}
	}
	w := written{uint64(len(c.manifest.Chunks)), sha256.New()}
	if w.index == maxChunks {
		return w, fmt.Errorf("the state needs more than %d chunks", maxChunks)
	}
	c.manifest.Chunks = append(c.manifest.Chunks, Chunk{
		Index: w.index, URL: chunkPath(c.manifest.Height, w.index), Kind: kind,
	})
	return w, c.add(w, data)
}

// add appends a zstd frame to a chunk's file.
func (c *creator) add(w written, data []byte) error {
	frame := c.zstd.EncodeAll(data, nil)
	chunk := &c.manifest.Chunks[w.index]
	chunk.SizeBytes += uint64(len(frame))
	c.manifest.SizeBytes += uint64(len(frame))
	w.hash.Write(frame) // never fails
	chunk.SHA256 = types.Digest(w.hash.Sum(nil))
	return appendFile(filepath.Join(c.dir, fileName(w.index)), frame)
}

// appendFile appends to a file, which it creates if necessary, and syncs it.
func appendFile(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// entries writes the chunks of the state without their siblings.
func (c *creator) entries() error {
	c.run.entries = codec.NewEncoder(c.limit)
	if err := c.state.Entries(c.entry); err != nil {
		return err
	}
	return c.endRun()
}

func (c *creator) entry(e chain.StateEntry) error {
	if c.run.entries.Len()+16+len(e.Key)+len(e.Value) > c.limit && len(c.run.leaves) > 0 {
		if err := c.endRun(); err != nil {
			return err
		}
	}
	switch state.Domain(e.Key[0]) {
	case state.DomainAccount:
		c.manifest.Accounts++
	case state.DomainContract:
		c.manifest.Contracts++
	case state.DomainStorage:
		c.manifest.StorageEntries++
	}
	encodeEntry(c.run.entries, e.Key, e.Value)
	c.run.leaves = append(c.run.leaves, tree.Leaf{Path: e.Path, Digest: e.Leaf})
	c.run.last = e
	return nil
}

// endRun writes the run's chunk and begins the next run.
func (c *creator) endRun() error {
	w, err := c.begin(KindState, encodeRun(c.run.before, len(c.run.leaves), c.run.entries.Data()))
	if err != nil {
		return err
	}
	c.runs = append(c.runs, w)
	if err := c.cutter.Add(c.run.leaves, inOrder); err != nil {
		return err
	}
	c.run.before = &place{c.run.last.Path, poseidon.Hash(poseidon.TagValue, c.run.last.Value)}
	c.run.leaves = c.run.leaves[:0]
	c.run.entries.Reset()
	return nil
}

// sides appends the siblings to each chunk of the state.
func (c *creator) sides() error {
	root, cuts, err := c.cutter.Finish(inOrder)
	if err != nil {
		return err
	}
	if root != c.manifest.StateRoot {
		return fmt.Errorf(
			"the stored leaves have the root %s, block %d has %s", root, c.manifest.Height, c.manifest.StateRoot,
		)
	}
	var left []tree.Sibling
	for i, w := range c.runs {
		if err := c.add(w, encodeSides(left, cuts[i].Right)); err != nil {
			return err
		}
		left = cuts[i].Left
	}
	return nil
}

// itemList writes items, added one by one, to as many chunks as needed.
type itemList struct {
	*creator
	kind  Kind
	items *codec.Encoder
	count int
}

func (c *creator) list(kind Kind) *itemList {
	return &itemList{creator: c, kind: kind, items: codec.NewEncoder(1 << 20)}
}

// add adds an item of at most size bytes.
func (l *itemList) add(size int, encode func(*codec.Encoder)) error {
	if l.items.Len()+size > l.limit {
		if err := l.end(); err != nil {
			return err
		}
	}
	encode(l.items)
	l.count++
	return nil
}

// end writes the remaining items.
func (l *itemList) end() error {
	if l.count == 0 {
		return nil
	}
	e := codec.NewEncoder(8 + l.items.Len())
	e.U64(uint64(l.count))
	e.Fixed(l.items.Data())
	l.items.Reset()
	l.count = 0
	return l.whole(l.kind, e.Data())
}

func (c *creator) codes() error {
	l := c.list(KindCode)
	if err := c.state.Codes(func(code []byte) error {
		return l.add(8+len(code), func(e *codec.Encoder) { e.Bytes(code) })
	}); err != nil {
		return err
	}
	return l.end()
}

func (c *creator) policies() error {
	l := c.list(KindPolicies)
	if err := c.state.Policies(func(p types.Policy) error {
		encoded := p.Encode()
		return l.add(8+len(encoded), func(e *codec.Encoder) { e.Bytes(encoded) })
	}); err != nil {
		return err
	}
	return l.end()
}

func (c *creator) contracts() error {
	const atOnce = 4096
	l := c.list(KindContracts)
	var after chain.Position
	for {
		some, err := c.state.Contracts(after, atOnce)
		if err != nil {
			return err
		}
		for _, d := range some {
			if err := l.add(deploymentBytes, func(e *codec.Encoder) { encodeDeployment(e, d) }); err != nil {
				return err
			}
			after = d.Position
		}
		if len(some) < atOnce {
			return l.end()
		}
	}
}

func (c *creator) holders() error {
	l := c.list(KindHolders)
	if err := c.state.TokenSums(func(h chain.TokenSum) error {
		return l.add(holderBytes, func(e *codec.Encoder) { encodeHolder(e, h) })
	}); err != nil {
		return err
	}
	return l.end()
}

// finish writes the manifest.
func (c *creator) finish() error {
	c.manifest.ChunkCount = uint64(len(c.manifest.Chunks))
	if _, err := checkManifest(c.manifest); err != nil {
		return err
	}
	return writeManifest(c.dir, c.manifest)
}

func writeManifest(dir string, m Manifest) error {
	content, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return appendFile(filepath.Join(dir, ManifestFile), append(content, '\n'))
}
