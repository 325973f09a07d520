package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// fakeSource offers the files of a directory, with faults.
type fakeSource struct {
	name     string
	files    fs.FS
	manifest func(*Manifest) // changes its offer; nil: does not

	mu    sync.Mutex
	fault func(url string, from uint64, data []byte) ([]byte, error) // changes its data from a byte on
	asked []string                                                   // url@from
}

var errFault = errors.New("a planted fault")

func (s *fakeSource) Name() string { return s.name }

func (s *fakeSource) Snapshot(_ context.Context, atMost types.Height) (*Manifest, error) {
	if s.files == nil {
		return nil, nil
	}
	m, _, err := readManifest(s.files)
	if err == nil && s.manifest != nil {
		s.manifest(&m)
	}
	if atMost < m.Height {
		return nil, err
	}
	return &m, err
}

func (s *fakeSource) Chunk(_ context.Context, url string, from uint64) (io.ReadCloser, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%s@%d", filepath.Base(url), from))
	data, err := fs.ReadFile(s.files, filepath.Base(url))
	if err == nil {
		data = data[from:]
		if s.fault != nil {
			data, err = s.fault(url, from, data)
		}
	}
	return io.NopCloser(bytes.NewReader(data)), from, err
}

// offeredBy makes a snapshot, and sources that offer it.
func offeredBy(t *testing.T, count int) (c *testChain, m Manifest, sources []*fakeSource) {
	t.Helper()
	c = newTestChain(t, 9)
	c.grow(blockOf{accounts: 50, contracts: 3})
	c.grow(blockOf{accounts: 50, contracts: 3, storage: 60, valueBytes: 300})
	dir := t.TempDir()
	m, err := create(t.Context(), c.store, dir, 1, 2000)
	must(t, err)
	for i := range count {
		sources = append(sources, &fakeSource{name: fmt.Sprint("source ", i), files: os.DirFS(filepath.Join(dir, "2"))})
	}
	return c, m, sources
}

func (c *testChain) download(t *testing.T, into string, sources ...*fakeSource) Download {
	d := Download{
		Trust: Trust{Genesis: genesisHash(
			t, c.store,
		)}, Parent: into, Log: slog.New(slog.DiscardHandler), Progress: noProgress,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	for _, s := range sources {
		d.Sources = append(d.Sources, s)
	}
	return d
}

// requireWhole fails the test unless a download returned the chain's snapshot.
func requireWhole(t *testing.T, c *testChain, path string, err error) {
	t.Helper()
	must(t, err)
	_, err = Verify(t.Context(), os.DirFS(path), Trust{
		Genesis: genesisHash(t, c.store), Block: c.store.HeadHash(),
	}, noProgress)
	must(t, err)
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind: got %v", entries)
	}
}

func TestFetch(t *testing.T) {
	c, m, sources := offeredBy(t, 3)
	var last uint64
	var mu sync.Mutex
	d := c.download(t, t.TempDir(), sources...)
	d.Progress = func(done, total uint64) {
		mu.Lock()
		defer mu.Unlock()
		if last = max(last, done); total != m.SizeBytes {
			t.Errorf("of %d bytes, want %d", total, m.SizeBytes)
		}
	}
	path, err := d.Fetch(t.Context())
	requireWhole(t, c, path, err)
	if last != m.SizeBytes {
		t.Errorf("%d of %d bytes were told of", last, m.SizeBytes)
	}
	for _, s := range sources {
		if len(s.asked) == 0 {
			t.Errorf("%s was not asked", s.name)
		}
	}
}

// Single false answers are overcome, by another attempt or by another source.
func TestFetchOvercomes(t *testing.T) {
	once := func(fault func([]byte) ([]byte, error)) func(string, uint64, []byte) ([]byte, error) {
		seen := make(map[string]bool)
		return func(url string, _ uint64, data []byte) ([]byte, error) {
			if seen[url] {
				return data, nil
			}
			seen[url] = true
			return fault(data)
		}
	}
	for name, fault := range map[string]func([]byte) ([]byte, error){
		"no answer":   func([]byte) ([]byte, error) { return nil, errFault },
		"cut off":     func(b []byte) ([]byte, error) { return b[:len(b)/2], nil },
		"nothing":     func([]byte) ([]byte, error) { return nil, nil },
		"flipped bit": func(b []byte) ([]byte, error) { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b, nil },
		"too much":    func(b []byte) ([]byte, error) { return append(bytes.Clone(b), 1, 2, 3), nil },
	} {
		t.Run(name, func(t *testing.T) {
			c, _, sources := offeredBy(t, 1)
			sources[0].fault = once(fault)
			path, err := c.download(t, t.TempDir(), sources...).Fetch(t.Context())
			requireWhole(t, c, path, err)
		})
		t.Run(name+" always, of one source", func(t *testing.T) {
			c, _, sources := offeredBy(t, 2)
			sources[0].fault = func(_ string, _ uint64, b []byte) ([]byte, error) { return fault(b) }
			path, err := c.download(t, t.TempDir(), sources...).Fetch(t.Context())
			requireWhole(t, c, path, err)
		})
	}
}

// An interrupted download is resumed: complete chunks are not fetched again, and a partial chunk continues at its end.
func TestFetchContinues(t *testing.T) {
	c, m, sources := offeredBy(t, 1)
	into := t.TempDir()
	broken, stop := context.WithCancel(t.Context())
	sources[0].fault = func(url string, _ uint64, data []byte) ([]byte, error) {
		if strings.HasSuffix(url, fileName(5)) {
			stop()
			return data[:10], nil
		}
		return data, nil
	}
	_, err := c.download(t, into, sources...).Fetch(broken)
	requireIs(t, "broken off", err, context.Canceled)
	if manifests, err := List(into); err != nil || len(manifests) != 0 {
		t.Fatalf("it is listed: got %v, error %v, want 0 manifests", manifests, err)
	}
	again := &fakeSource{name: "again", files: sources[0].files}
	path, err := c.download(t, into, again).Fetch(t.Context())
	requireWhole(t, c, path, err)
	for _, asked := range again.asked {
		if strings.HasPrefix(asked, fileName(0)) || strings.HasPrefix(asked, fileName(5)) && asked != fileName(5)+"@10" {
			t.Errorf("asked for %s", asked)
		}
	}
	if len(again.asked) > int(m.ChunkCount)-4 {
		t.Errorf("asked for %d of %d chunks", len(again.asked), m.ChunkCount)
	}
}

// The parts of a broken download survive an upstream that does not answer for a while.
func TestFetchWaits(t *testing.T) {
	c, m, sources := offeredBy(t, 1)
	into := t.TempDir()
	broken, stop := context.WithCancel(t.Context())
	sources[0].fault = func(url string, _ uint64, data []byte) ([]byte, error) {
		if strings.HasSuffix(url, fileName(uint64(m.ChunkCount)-1)) {
			stop()
			return nil, errFault
		}
		return data, nil
	}
	_, err := c.download(t, into, sources...).Fetch(broken)
	requireIs(t, "broken off", err, context.Canceled)
	again := &fakeSource{name: "again", files: fstest.MapFS{}} // has no manifest, so the download fails
	d := c.download(t, into, again)
	d.Wait = func(ctx context.Context, _ time.Duration) error {
		again.files = sources[0].files
		return ctx.Err()
	}
	path, err := d.Fetch(t.Context())
	requireWhole(t, c, path, err)
	if len(again.asked) >= int(m.ChunkCount)/2 {
		t.Errorf("asked for %v of %d chunks", again.asked, m.ChunkCount)
	}
}

// A complete download, as a killed import leaves it, is checked again, and only damaged parts are fetched.
func TestFetchTakesUp(t *testing.T) {
	c, m, sources := offeredBy(t, 1)
	into := t.TempDir()
	path, err := c.download(t, into, sources...).Fetch(t.Context())
	requireWhole(t, c, path, err)
	must(t, os.WriteFile(filepath.Join(path, fileName(5)), []byte("damaged"), 0o644))
	again := &fakeSource{name: "again", files: sources[0].files}
	path, err = c.download(t, into, again).Fetch(t.Context())
	requireWhole(t, c, path, err)
	if want := []string{fileName(5) + "@0"}; !slices.Equal(again.asked, want) {
		t.Errorf("asked for %v of %d chunks, want %v", again.asked, m.ChunkCount, want)
	}
}

// TestFetchForgets: if no source offers the snapshot of an interrupted download any more, the node fetches another one
// from its beginning.
func TestFetchForgets(t *testing.T) {
	c, _, sources := offeredBy(t, 1)
	into := t.TempDir()
	broken, stop := context.WithCancel(t.Context())
	sources[0].fault = func(string, uint64, []byte) ([]byte, error) { stop(); return nil, errFault }
	_, err := c.download(t, into, sources...).Fetch(broken)
	requireIs(t, "broken off", err, context.Canceled)
	c.grow(blockOf{accounts: 5})
	dir := t.TempDir()
	_, err = create(t.Context(), c.store, dir, 1, 2000)
	must(t, err)
	path, err := c.download(
		t, into, &fakeSource{name: "newer", files: os.DirFS(filepath.Join(dir, "3"))},
	).Fetch(t.Context())
	requireWhole(t, c, path, err)
}

// unanswering is a source that never answers.
type unanswering struct{ *fakeSource }

func (unanswering) Snapshot(context.Context, types.Height) (*Manifest, error) { return nil, errFault }

// The parts of a snapshot whose source no longer answers are not mixed with another snapshot of the same block.
func TestFetchOfAnotherOfTheBlock(t *testing.T) {
	c, m, sources := offeredBy(t, 1)
	into, dir := t.TempDir(), t.TempDir()
	broken, stop := context.WithCancel(t.Context())
	sources[0].fault = func(url string, _ uint64, data []byte) ([]byte, error) {
		if strings.HasSuffix(url, fileName(uint64(m.ChunkCount)-1)) {
			stop()
			return data[:10], nil
		}
		return data, nil
	}
	_, err := c.download(t, into, sources...).Fetch(broken)
	requireIs(t, "broken off", err, context.Canceled)
	other, err := create(t.Context(), c.store, dir, 1, 4000)
	must(t, err)
	if other.Height != m.Height || other.ChunkCount >= m.ChunkCount {
		t.Fatalf("block %d in %d chunks, block %d in %d", m.Height, m.ChunkCount, other.Height, other.ChunkCount)
	}
	d := c.download(t, into, &fakeSource{name: "other", files: os.DirFS(filepath.Join(dir, "2"))})
	d.Sources = append(d.Sources, unanswering{sources[0]})
	path, err := d.Fetch(t.Context())
	requireWhole(t, c, path, err)
	if entries, err := os.ReadDir(path); err != nil || len(entries) != int(other.ChunkCount)+1 {
		t.Errorf("%d files of %d chunks, error %v", len(entries), other.ChunkCount, err)
	}
}

// A source with a snapshot of another chain, or a false one, is replaced by another source. Alone it is of no use.
func TestFetchRefuses(t *testing.T) {
	otherState := func(t *testing.T) fs.FS { // valid chunks, but of another snapshot than the manifest names
		other := newTestChain(t, 77)
		other.grow(blockOf{accounts: 80})
		other.grow(blockOf{accounts: 80})
		dir := t.TempDir()
		_, err := create(t.Context(), other.store, dir, 1, 2000)
		must(t, err)
		return os.DirFS(filepath.Join(dir, "2"))
	}
	for name, tc := range map[string]struct {
		lie  func(t *testing.T, s *fakeSource)
		want error
	}{
		"none": {func(_ *testing.T, s *fakeSource) { s.files = nil }, ErrNone},
		"another chain's": {
			func(_ *testing.T, s *fakeSource) { s.manifest = func(m *Manifest) { m.GenesisHash[0] ^= 1 } }, ErrOtherChain,
		},
		"a manifest that is none": {func(_ *testing.T, s *fakeSource) {
			s.manifest = func(m *Manifest) { m.Header[len(m.Header)-1] ^= 1 }
		}, ErrManifest},
		"a chunk elsewhere": {func(_ *testing.T, s *fakeSource) {
			s.manifest = func(m *Manifest) { m.Chunks[0].URL = "http://elsewhere/" }
		}, ErrManifest},
		"chunks of another state": {func(t *testing.T, s *fakeSource) {
			files := otherState(t)
			theirs, _, err := readManifest(files)
			must(t, err)
			mine, _, err := readManifest(s.files)
			must(t, err)
			forged := mine
			forged.Chunks, forged.ChunkCount, forged.SizeBytes = theirs.Chunks, theirs.ChunkCount, theirs.SizeBytes
			s.files, s.manifest = files, func(m *Manifest) { *m = forged }
		}, ErrFalse},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, sources := offeredBy(t, 2)
			tc.lie(t, sources[0])
			into := t.TempDir()
			_, err := c.download(t, into, sources[0]).Fetch(t.Context())
			requireIs(t, "alone", err, tc.want)
			if entries, err := os.ReadDir(into); err != nil || len(entries) > 0 {
				t.Errorf("left behind: got %v, error %v", entries, err)
			}
			path, err := c.download(t, into, sources...).Fetch(t.Context())
			requireWhole(t, c, path, err)
		})
	}
}

// If production was handed over, the hash of the block is required.
func TestFetchOfAnotherProducer(t *testing.T) {
	c, _, _ := offeredBy(t, 1)
	c.producer = testchain.Key("successor")
	c.grow(blockOf{accounts: 1})
	dir := t.TempDir()
	_, err := create(t.Context(), c.store, dir, 1, 2000)
	must(t, err)
	source := &fakeSource{name: "source", files: os.DirFS(filepath.Join(dir, "3"))}
	d := c.download(t, t.TempDir(), source)
	_, err = d.Fetch(t.Context())
	requireIs(t, "without the block's hash", err, ErrUntrusted)
	d.Trust.Block = types.BlockHash{1}
	_, err = d.Fetch(t.Context())
	requireIs(t, "with another hash", err, ErrOtherChain)
	d.Trust.Block = c.store.HeadHash()
	path, err := d.Fetch(t.Context())
	requireWhole(t, c, path, err)
}
