package sequencer

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/types"
)

func openNote(t *testing.T, path string) *Note {
	t.Helper()
	n, err := OpenNote(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A process that ends in a call leaves that word; the next process notes the call, and the one after it blames the
// call, once.
func TestNoteBlamesTheSecondEnd(t *testing.T) {
	f, _, calls := withFakes(t, time.Second, 1)
	deadly := f.send(others[0], 0, 9, calls[0])
	later := f.send(others[1], 0, 1, payment)
	path := filepath.Join(t.TempDir(), "note")
	for life := range 2 {
		f.Note = openNote(t, path)
		if err := f.DropSuspect(); err != nil {
			t.Fatal(err)
		}
		if tx := f.newBatch(f.best(), f.BlockTime()).Next(); tx == nil || tx.ID() != deadly {
			t.Fatalf("life %d tries %v", life, tx)
		}
		// The process crashes here: the file is not closed.
		if err := f.Note.file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f.Note = openNote(t, path)
	if err := f.DropSuspect(); err != nil {
		t.Fatal(err)
	}
	if _, pending := f.pool.Get(deadly); pending {
		t.Error("the transaction is pending still")
	}
	f.send(others[0], 0, 9, calls[0]) // the sender must wait
	f.block(later)
	if err := f.Note.Close(); err != nil {
		t.Fatal(err)
	}
	f.Note = openNote(t, path)
	if _, there := f.Note.suspect(); there || f.Note.careful > 0 {
		t.Error("an end in order is held against somebody")
	}
	if err := f.Note.Close(); err != nil {
		t.Fatal(err)
	}
}

// A transaction that runs no contract is not noted, and a completed block leaves no note.
func TestNoteOfABlock(t *testing.T) {
	f, _, calls := withFakes(t, time.Second, 1)
	path := filepath.Join(t.TempDir(), "note")
	f.Note = openNote(t, path)
	says := func(want string) {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, ok := decodeNote(content); got != want || ok == (want == "") {
			t.Errorf("the note is %q", content)
		}
	}
	f.block(f.send(others[0], 0, 9, payment))
	says("")
	f.block(f.send(others[0], 1, 9, calls[0]))
	says(atRest)
	f.Note.careful = 1
	f.block(f.send(others[0], 2, 9, calls[0]))
	if f.Note.careful != 0 {
		t.Error("care has no end")
	}
	if err := f.Note.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedNote(t *testing.T) {
	whole := encodeNote(trying, types.TxID{1})
	if says, id, ok := decodeNote(whole); !ok || says != trying || id != (types.TxID{1}) {
		t.Fatalf("%q %v %v", says, id, ok)
	}
	for name, content := range map[string]string{
		"cut": string(whole[:20]), "longer": string(whole) + "\n", "another word": "walking " +
			string(whole[len(building):]), "upper case": string(whole[:9]) + "0X" + string(whole[11:]),
	} {
		path := filepath.Join(t.TempDir(), "note")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		n := openNote(t, path)
		if _, there := n.suspect(); there || n.careful > 0 {
			t.Errorf("%s: it counts", name)
		}
		n.write(building, types.TxID{})
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if n = openNote(t, path); n.says != atRest || n.careful > 0 {
			t.Errorf("%s: written over it says %q", name, n.says)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
