package mark

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func blockAt(height types.Height) Mark { return Mark{height, types.BlockHash{byte(height), 0xab}} }

// open opens a file and returns its mark.
func open(t *testing.T, path string) (*File, Mark) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, f.Last()
}

func TestMarkSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mark")
	f, last := open(t, path)
	if last != (Mark{}) {
		t.Fatalf("a new file holds %+v", last)
	}
	for height := types.Height(1); height < 6; height++ {
		if err := f.Set(blockAt(height)); err != nil {
			t.Fatal(err)
		}
		if _, last := open(t, path); last != blockAt(height) || f.Last() != last {
			t.Fatalf("block %d: %+v", height, last)
		}
	}
	again, _ := open(t, path)
	if err := again.Set(blockAt(6)); err != nil {
		t.Fatal(err)
	}
	if _, last := open(t, path); last != blockAt(6) {
		t.Fatalf("%+v", last)
	}
}

// A write that is cut short, wherever, leaves the mark before it.
func TestTornWrites(t *testing.T) {
	for count := types.Height(2); count < 4; count++ { // either slot comes last
		path := filepath.Join(t.TempDir(), "mark")
		f, _ := open(t, path)
		for height := types.Height(1); height < count; height++ {
			if err := f.Set(blockAt(height)); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := f.next * slotDistance
		if err := f.Set(blockAt(count)); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := range slotSize {
			torn := append([]byte(nil), after[:from+n]...)
			if len(before) > len(torn) {
				torn = append(torn, before[len(torn):]...)
			}
			if err := os.WriteFile(path, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, last := open(t, path); last != blockAt(count-1) {
				t.Fatalf("%d bytes of block %d: %+v", n, count, last)
			}
		}
	}
}

func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mark")
	for name, content := range map[string][]byte{"short": {1}, "zeros": make([]byte, 2*slotDistance)} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := Open(path); !errors.Is(err, ErrDamaged) || f != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(path, "below")); err == nil {
		t.Error("a path that is none was opened")
	}
}
