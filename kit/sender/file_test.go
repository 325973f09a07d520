package sender_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

var scope = sender.Scope{Genesis: types.BlockHash{1}, Account: types.Account{2}}

func refusal(id string) sender.Entry { return sender.Entry{Type: sender.Refused, ID: id, Reason: "x"} }

// write appends entries one by one.
func write(t *testing.T, path string, ids ...string) {
	t.Helper()
	f := sender.NewFile(path)
	if _, err := f.Open(scope); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := f.Append([]sender.Entry{refusal(id), refusal(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// read returns a journal's content: the ID of each append.
func read(path string, of sender.Scope) (ids []string, err error) {
	f := sender.NewFile(path)
	entries, err := f.Open(of)
	for some := range slices.Chunk(entries, 2) {
		ids = append(ids, some[0].ID)
	}
	if err == nil {
		err = f.Close()
	}
	return ids, err
}

func wantIDs(t *testing.T, path string, want ...string) {
	t.Helper()
	if got, err := read(path, scope); err != nil || !slices.Equal(got, want) {
		t.Fatalf("the journal has %q (%v), want %q", got, err, want)
	}
}

func TestFileKeepsWhatIsAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	write(t, path, "a", "é\n<&")
	wantIDs(t, path, "a", "é\n<&")
	write(t, path, "c")
	wantIDs(t, path, "a", "é\n<&", "c")
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("files left: %v (%v)", names, err)
	}
	f := sender.NewFile(path)
	if _, err := f.Open(scope); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace([]sender.Entry{refusal("b"), refusal("b")}); err != nil {
		t.Fatal(err)
	}
	if err := f.Append([]sender.Entry{refusal("d"), refusal("d")}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, path, "b", "d")
	if err := f.Append([]sender.Entry{refusal("e")}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("append after close: error %v, want %v", err, fs.ErrClosed)
	}
}

// Wherever the last append is cut off, the others remain, and the next one follows them.
func TestFileTornAtItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	write(t, path, "a")
	whole := len(content(t, path))
	write(t, path, "b")
	text := content(t, path)
	for length := whole; length < len(text); length++ {
		replace(t, path, text[:length])
		wantIDs(t, path, "a")
		write(t, path, "d")
		wantIDs(t, path, "a", "d")
	}
	replace(t, path, text[:len(text)-8]+"\x00\x00\x00\x00\x00\x00\x00\n")
	wantIDs(t, path, "a")
}

// A flipped bit in any byte is reported, and only its line is lost.
func TestFileSalvages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	ids := []string{"a", "b", "c"}
	write(t, path, ids...)
	text := content(t, path)
	for at := range len(text) {
		if text[at] == '\n' || text[at]^4 == '\n' { // joins two lines, or splits one
			continue
		}
		replace(t, path, text[:at]+string([]byte{text[at] ^ 4})+text[at+1:])
		hit := strings.Count(text[:at], "\n") // 0: the first line, which has the scope
		var damage *sender.DamageError
		if _, err := read(path, scope); !errors.As(err, &damage) || !errors.Is(err, sender.ErrBadJournal) ||
			!slices.Equal(damage.Lines, []int{hit + 1}) {
			t.Fatalf("byte %d: %v, want damage to line %d", at, err, hit+1)
		}
		got, err := sender.NewFile(path).Salvage(scope)
		if err != nil || got == nil || !slices.Equal(got.Lines, []int{hit + 1}) {
			t.Fatalf("byte %d: salvaged %v (%v), want line %d", at, got, err, hit+1)
		}
		want := slices.Clone(ids)
		if hit > 0 {
			want = slices.Delete(want, hit-1, hit)
		}
		wantIDs(t, path, want...)
		if again, err := sender.NewFile(path).Salvage(scope); again != nil || err != nil {
			t.Fatalf("byte %d: salvaged again %v (%v)", at, again, err)
		}
	}
	if aside := content(t, path+".damaged"); strings.Count(aside, "\n") < len(text)-len(ids)-10 {
		t.Errorf("%d damaged lines are aside, of %d bytes", strings.Count(aside, "\n"), len(text))
	}
}

// Two damaged lines lose only these two: versions of a job are lost with its first entry, and the error names all IDs.
func TestFileSalvagesNamesJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	f := sender.NewFile(path)
	if _, err := f.Open(scope); err != nil {
		t.Fatal(err)
	}
	for _, e := range []sender.Entry{
		{Type: sender.Signed, ID: "lost"}, {Type: sender.Refused, ID: "kept"}, {Type: sender.Version, ID: "lost"},
		{Type: sender.Signed, ID: "also \"lost\""},
	} {
		if err := f.Append([]sender.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	replace(t, path, strings.ReplaceAll(content(t, path), `"type":"signed"`, `"type":"Signed"`))
	damage, err := sender.NewFile(path).Salvage(scope)
	if err != nil || damage == nil || !slices.Equal(damage.IDs, []string{"lost", `also "lost"`}) ||
		!slices.Equal(damage.Lines, []int{2, 5}) {
		t.Fatalf("salvaged %+v (%v), want lines 2 and 5 with both jobs", damage, err)
	}
	entries, err := f.Open(scope)
	if err != nil || len(entries) != 1 || entries[0].ID != "kept" {
		t.Errorf("the journal has %+v (%v), want the job that was not damaged", entries, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFileRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	write(t, path, "a", "b")
	text := content(t, path)
	for _, test := range []struct {
		name, text string
		scope      sender.Scope
		want       error
	}{
		{"damage before the last line", strings.Replace(text, `"a"`, `"x"`, 1), scope, sender.ErrBadJournal},
		{"another account", text, sender.Scope{Genesis: scope.Genesis}, sender.ErrOtherScope},
		{"another chain", text, sender.Scope{Account: scope.Account}, sender.ErrOtherScope},
		{"another format", "12ae32cb1ec02d01 [1]\n" + text, scope, sender.ErrBadJournal},
		{"no journal", "hello\nworld\n", scope, sender.ErrBadJournal},
	} {
		replace(t, path, test.text)
		if _, err := read(path, test.scope); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if content(t, path) != test.text {
			t.Errorf("%s: the file was changed", test.name)
		}
	}
	replace(t, path, text)
	wantIDs(t, path, "a", "b")
}

func TestFileIsOneProcesss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	f := sender.NewFile(path)
	if _, err := f.Open(scope); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open(scope); !errors.Is(err, sender.ErrLocked) {
		t.Errorf("opened twice: error %v, want %v", err, sender.ErrLocked)
	}
	if _, err := read(path, scope); !errors.Is(err, sender.ErrLocked) {
		t.Errorf("opened by another: error %v, want %v", err, sender.ErrLocked)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, holder := range []string{
		fmt.Sprintf("%d 1\n", gone.Process.Pid), fmt.Sprintf("%d 1\n", os.Getpid()), "\n", "-1 5\n", "",
	} {
		replace(t, path+".lock", holder)
		wantIDs(t, path)
	}
}
