package slots

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func later(record, than []byte) bool { return record[0] > than[0] }

func read(t *testing.T, path string) []byte {
	t.Helper()
	f, record, err := Open(kv.FS{}, path, 3, later)
	check(t, err)
	check(t, f.Close())
	return record
}

// The newest record is read. A flipped bit anywhere in the file is damage, as the newest record may have been there.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	check(t, Create(kv.FS{}, path, []byte{1, 0, 0}))
	f, _, err := Open(kv.FS{}, path, 3, later)
	check(t, err)
	size := 0
	for n := byte(2); n < 6; n++ {
		record := []byte{n, n, 7}
		check(t, f.Write(record))
		if got := read(t, path); !bytes.Equal(got, record) {
			t.Fatalf("read %v, want %v", got, record)
		}
		content, err := os.ReadFile(path)
		check(t, err)
		if size == 0 {
			size = len(content)
		}
		if len(content) != size {
			t.Fatalf("%d bytes, want %d as before", len(content), size)
		}
	}
	check(t, f.Close())
	content, err := os.ReadFile(path)
	check(t, err)
	for i := range content {
		content[i] ^= 4
		check(t, os.WriteFile(path, content, 0o600))
		if _, got, err := Open(kv.FS{}, path, 3, later); !errors.Is(err, ErrDamaged) {
			t.Fatalf("with byte %d flipped: %v, %v, want %v", i, got, err, ErrDamaged)
		}
		content[i] ^= 4
	}
}

// A slot of zeros, which a crash during a write may leave, has no record: the other slot counts.
func TestSlotOfZeros(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	for slot := range 2 {
		check(t, Create(kv.FS{}, path, []byte{1, 2, 3}))
		content, err := os.ReadFile(path)
		check(t, err)
		clear(content[slot*Distance : slot*Distance+len(seal(make([]byte, 3)))])
		check(t, os.WriteFile(path, content, 0o600))
		if got := read(t, path); !bytes.Equal(got, []byte{1, 2, 3}) {
			t.Errorf("with slot %d zero: %v, want the record of the other", slot, got)
		}
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	if _, _, err := Open(kv.FS{}, path, 3, later); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: error %v, want %v", err, fs.ErrNotExist)
	}
	if err := Create(kv.FS{}, path, make([]byte, Distance)); err == nil {
		t.Error("a record that does not fit was taken")
	}
	check(t, Create(kv.FS{}, path, []byte{1, 2, 3}))
	if _, _, err := Open(kv.FS{}, path, 4, later); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record of another size: error %v, want %v", err, ErrDamaged)
	}
	whole := int64(Distance + len(seal(make([]byte, 3))))
	for _, n := range []int64{whole + 1, whole - 1, Distance, 34, 10, 0} {
		check(t, os.Truncate(path, n))
		if _, _, err := Open(kv.FS{}, path, 3, later); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes are left: error %v, want %v", n, err, ErrDamaged)
		}
	}
}
