package snapshot

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Directory holds a node's snapshots, one subdirectory per height. It is safe for concurrent use.
type Directory struct {
	// Space, unless nil, is called before each chunk of a snapshot is written; its error ends that snapshot. It must be
	// set before the first snapshot is made.
	Space func() error

	path string

	making    sync.Mutex // held while a snapshot is made or removed; taken before mu
	mu        sync.Mutex
	manifests []Manifest // ascending by height
}

// OpenDirectory lists the snapshots in a directory, which need not exist, and removes the leftovers of snapshots whose
// creation or removal a crash interrupted. It logs and skips snapshots with an invalid manifest.
func OpenDirectory(dir string, log *slog.Logger) (*Directory, error) {
	leftovers, err := filepath.Glob(filepath.Join(dir, "*"+newSuffix))
	if err != nil {
		return nil, err
	}
	for _, leftover := range leftovers {
		if err := os.RemoveAll(leftover); err != nil {
			return nil, err
		}
	}
	manifests, err := list(dir, func(err error) { log.Warn("not serving a snapshot", "error", err) })
	return &Directory{path: dir, manifests: manifests}, err
}

// List returns the manifests of the snapshots in a directory, ascending by height. The directory need not exist.
// Invalid manifests are skipped and reported in the error.
func List(dir string) ([]Manifest, error) {
	var bad []error
	manifests, err := list(dir, func(err error) { bad = append(bad, err) })
	return manifests, errors.Join(append(bad, err)...)
}

// list is [List], but calls bad for each skipped snapshot.
func list(dir string, bad func(error)) ([]Manifest, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var manifests []Manifest
	for _, entry := range entries {
		height, err := strconv.ParseUint(entry.Name(), 10, 64)
		if err != nil {
			continue // being made or fetched, or unrelated
		}
		m, _, err := readManifest(os.DirFS(filepath.Join(dir, entry.Name())))
		if err == nil && uint64(m.Height) != height {
			err = fmt.Errorf("%w: it is for block %d", ErrManifest, m.Height)
		}
		if err != nil {
			bad(fmt.Errorf("%s: %w", filepath.Join(dir, entry.Name()), err))
			continue
		}
		manifests = append(manifests, m)
	}
	slices.SortFunc(manifests, byHeight)
	return manifests, nil
}

func byHeight(a, b Manifest) int { return cmp.Compare(a.Height, b.Height) }

// List returns the manifests of the snapshots, ascending by height.
func (d *Directory) List() []Manifest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.manifests)
}

// Newest returns the manifest of the newest snapshot at or below a height, and whether there is one.
func (d *Directory) Newest(height types.Height) (m Manifest, ok bool) {
	for _, listed := range d.List() {
		if listed.Height <= height {
			m, ok = listed, true
		}
	}
	return m, ok
}

// Create makes a snapshot of the store's head as [Create] does, if Space permits.
func (d *Directory) Create(ctx context.Context, store *chain.Store, now uint64) (Manifest, error) {
	d.making.Lock()
	defer d.making.Unlock()
	return d.create(ctx, store, now)
}

// Demand returns the snapshot of the store's head. It makes one if necessary, and then keeps only the newest keep
// snapshots. It is for development chains: it removes snapshots of reverted blocks. At block 0 it returns [ErrNoBlock].
func (d *Directory) Demand(ctx context.Context, store *chain.Store, now uint64, keep int) (Manifest, error) {
	d.making.Lock()
	defer d.making.Unlock()
	if err := d.dropReverted(store); err != nil {
		return Manifest{}, err
	}
	if m, ok := d.Newest(store.Head().Header.Height); ok && m.BlockHash == store.HeadHash() {
		return m, nil
	}
	m, err := d.create(ctx, store, now)
	if err == nil {
		err = d.prune(keep)
	}
	return m, err
}

// dropReverted removes the snapshots of blocks that are no longer in the chain.
func (d *Directory) dropReverted(store *chain.Store) error {
	for _, m := range d.List() {
		header, err := store.Header(m.Height)
		if err == nil && header.Header.Hash() == m.BlockHash || errors.Is(err, chain.ErrPruned) {
			continue
		}
		if err != nil && !errors.Is(err, chain.ErrNotFound) {
			return err
		}
		if err := d.remove(m.Height); err != nil {
			return err
		}
	}
	return nil
}

func (d *Directory) create(ctx context.Context, store *chain.Store, now uint64) (Manifest, error) {
	m, err := createIn(ctx, store, d.path, now, runBytes, d.Space)
	if err != nil {
		return m, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.manifests = append(d.manifests, m)
	slices.SortFunc(d.manifests, byHeight)
	return m, nil
}

// Prune removes all but the newest keep snapshots.
func (d *Directory) Prune(keep int) error {
	d.making.Lock()
	defer d.making.Unlock()
	return d.prune(keep)
}

func (d *Directory) prune(keep int) error {
	for {
		d.mu.Lock()
		if len(d.manifests) <= keep {
			d.mu.Unlock()
			return nil
		}
		oldest := d.manifests[0].Height
		d.mu.Unlock()
		if err := d.remove(oldest); err != nil {
			return err
		}
	}
}

// remove removes the snapshot of a height. The caller must hold making.
func (d *Directory) remove(height types.Height) error {
	d.mu.Lock()
	d.manifests = slices.DeleteFunc(d.manifests, func(m Manifest) bool { return m.Height == height })
	d.mu.Unlock()
	name := filepath.Join(d.path, strconv.FormatUint(uint64(height), 10))
	// A partly removed snapshot is invalid, so give it the name of an unfinished one first.
	return errors.Join(os.Rename(name, name+newSuffix), os.RemoveAll(name+newSuffix))
}

// Keep makes a snapshot whenever the head passes a multiple of interval, which must be at least 1, and keeps only the
// newest keep snapshots, until ctx ends. It logs a failure and retries at the next multiple.
func (d *Directory) Keep(ctx context.Context, store *chain.Store, interval uint64, keep int, log *slog.Logger) error {
	after := func(h types.Height) types.Height { return (h/types.Height(interval) + 1) * types.Height(interval) }
	for {
		var newest types.Height // 0 if there is none
		if list := d.List(); len(list) > 0 {
			newest = list[len(list)-1].Height
		}
		if err := d.keepAt(ctx, store, after(newest), keep, log); ctx.Err() != nil || errors.Is(err, chain.ErrClosed) {
			return nil
		} else if err != nil {
			head := store.Head().Header.Height
			log.Error("cannot create a snapshot", "head", head, "newest", newest, "next_try", after(head), "error", err)
			// Do not retry at the same block: the failure probably persists.
			if err := store.WaitHeight(ctx, after(head)); err != nil {
				return nil // ctx has ended, or the store is closed
			}
		}
	}
}

func (d *Directory) keepAt(
	ctx context.Context, store *chain.Store, height types.Height, keep int, log *slog.Logger,
) error {
	if err := store.WaitHeight(ctx, height); err != nil {
		return err
	}
	start := time.Now()
	m, err := d.Create(ctx, store, uint64(start.Unix()))
	if err != nil {
		return err
	}
	log.Info(
		"created a snapshot", "height", m.Height, "bytes", m.SizeBytes, "chunks", m.ChunkCount, "took", time.Since(start),
	)
	return d.Prune(keep)
}

// File is an open file of a snapshot.
type File struct {
	*os.File
	Created uint64 // when the snapshot was made, in Unix seconds
	Chunk   *Chunk // the chunk in the file; nil for the manifest
}

// Open opens a file by its snapshot's height and its own name, both as in a chunk's URL. The error is fs.ErrNotExist if
// there is no such file, or no longer.
func (d *Directory) Open(height, name string) (File, error) {
	m, ok := d.at(height)
	if !ok {
		return File{}, fmt.Errorf("snapshot %q: %w", height, fs.ErrNotExist)
	}
	f := File{Created: m.CreatedAt}
	if name != ManifestFile {
		i := slices.IndexFunc(m.Chunks, func(c Chunk) bool { return fileName(c.Index) == name })
		if i < 0 {
			return File{}, fmt.Errorf("file %q: %w", name, fs.ErrNotExist)
		}
		f.Chunk = &m.Chunks[i]
	}
	var err error
	f.File, err = os.Open(filepath.Join(d.path, height, name)) // both are names from the list
	return f, err
}

// at finds a snapshot by its height as written in a path.
func (d *Directory) at(height string) (Manifest, bool) {
	for _, m := range d.List() {
		if strconv.FormatUint(uint64(m.Height), 10) == height {
			return m, true
		}
	}
	return Manifest{}, false
}

// Export writes a snapshot as a single archive: an uncompressed zip file of the manifest and the chunks.
func Export(ctx context.Context, fsys fs.FS, w io.Writer) error {
	m, _, err := readManifest(fsys)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	names := []string{ManifestFile}
	for _, c := range m.Chunks {
		names = append(names, fileName(c.Index))
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		to, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		from, err := fsys.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		if err := errors.Join(err, from.Close()); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Open opens the snapshot at a path, either its directory or an archive written by [Export]. The caller must call close
// at the end.
func Open(name string) (fsys fs.FS, close func() error, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return os.DirFS(path.Clean(name)), func() error { return nil }, nil
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is neither a snapshot's directory nor an archive of one: %w", name, err)
	}
	return archive, archive.Close, nil
}
