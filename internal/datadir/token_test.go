package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/secret"
)

// A directory keeps its token, which only its owner may read. The token of an in-memory chain is deleted with it.
func TestAdminToken(t *testing.T) {
	path := t.TempDir()
	var tokens [2][secret.Size]byte
	for i := range tokens {
		d, err := datadir.Open(path, datadir.Options{})
		check(t, err)
		file, err := d.AdminToken()
		check(t, err)
		tokens[i], err = secret.ReadHex(file)
		check(t, err)
		check(t, d.Close())
	}
	if tokens[0] != tokens[1] || tokens[0] == [secret.Size]byte{} {
		t.Errorf("%x at the first start, %x at the second: want the same, not zero", tokens[0], tokens[1])
	}
	file := filepath.Join(path, datadir.AdminTokenFile)
	for what, spoil := range map[string]func() error{
		"that others may read": func() error { return os.Chmod(file, 0o644) },
		"that is cut short":    func() error { return os.Truncate(file, 10) },
	} {
		check(t, spoil())
		d, err := datadir.Open(path, datadir.Options{})
		check(t, err)
		_, err = d.AdminToken()
		check(t, err)
		anew, err := secret.ReadHex(file)
		if err != nil || anew == tokens[0] {
			t.Errorf("a token %s: %x, %v; want another one than %x", what, anew, err, tokens[0])
		}
		check(t, d.Close())
	}
	memory, err := datadir.Open("", datadir.Options{})
	check(t, err)
	file, err = memory.AdminToken()
	check(t, err)
	token, err := secret.ReadHex(file)
	check(t, err)
	if again, err := memory.AdminToken(); again != file || err != nil || token == tokens[0] {
		t.Errorf("%s, %v, token %x: want %s again and another token than %x", again, err, token, file, tokens[0])
	}
	check(t, memory.Close())
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of a chain in memory after its end: %v, want %v", err, os.ErrNotExist)
	}
}
