package snapshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"sync"

	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// sink receives the verified contents of a snapshot. They belong together only if reading ends without an error.
type sink interface {
	PutState(chain.StateEntry) error
	PutCode(hash types.CodeHash, code []byte, since types.Height) error
	PutPolicy(p types.Policy, since types.Height) error
	PutDeployment(chain.Deployment) error
	PutHolder(chain.TokenSum) error
}

// readFile reads a chunk's file and checks it against the manifest.
func readFile(fsys fs.FS, c Chunk) ([]byte, error) {
	file, err := fsys.Open(fileName(c.Index))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(c.SizeBytes)+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return data, checkFile(data, c)
}

// checkFile checks a chunk's file against the manifest.
func checkFile(data []byte, c Chunk) error {
	switch {
	case uint64(len(data)) != c.SizeBytes:
		return fmt.Errorf("%w: it has %d bytes or more, the manifest says %d", ErrDamaged, len(data), c.SizeBytes)
	case sha256.Sum256(data) != c.SHA256:
		return fmt.Errorf("%w: its SHA-256 is not the manifest's", ErrDamaged)
	}
	return nil
}

// content is a chunk, decoded and verified by itself.
type content struct {
	kind      Kind
	piece     []byte // piece of the genesis or the block
	run       provenRun
	codes     [][]byte
	policies  []types.Policy
	contracts []chain.Deployment
	holders   []chain.TokenSum
}

// openChunk decodes a chunk's file, which must match the manifest, and verifies the chunk as far as possible by itself:
// entries of the state against the state root.
func openChunk(data []byte, kind Kind, root types.StateRoot) (c content, err error) {
	c.kind = kind
	plain, err := decompress(data)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrFalse, err)
	}
	switch kind {
	case KindGenesis, KindBlock:
		c.piece = plain
	case KindState:
		var chunk stateChunk
		if chunk, err = decodeState(plain); err == nil {
			c.run, err = chunk.prove(root)
		}
	case KindCode:
		c.codes, err = decodeCodes(plain)
	case KindPolicies:
		c.policies, err = decodePolicies(plain)
	case KindContracts:
		c.contracts, err = decodeDeployments(plain)
	case KindHolders:
		c.holders, err = decodeHolders(plain)
	}
	if err != nil && !errors.Is(err, ErrFalse) {
		err = fmt.Errorf("%w: %w", ErrFalse, err)
	}
	return c, err
}

// read reads and verifies a whole snapshot, and passes its contents to a sink. It calls progress with the bytes done
// and the total. The result has the manifest even after an error, if it could be read.
func read(
	ctx context.Context, fsys fs.FS, trust Trust, into sink, progress func(done, total uint64),
) (*reader, error) {
	m, header, err := readManifest(fsys)
	r := &reader{
		manifest: m, header: header, trust: trust, sink: into,
		codes: make(map[types.CodeHash]codeUse), seed: maphash.MakeSeed(),
	}
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var done uint64
	for chunk := range ahead(ctx, fsys, m) {
		if ctx.Err() != nil {
			break // discard the chunks opened ahead
		}
		if chunk.err != nil {
			return r, fmt.Errorf("chunk %d, %s: %w", chunk.Index, chunk.Kind, chunk.err)
		}
		if err := r.add(chunk.content); err != nil {
			return r, fmt.Errorf("chunk %d, %s: %w", chunk.Index, chunk.Kind, err)
		}
		done += chunk.SizeBytes
		progress(done, m.SizeBytes)
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	return r, r.finish()
}

// opened is an opened chunk, or the error of opening it.
type opened struct {
	Chunk
	content
	err error
}

// ahead opens the chunks of a snapshot on all cores and yields them in order.
func ahead(ctx context.Context, fsys fs.FS, m Manifest) func(yield func(opened) bool) {
	return func(yield func(opened) bool) {
		workers := machine.Cores()
		var group sync.WaitGroup
		defer group.Wait()
		waiting := make([]chan opened, 0, workers)
		for next := 0; ; {
			for ; next < len(m.Chunks) && len(waiting) < workers && ctx.Err() == nil; next++ {
				chunk, result := m.Chunks[next], make(chan opened, 1)
				waiting = append(waiting, result)
				group.Go(func() {
					o := opened{Chunk: chunk}
					var data []byte
					if data, o.err = readFile(fsys, chunk); o.err == nil {
						o.content, o.err = openChunk(data, chunk.Kind, m.StateRoot)
					}
					result <- o
				})
			}
			if len(waiting) == 0 || !yield(<-waiting[0]) {
				return
			}
			waiting = waiting[1:]
		}
	}
}
