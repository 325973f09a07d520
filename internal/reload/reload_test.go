package reload

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A changed file is loaded again at the next check, or at once if the set is reloaded. A file that does not load
// changes nothing.
func TestFilesThatChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	write("a", start)
	set, loads := NewSet(slog.New(slog.DiscardHandler)), 0
	f, err := Watch(set, func() (string, error) {
		loads++
		text, err := os.ReadFile(path)
		if err == nil && string(text) == "bad" {
			err = errors.New("it is bad")
		}
		return string(text), err
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	now := start
	f.now = func() time.Time { return now }
	f.next.Store(now.Add(checkInterval).UnixNano())
	holds := func(want string, wantLoads int) {
		t.Helper()
		if got := *f.Get(); got != want || loads != wantLoads {
			t.Errorf("got %q after %d loads, want %q after %d", got, loads, want, wantLoads)
		}
	}
	write("b", start.Add(time.Hour))
	holds("a", 1) // files are not checked all the time
	now = now.Add(2 * checkInterval)
	holds("b", 2)
	holds("b", 2)
	write("bad", start.Add(2*time.Hour))
	now = now.Add(2 * checkInterval)
	holds("b", 3)
	// Writes within one tick of the file system's clock have the same time.
	write("bat", start.Add(2*time.Hour))
	now = now.Add(2 * checkInterval)
	holds("b", 3)
	set.Reload()
	holds("bat", 4)
}

func TestFileThatIsNotThere(t *testing.T) {
	set := NewSet(slog.New(slog.DiscardHandler))
	none := filepath.Join(t.TempDir(), "none")
	if _, err := Watch(set, func() ([]byte, error) { return os.ReadFile(none) }, none); err == nil {
		t.Error("got no error for a file that is not there")
	}
	set.Reload() // it has nothing to read
}
