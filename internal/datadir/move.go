package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/internal/storage/slots"
	"github.com/cairn-chain/cairn/types"
)

// A move leaves a note in both directories: in the new one until everything is there and verified, and in the old one
// for good. No node starts on a directory with either note.
const (
	movingFile = "moving.json" // in the new directory
	movedFile  = "moved.json"  // in the old directory
)

// moveNote is the content of both files: the other directory.
type moveNote struct {
	Other string `json:"other"`
}

// ErrMove is returned for a directory that cannot be moved, or moved to.
var ErrMove = errors.New("cannot move the directory")

// ErrMoved is returned for a directory that no node may use because of a move: the old one, or the new one before the
// move is complete.
var ErrMoved = errors.New("the directory takes part in a move")

// Moved is the result of a move.
type Moved struct {
	Head  types.Height `json:"head"`
	Files []string     `json:"files"` // files beside the database, relative to the directory
	Named []string     `json:"named"` // lines of cairn.toml that name the old directory
}

// stays lists the entries that a move does not carry: the database is moved separately, and the others are made again
// or belong to one place.
var stays = []string{databaseDir, importDir, codeDir, backupsDir, "LOCK", movingFile, movedFile}

// Move moves a data directory with all its contents to another one. The new directory must be empty or hold only the
// chain, or the result of an earlier call. A database of the same format is copied. The blocks of an older format that
// this program can read are executed again. For any other format the new directory must already have the chain. The old
// directory keeps its data. When Move returns nil, the new directory is verified, and a node starts on it and no longer
// on the old one. progress receives the work done and the total.
func Move(
	ctx context.Context, from, to string, log *slog.Logger, progress func(done, total uint64),
) (m Moved, err error) {
	v := &move{ctx: ctx, log: log, progress: progress}
	if v.from, v.to, err = movePaths(from, to); err != nil {
		return m, err
	}
	old, err := v.openOld()
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	ended, err := v.begin()
	if err != nil || ended {
		return m, err
	}
	if err := v.database(old); err != nil {
		return m, err
	}
	if m.Files, err = v.carry(); err != nil {
		return m, err
	}
	if m.Head, err = v.verify(old, m.Files); err != nil {
		return m, fmt.Errorf("%w: %s differs from %s, which is unchanged: %w", ErrMove, v.to, v.from, err)
	}
	if m.Named, err = v.named(); err != nil {
		return m, err
	}
	return m, v.end()
}

// movePaths returns the absolute paths of the two directories. Neither may contain the other.
func movePaths(from, to string) (string, string, error) {
	for _, path := range []*string{&from, &to} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return "", "", err
		}
		*path = absolute
	}
	inside := func(path, dir string) bool { return strings.HasPrefix(path+"/", dir+"/") }
	if inside(from, to) || inside(to, from) {
		return "", "", fmt.Errorf("%w: %s and %s must not contain each other", ErrMove, from, to)
	}
	return from, to, mustHaveDatabase(from)
}

// move is a move in progress.
type move struct {
	ctx      context.Context
	log      *slog.Logger
	from, to string // absolute paths
	progress func(done, total uint64)
}

// openOld opens the old directory for reading and prevents writes by others. The store is nil if this program cannot
// read its format.
func (v *move) openOld() (*Dir, error) {
	d, err := OpenChain(v.from, Options{
		Chain: chain.Options{OlderFormat: true}, ReadOnly: true, moving: true, Log: v.log,
	})
	if errors.Is(err, chain.ErrOtherFormat) {
		if there, thereErr := HasDatabase(v.to); thereErr != nil || !there {
			return nil, errors.Join(err, thereErr)
		}
		lock, err := kv.Lock(v.from)
		return &Dir{path: v.from, lock: lock}, err
	}
	return d, err
}

// begin records the old directory in the new one. It finishes a move whose last step alone is left and then returns
// ended.
func (v *move) begin() (ended bool, err error) {
	moved, err := readNote(v.from, movedFile)
	if err != nil {
		return false, err
	}
	moving, err := readNote(v.to, movingFile)
	switch {
	case err != nil:
		return false, err
	case moved == v.to && moving == v.from: // only the last step is left
		return true, v.end()
	case moved != "":
		return false, emergency.Moved(v.from, moved, ErrMoved)
	case moving == v.from:
		return false, nil
	case moving != "":
		return false, emergency.MoveUnfinished(v.to, moving, ErrMoved)
	}
	if err := v.mustBeFresh(); err != nil {
		return false, err
	}
	if err := (kv.FS{}).MakeDir(v.to, 0o700); err != nil {
		return false, err
	}
	return false, writeNote(v.to, movingFile, v.from)
}

// mustBeFresh refuses to write over anything but an imported chain.
func (v *move) mustBeFresh() error {
	entries, err := os.ReadDir(v.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !slices.Contains([]string{databaseDir, "LOCK", codeDir, snapshotsDir, GenesisFile}, e.Name()) {
			return fmt.Errorf("%w: %s already contains %s: give a new directory", ErrMove, v.to, e.Name())
		}
	}
	return err
}

// database brings the chain to the new directory, with the member's log that is in the database.
func (v *move) database(old *Dir) error {
	if old.store == nil { // the new directory has the chain already
		return nil
	}
	there, err := HasDatabase(v.to)
	if err != nil {
		return err
	}
	older, err := old.store.OlderFormat()
	switch {
	case err != nil:
		return err
	case !older && !there:
		return v.copyDatabase()
	case !older && old.store.Stateless(): // an earlier call has copied it
		return nil
	case old.store.Stateless():
		return fmt.Errorf("%w: it is a stateless replica: start a new one in an empty directory, which syncs from "+
			"its upstream", ErrMove)
	}
	return v.execute(old)
}

// copyDatabase copies the database's files, which nobody writes to. The copy is atomic.
func (v *move) copyDatabase() error {
	part := filepath.Join(v.to, importDir)
	if err := os.RemoveAll(part); err != nil { // the result of an earlier call
		return err
	}
	if _, err := copyTree(v.ctx, filepath.Join(v.from, databaseDir), part, nil); err != nil {
		return err
	}
	return errors.Join(os.Rename(part, filepath.Join(v.to, databaseDir)), (kv.FS{}).SyncDir(v.to))
}

// execute executes the old directory's blocks that the new one does not have yet.
func (v *move) execute(old *Dir) (err error) {
	archive, err := old.store.Archive()
	if err != nil {
		return err
	}
	d, err := Open(v.to, Options{Chain: chain.Options{Archive: archive}, Log: v.log, moving: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	first := types.Height(0)
	if d.Genesis() != nil {
		first = d.store.Head().Header.Height // this block is compared
	}
	if oldest := old.store.OldestHeight(); oldest > first {
		return emergency.PrunedMove(v.from, oldest, ErrMove)
	}
	reader, writer := io.Pipe()
	go func() {
		_, err := old.Export(v.ctx, Blocks{From: first, To: math.MaxUint64}, writer, v.progress)
		writer.CloseWithError(err) // nil is the end
	}()
	_, err = d.Import(v.ctx, Chain{Genesis: old.Genesis()}, reader, func(uint64) {})
	if err = errors.Join(err, reader.Close()); err != nil {
		return err
	}
	return raftlog.Copy(old.db, d.db)
}

// carry copies all other files and returns their relative paths.
func (v *move) carry() ([]string, error) {
	files, err := copyTree(v.ctx, v.from, v.to, stays)
	if err != nil || !slices.Contains(files, memberIDFile) {
		return files, err
	}
	// The new directory has all of the member's promises, and no node may use the old one any more.
	d := &Dir{path: v.to}
	file, record, err := slots.Open(kv.FS{}, d.file(memberIDFile), placeSize, laterPlace)
	if err != nil {
		return nil, err
	}
	p := decodePlace(record)
	if err := file.Close(); err != nil {
		return nil, err
	}
	if p.inode, p.born, err = machine.FileIdentity(d.file(memberIDFile)); err != nil {
		return nil, err
	}
	p.boot++
	return files, d.writePlace(p)
}

// verify checks the new directory against the old one: every checksum of its database, the head, and every byte of the
// other files. It returns the head.
func (v *move) verify(old *Dir, files []string) (head types.Height, err error) {
	d, err := OpenChain(v.to, Options{ReadOnly: true, CheckFiles: v.progress, Log: v.log})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := errors.Join(d.damaged(), d.lost); err != nil {
		return 0, err
	}
	now := d.store.Head().Header
	if old.store != nil && now.Hash() != old.store.Head().Header.Hash() {
		return 0, fmt.Errorf("its newest block is now %d, %s, but was %d, %s", now.Height, now.Hash(),
			old.store.Head().Header.Height, old.store.Head().Header.Hash())
	}
	for _, name := range files {
		if name == memberIDFile { // differs by design: it identifies the directory
			continue
		}
		if err := sameFile(filepath.Join(v.from, name), filepath.Join(v.to, name)); err != nil {
			return 0, err
		}
	}
	return now.Height, nil
}

// named returns the lines of the settings that name the old directory.
func (v *move) named() (lines []string, err error) {
	content, err := os.ReadFile(filepath.Join(v.to, SettingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, filepath.Base(v.from)+"/") || strings.Contains(line, v.from) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines, err
}

// end allows nodes to start on the new directory and no longer on the old one. After a crash between the two steps
// neither can be used until Move is called again.
func (v *move) end() error {
	if err := writeNote(v.from, movedFile, v.to); err != nil {
		return err
	}
	return errors.Join(os.Remove(filepath.Join(v.to, movingFile)), (kv.FS{}).SyncDir(v.to))
}

// notMoved returns an error for a directory with a note of a move, unless a move opens it.
func notMoved(path string, moving bool) error {
	moved, err := readNote(path, movedFile)
	if err != nil || moving {
		return err
	}
	if moved != "" {
		return emergency.Moved(path, moved, ErrMoved)
	}
	from, err := readNote(path, movingFile)
	if err == nil && from != "" {
		err = emergency.MoveUnfinished(path, from, ErrMoved)
	}
	return err
}

// readNote returns the other directory that a note names, or "" if there is no note.
func readNote(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	content, err := readBounded(path, 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var n moveNote
	if err == nil {
		err = json.Unmarshal(content, &n)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return n.Other, nil
}

func writeNote(dir, name, other string) error {
	content, err := json.Marshal(moveNote{other})
	if err != nil {
		return err
	}
	return (kv.FS{}).WriteFile(filepath.Join(dir, name), append(content, '\n'))
}
