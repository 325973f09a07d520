package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/types"
)

// ErrNone is returned if every node answered and none offers a suitable snapshot.
var ErrNone = errors.New("no upstream offers a snapshot")

// Source is a node that offers snapshots.
type Source interface {
	// Name identifies the node in messages.
	Name() string
	// Snapshot returns the node's newest snapshot at or below a height of its chain, or the newest of all for
	// [AnyHeight]; nil if there is none.
	Snapshot(ctx context.Context, atMost types.Height) (*Manifest, error)
	// Chunk reads a chunk's file by its url, starting at byte from. start is the offset at which body begins: from or
	// 0.
	Chunk(ctx context.Context, url string, from uint64) (body io.ReadCloser, start uint64, err error)
}

// AnyHeight asks a [Source] for its newest snapshot.
const AnyHeight = types.Height(math.MaxUint64)

// Download configures the fetching of a snapshot.
type Download struct {
	Sources  []Source
	Trust    Trust  // Genesis is required
	Parent   string // directory that will contain the snapshot, named by its height
	Log      *slog.Logger
	Progress func(done, total uint64) // called with byte counts, from several goroutines
	// Wait pauses between two attempts. It returns the context's error if that ends first. If nil, Fetch uses a real
	// pause.
	Wait func(context.Context, time.Duration) error
}

// Time limits and numbers of attempts per node.
const (
	manifestTime  = time.Minute
	chunkTime     = 2 * time.Minute // per attempt at a chunk; the next attempt continues after the bytes received
	chunkAttempts = 4               // per node
	firstPause    = 500 * time.Millisecond
	longestPause  = 30 * time.Second
)

// partSuffix is the suffix of an incomplete snapshot's directory or chunk's file.
const partSuffix = ".part"

// Fetch fetches the newest snapshot that a source offers and returns its path. It fetches chunks from all sources that
// offer the same snapshot, and verifies each one. A damaged chunk is fetched again from the next source.
//
// Fetch continues a broken download. If a complete snapshot is already here and a source still offers it, Fetch
// verifies it instead of fetching it again. If a snapshot turns out to be false, Fetch tries the next best one. It
// tries until ctx ends, or until it fails with [ErrNone] or the fault of the last snapshot to choose from.
func (d Download) Fetch(ctx context.Context) (string, error) {
	f := fetcher{Download: d, refused: make(map[identity]error)}
	if f.Wait == nil {
		f.Wait = pause.For
	}
	for failures := 0; ; failures++ {
		path, err := f.attempt(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrNone) {
			return path, errors.Join(err, ctx.Err())
		}
		f.Log.Warn("cannot download a snapshot yet: trying again", "error", err)
		if err := f.Wait(ctx, backoff(failures)); err != nil {
			return "", err
		}
	}
}

// backoff returns the pause before the next attempt. It doubles with each failure, with jitter so that many nodes do
// not return at once.
func backoff(failures int) time.Duration {
	longest := min(longestPause, firstPause<<min(failures, 10))
	return longest/2 + rand.N(longest/2)
}

type fetcher struct {
	Download
	refused map[identity]error // snapshots that proved unusable
}

// attempt chooses a snapshot and fetches its missing chunks.
func (f *fetcher) attempt(ctx context.Context) (string, error) {
	m, sources, err := f.choose(ctx)
	if err != nil {
		return "", err
	}
	final := filepath.Join(f.Parent, strconv.FormatUint(uint64(m.Height), 10))
	part := final + partSuffix
	if err := resume(m, final, part); err != nil {
		return "", err
	}
	if err := f.fetch(ctx, m, sources, part); err != nil {
		if Unusable(err) {
			f.refused[identify(m)] = err
			err = errors.Join(err, os.RemoveAll(part))
		}
		return "", err
	}
	// An existing snapshot of this name is not in use: there is no chain yet.
	return final, errors.Join(os.RemoveAll(final), publish(part, final), f.removeParts())
}

// removeParts removes the incomplete downloads of other snapshots.
func (f *fetcher) removeParts() error {
	parts, err := f.parts()
	for _, part := range parts {
		err = errors.Join(err, os.RemoveAll(part))
	}
	return err
}

// parts returns the directories of incomplete snapshots.
func (f *fetcher) parts() ([]string, error) {
	return filepath.Glob(filepath.Join(f.Parent, "*"+partSuffix))
}

// resume prepares the directory of an incomplete snapshot. A complete one is turned into an incomplete one, so that its
// chunks are verified like any. An incomplete one of another snapshot of this height is removed.
func resume(m Manifest, whole, part string) error {
	switch {
	case isOf(whole, m):
		return errors.Join(os.RemoveAll(part), os.Rename(whole, part))
	case isOf(part, m):
		return nil
	}
	return os.RemoveAll(part)
}

// isOf reports whether a directory holds a snapshot, judging by its manifest.
func isOf(dir string, m Manifest) bool {
	there, _, err := readManifest(os.DirFS(dir))
	return err == nil && identify(there) == identify(m)
}

// fetch fetches the chunks of a snapshot that are not yet in a directory.
func (f *fetcher) fetch(ctx context.Context, m Manifest, sources []Source, dir string) error {
	if err := keepManifest(dir, m); err != nil {
		return err
	}
	j := job{fetcher: f, manifest: m, sources: sources, dir: dir}
	first := 0 // first chunk after the genesis; the genesis shows whether this is the requested chain
	var genesis []byte
	for ; m.Chunks[first].Kind == KindGenesis; first++ {
		piece, err := j.chunk(ctx, m.Chunks[first])
		if err != nil {
			return err
		}
		if genesis = append(genesis, piece...); len(genesis) > maxGenesis {
			return fmt.Errorf("%w: its genesis has more than %d bytes", ErrFalse, maxGenesis)
		}
	}
	if err := j.checkGenesis(genesis); err != nil {
		return err
	}
	return j.rest(ctx, m.Chunks[first:])
}

// keepManifest writes the manifest of a new or resumed download.
func keepManifest(dir string, m Manifest) error {
	content, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(dir, ManifestFile)
	return errors.Join(writeFile(name+partSuffix, content), os.Rename(name+partSuffix, name), disk.SyncDir(dir))
}

// writeFile creates or overwrites a file and syncs it.
func writeFile(path string, content []byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// job is a snapshot that is being fetched.
type job struct {
	*fetcher
	manifest Manifest
	sources  []Source
	dir      string
	done     atomic.Uint64 // bytes of complete chunks
}

func (j *job) checkGenesis(encoded []byte) error {
	header, err := checkManifest(j.manifest)
	if err != nil {
		return err
	}
	g, zero, err := decodeGenesis(encoded)
	if err != nil {
		return err
	}
	return j.Trust.checkGenesis(j.manifest, header, g, zero.Header.Hash())
}

// rest fetches the remaining chunks, several at a time.
func (j *job) rest(ctx context.Context, chunks []Chunk) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range max(2, machine.Cores()) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(chunks)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if _, err := j.chunk(ctx, chunks[i]); err != nil {
					cancel(fmt.Errorf("chunk %d, %s: %w", chunks[i].Index, chunks[i].Kind, err))
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// chunk fetches a chunk unless it is here already, and verifies it by itself. It returns the piece in a chunk of the
// genesis or block.
func (j *job) chunk(ctx context.Context, c Chunk) ([]byte, error) {
	if data, err := readFile(os.DirFS(j.dir), c); err == nil {
		return j.have(data, c)
	}
	var faults error
	for attempt := range chunkAttempts * len(j.sources) {
		source := j.sources[(int(c.Index)+attempt)%len(j.sources)]
		data, err := j.from(ctx, source, c)
		if err == nil {
			return j.have(data, c)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults = errors.Join(faults, fmt.Errorf("%s: %w", source.Name(), err))
		j.Log.Warn("retrying a snapshot chunk", "chunk", c.Index, "upstream", source.Name(), "error", err)
		if err := j.Wait(ctx, backoff(attempt/len(j.sources))); err != nil {
			return nil, err
		}
	}
	return nil, faults
}

// have verifies the contents of a chunk whose SHA-256 matches the manifest.
func (j *job) have(data []byte, c Chunk) ([]byte, error) {
	opened, err := openChunk(data, c.Kind, j.manifest.StateRoot)
	if err != nil {
		return nil, err
	}
	j.Progress(j.done.Add(c.SizeBytes), j.manifest.SizeBytes)
	return opened.piece, nil
}

// from fetches the missing part of a chunk's file from a source, and renames the file once it matches the manifest.
func (j *job) from(ctx context.Context, source Source, c Chunk) ([]byte, error) {
	final := filepath.Join(j.dir, fileName(c.Index))
	part := final + partSuffix
	if err := j.continueFile(ctx, source, c, part); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(part)
	if err != nil {
		return nil, err
	}
	if err := checkFile(data, c); err != nil {
		return nil, errors.Join(err, os.Remove(part)) // the damaged part is unknown
	}
	return data, errors.Join(os.Rename(part, final), disk.SyncDir(j.dir))
}

// continueFile appends data from a source to a chunk's file until it has the size given in the manifest.
func (j *job) continueFile(ctx context.Context, source Source, c Chunk, part string) (err error) {
	file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	there, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if uint64(there) >= c.SizeBytes { // complete, but interrupted before it was checked
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	body, start, err := source.Chunk(ctx, c.URL, uint64(there))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if start != uint64(there) {
		if err := file.Truncate(0); err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	got, err := io.Copy(file, io.LimitReader(body, int64(c.SizeBytes-start)))
	if err == nil && start+uint64(got) < c.SizeBytes {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, file.Sync())
}
