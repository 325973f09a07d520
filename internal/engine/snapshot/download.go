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
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

// ErrNone: no node that answers offers a snapshot that is wanted.
var ErrNone = errors.New("no upstream offers a snapshot")

// Source is a node that offers snapshots.
type Source interface {
	// Name says which node it is, in messages.
	Name() string
	// Snapshot is its newest one at or below a height of its chain, or of all for [AnyHeight]; nil where there is none.
	Snapshot(ctx context.Context, atMost types.Height) (*Manifest, error)
	// Chunk reads a chunk's file at its url from a byte on; start is the byte that body begins with, from or 0.
	Chunk(ctx context.Context, url string, from uint64) (body io.ReadCloser, start uint64, err error)
}

// AnyHeight asks a [Source] for its newest snapshot.
const AnyHeight = types.Height(math.MaxUint64)

// Download says how a snapshot is fetched.
type Download struct {
	Sources  []Source
	Trust    Trust  // of which Genesis is needed
	Parent   string // directory in which the snapshot is put, under its height
	Log      *slog.Logger
	Progress func(done, total uint64) // told of bytes; called from several goroutines
	// Wait returns after a pause between two attempts, or with the context's error when that ends first; nil: it does.
	Wait func(context.Context, time.Duration) error
}

// How long a node may take, and how often it is tried.
const (
	manifestTime  = time.Minute
	chunkTime     = 2 * time.Minute // for what a node gives of a chunk; the next attempt continues there
	chunkAttempts = 4               // with each node
	firstPause    = 500 * time.Millisecond
	longestPause  = 30 * time.Second
)

// partSuffix ends the name of what is fetched in part: a snapshot's directory, or a chunk's file.
const partSuffix = ".part"

// Fetch fetches the newest snapshot that a source offers and returns its path. Chunks are fetched from all sources that
// offer the same one and checked one by one; one that is damaged is fetched again, from the next source. What a broken
// download left is continued, and a whole one that is there is checked and not fetched again while a source offers it.
// A snapshot that turns out not to be true is given up for the next best. It tries until ctx ends, but for [ErrNone]
// and the fault of the last snapshot that could be chosen.
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
		f.Log.Warn("the snapshot could not be fetched yet", "error", err)
		if err := f.Wait(ctx, backoff(failures)); err != nil {
			return "", err
		}
	}
}

// backoff doubles, with jitter so that many nodes do not come back at once.
func backoff(failures int) time.Duration {
	longest := min(longestPause, firstPause<<min(failures, 10))
	return longest/2 + rand.N(longest/2)
}

type fetcher struct {
	Download
	refused map[identity]error // snapshots that were not true
}

// attempt chooses a snapshot and fetches what is missing of it.
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
	// One that is there under this name was not used: there is no chain.
	return final, errors.Join(os.RemoveAll(final), publish(part, final), f.removeParts())
}

// removeParts removes what was fetched of other snapshots.
func (f *fetcher) removeParts() error {
	parts, err := f.parts()
	for _, part := range parts {
		err = errors.Join(err, os.RemoveAll(part))
	}
	return err
}

// parts are the directories of snapshots that were fetched in part.
func (f *fetcher) parts() ([]string, error) {
	return filepath.Glob(filepath.Join(f.Parent, "*"+partSuffix))
}

// resume makes the snapshot, if it is there whole, one that is fetched in part: its chunks are checked like those of a
// part. A part of another snapshot of the height is removed.
func resume(m Manifest, whole, part string) error {
	switch {
	case isOf(whole, m):
		return errors.Join(os.RemoveAll(part), os.Rename(whole, part))
	case isOf(part, m):
		return nil
	}
	return os.RemoveAll(part)
}

// isOf reports whether a directory is of a snapshot, as far as its manifest tells.
func isOf(dir string, m Manifest) bool {
	there, _, err := readManifest(os.DirFS(dir))
	return err == nil && identify(there) == identify(m)
}

// fetch fetches the chunks of a snapshot that are not in a directory yet.
func (f *fetcher) fetch(ctx context.Context, m Manifest, sources []Source, dir string) error {
	if err := keepManifest(dir, m); err != nil {
		return err
	}
	j := job{fetcher: f, manifest: m, sources: sources, dir: dir}
	first := 0 // chunk after the genesis: with that it is known whether the chain is the one that is asked for
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

// keepManifest writes the manifest of a download that begins or goes on.
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

// writeFile writes a file anew and syncs it.
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
	done     atomic.Uint64 // bytes of chunks that are there
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

// rest fetches chunks, some at a time.
func (j *job) rest(ctx context.Context, chunks []Chunk) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
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

// chunk fetches a chunk unless it is there, and checks it alone. It returns the piece that one of the genesis holds.
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
		j.Log.Warn("a chunk of the snapshot is tried again", "chunk", c.Index, "upstream", source.Name(), "error", err)
		if err := j.Wait(ctx, backoff(attempt/len(j.sources))); err != nil {
			return nil, err
		}
	}
	return nil, faults
}

// have checks a chunk of which the SHA-256 is the manifest's.
func (j *job) have(data []byte, c Chunk) ([]byte, error) {
	opened, err := openChunk(data, c.Kind, j.manifest.StateRoot)
	if err != nil {
		return nil, err
	}
	j.Progress(j.done.Add(c.SizeBytes), j.manifest.SizeBytes)
	return opened.piece, nil
}

// from gets what is missing of a chunk's file from a source, and the file its name once it is the manifest's.
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
		return nil, errors.Join(err, os.Remove(part)) // nobody knows which part of it is damaged
	}
	return data, errors.Join(os.Rename(part, final), disk.SyncDir(j.dir))
}

// continueFile appends to a chunk's file what a source gives from there on, until it has the manifest's size.
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
	if uint64(there) >= c.SizeBytes { // it was cut off between its end and its check
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
