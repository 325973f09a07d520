package signstate

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/slots"
	"github.com/cairn-chain/cairn/types"
)

// fileSize is the size of two slots, the first of which fills a sector.
const fileSize = int64(slots.Distance + recordSize + sha256.Size)

var genesis = types.BlockHash{0xee}

// chain returns headers that follow each other; the first, of height 1, follows the genesis.
func chain(count int) []types.Header {
	headers := make([]types.Header, count)
	parent := genesis
	for i := range headers {
		headers[i] = types.Header{Height: types.Height(i + 1), Parent: parent, Timestamp: 7}
		parent = headers[i].Hash()
	}
	return headers
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, files kv.FS, path string) *State {
	t.Helper()
	l, err := Open(files, path, genesis)
	check(t, err)
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

func TestLockSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signed")
	l := open(t, kv.FS{}, path)
	if l.Last() != (Block{0, genesis}) || l.Path() != path {
		t.Fatalf("a new one holds %+v", l.Last())
	}
	for _, h := range chain(5) {
		check(t, l.Record(h))
		if again := open(t, kv.FS{}, path); again.Last() != BlockOf(h) || l.Last() != BlockOf(h) {
			t.Fatalf("block %d: %+v, and read again %+v", h.Height, l.Last(), again.Last())
		}
		if info, err := os.Stat(path); err != nil || info.Size() != fileSize {
			t.Fatalf("got %v, error %v, want Size %v", info, err, fileSize)
		}
	}
	again := open(t, kv.FS{}, path)
	check(t, again.Record(chain(6)[5]))
}

// The blocks that may be signed after block 3, and those that may not. A refused block is not recorded.
func TestOneBlockOfAHeight(t *testing.T) {
	c := chain(5)
	change := func(h types.Header, to func(*types.Header)) types.Header {
		to(&h)
		return h
	}
	other := func(h types.Header) types.Header {
		return change(h, func(h *types.Header) { h.StateRoot[5]++ })
	}
	for name, tc := range map[string]struct {
		header types.Header
		want   error
	}{
		"the next":                              {c[3], nil},
		"a later one, after another producer's": {c[4], nil},
		"the same once more":                    {c[2], nil},
		"another of its height":                 {other(c[2]), ErrSigned},
		"one before":                            {c[1], ErrSigned},
		"another before":                        {other(c[1]), ErrSigned},
		"another genesis block":                 {types.Header{}, ErrSigned},
		"the next after another of its height": {
			change(c[3], func(h *types.Header) { h.Parent = other(c[2]).Hash() }), ErrSigned,
		},
		"another of its height, after the genesis": {change(c[2], func(h *types.Header) { h.Parent = genesis }), ErrSigned},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, kv.Memory(), "signed")
			for _, h := range c[:3] {
				check(t, l.Record(h))
			}
			if err := l.Check(tc.header); !errors.Is(err, tc.want) {
				t.Errorf("checked: error %v, want %v", err, tc.want)
			}
			if err := l.Record(tc.header); !errors.Is(err, tc.want) {
				t.Errorf("held: error %v, want %v", err, tc.want)
			}
			want := BlockOf(c[2])
			if tc.want == nil {
				want = BlockOf(tc.header)
			}
			if l.Last() != want {
				t.Errorf("holds %+v, want %+v", l.Last(), want)
			}
		})
	}
}

// After a power cut before any operation on the disk, the last record remains or the record being written exists.
func TestPowerCut(t *testing.T) {
	type picture struct {
		disk  *kv.CrashDisk
		least types.Height // the record that must exist
		most  types.Height // the record that may exist
	}
	disk := kv.NewCrashDisk()
	var pictures []picture
	var held, wanted types.Height
	take := func() error {
		for i, percent := range []int{0, 50, 100} {
			pictures = append(pictures, picture{disk.Crash(percent, uint64(len(pictures)+i)), held, wanted})
		}
		return nil
	}
	disk.OnWrite(take)
	l := open(t, disk.FS(), "signed")
	for _, h := range chain(4) {
		wanted = h.Height
		check(t, l.Record(h))
		held = h.Height
	}
	check(t, take())
	if len(pictures) < 3*12 {
		t.Errorf("only %d pictures", len(pictures))
	}
	for i, p := range pictures {
		l := open(t, p.disk.FS(), "signed")
		if last := l.Last(); last.Height < p.least || last.Height > p.most {
			t.Errorf("picture %d holds block %d, want %d to %d", i, last.Height, p.least, p.most)
		}
		for _, h := range chain(int(l.Last().Height) + 1)[l.Last().Height:] {
			check(t, l.Record(h))
		}
	}
}

// A slot that is neither the previous record nor the next is damage, never the older record: a disk writes a sector
// whole or not at all, so the lost content may be the newest.
func TestPartOfARecordIsDamage(t *testing.T) {
	for count := 1; count < 4; count++ { // either slot can come last
		path := filepath.Join(t.TempDir(), "signed")
		l := open(t, kv.FS{}, path)
		headers := chain(count)
		for _, h := range headers[:count-1] {
			check(t, l.Record(h))
		}
		before, err := os.ReadFile(path)
		check(t, err)
		check(t, l.Record(headers[count-1]))
		after, err := os.ReadFile(path)
		check(t, err)
		from := 0
		if bytes.Equal(before[:slots.Distance], after[:slots.Distance]) {
			from = slots.Distance
		}
		for n := range recordSize + sha256.Size {
			torn := append([]byte(nil), after[:from+n]...)
			if torn = append(torn, before[len(torn):]...); bytes.Equal(torn, after) || bytes.Equal(torn, before) {
				continue // the missing part may have been the newest record
			}
			check(t, os.WriteFile(path, torn, 0o600))
			if _, err := Open(kv.FS{}, path, genesis); !errors.Is(err, slots.ErrDamaged) {
				t.Fatalf("%d bytes of block %d: %v, want %v", n, count, err, slots.ErrDamaged)
			}
		}
	}
}

// A failing disk is an error, and leaves no file that could not be opened.
func TestFailingDisk(t *testing.T) {
	broken := errors.New("broken disk")
	for n := 0; ; n++ {
		disk := kv.NewCrashDisk()
		left := n
		disk.OnWrite(func() error {
			if left--; left < 0 {
				return broken
			}
			return nil
		})
		l, err := Open(disk.FS(), "signed", genesis)
		if err == nil {
			err = errors.Join(l.Record(chain(1)[0]), l.Close())
		}
		if err != nil && !errors.Is(err, broken) {
			t.Fatal(err)
		}
		disk.OnWrite(nil)
		if last := open(t, disk.FS(), "signed").Last(); err == nil && last.Height != 1 {
			t.Errorf("holds %+v", last)
		}
		if err == nil {
			if n < 6 {
				t.Errorf("only %d operations", n)
			}
			return
		}
	}
}

func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signed")
	for name, content := range map[string][]byte{"empty": {}, "short": {1}, "zeros": make([]byte, fileSize)} {
		check(t, os.WriteFile(path, content, 0o600))
		if l, err := Open(kv.FS{}, path, genesis); !errors.Is(err, slots.ErrDamaged) || l != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Open(kv.FS{}, filepath.Join(t.TempDir(), "none", "signed"), genesis); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: error %v, want %v", err, fs.ErrNotExist)
	}
}

// After a conflict nothing may be signed any more, whatever else is recorded, until the lock is replaced.
func TestElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signed")
	c := chain(4)
	for count := range 3 { // either slot can come last
		check(t, Replace(kv.FS{}, path, Block{0, genesis}))
		l := open(t, kv.FS{}, path)
		for _, h := range c[:count] {
			check(t, l.Record(h))
		}
		held := l.Last()
		check(t, l.RecordConflict(7))
		check(t, l.RecordConflict(9)) // the first record stays
		for _, l := range []*State{l, open(t, kv.FS{}, path)} {
			if l.Conflict() != 7 || l.Last() != held {
				t.Errorf("it notes block %d and holds %+v", l.Conflict(), l.Last())
			}
			for _, h := range c {
				if err := l.Check(h); !errors.Is(err, ErrConflictingSigner) {
					t.Errorf("block %d: error %v, want %v", h.Height, err, ErrConflictingSigner)
				}
				if err := l.Record(h); !errors.Is(err, ErrConflictingSigner) || l.Last() != held {
					t.Errorf("block %d is held: error %v", h.Height, err)
				}
			}
		}
		check(t, Replace(kv.FS{}, path, BlockOf(c[2])))
		anew := open(t, kv.FS{}, path)
		if anew.Conflict() != 0 || anew.Last() != BlockOf(c[2]) {
			t.Errorf("made anew it notes %d and holds %+v", anew.Conflict(), anew.Last())
		}
		check(t, anew.Record(c[3]))
	}
}

// After a power cut before any operation on the disk, the old note remains or the note being made exists.
func TestPowerCutWhileNoting(t *testing.T) {
	disk := kv.NewCrashDisk()
	l := open(t, disk.FS(), "signed")
	check(t, l.Record(chain(1)[0]))
	var cuts []*kv.CrashDisk
	cut := func() error {
		for _, percent := range []int{0, 50, 100} {
			cuts = append(cuts, disk.Crash(percent, uint64(len(cuts))))
		}
		return nil
	}
	disk.OnWrite(cut)
	check(t, l.RecordConflict(2))
	noted := len(cuts)
	check(t, cut())
	for i, c := range cuts {
		l := open(t, c.FS(), "signed")
		if at := l.Conflict(); at != 2 && (at != 0 || i >= noted) || l.Last().Height != 1 {
			t.Errorf("cut %d of %d: it notes %d and holds %+v", i, len(cuts), at, l.Last())
		}
	}
}
