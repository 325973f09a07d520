package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// A signer with a missing sign state, or one cut short so that the newest block may be missing, does not open before it
// is unlocked. Afterwards the last signed block may be signed again.
func TestSignerWithoutItsLock(t *testing.T) {
	key, err := crypto.NewPrivateKey([32]byte{31: 9})
	if err != nil {
		t.Fatal(err)
	}
	parameters := params.Default(key.PublicKey())
	genesis := types.Genesis{ChainID: 7, Network: types.Regtest, Time: 1, BaseFee: 10, Parameters: parameters}
	dir := filepath.Join(t.TempDir(), "signer")
	if _, err := InitSigner(dir, genesis, key); err != nil {
		t.Fatal(err)
	}
	if _, err := InitSigner(dir, genesis, key); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("a second time: error %v, want %v", err, ErrNotEmpty)
	}
	for name, harm := range map[string]func(path string, size int64) error{
		"absent":    func(path string, _ int64) error { return os.Remove(path) },
		"cut short": func(path string, size int64) error { return os.Truncate(path, size-1) },
		"half":      func(path string, size int64) error { return os.Truncate(path, size/2) },
		"empty":     func(path string, _ int64) error { return os.Truncate(path, 0) },
	} {
		s, err := OpenSigner(dir)
		if err != nil {
			t.Fatalf("before it is %s: error %v", name, err)
		}
		header := types.Header{ChainID: 7, Height: 1, Parent: s.Genesis, Producer: key.PublicKey()}
		if err := s.Lock.Record(header); err != nil {
			t.Fatal(err)
		}
		path := s.Lock.Path()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := harm(path, info.Size()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a failed start changes nothing
			if _, err := OpenSigner(dir); !errors.Is(err, ErrLockLost) {
				t.Fatalf("%s: error %v, want %v", name, err, ErrLockLost)
			}
		}
		if _, err := UnlockSigner(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged link key of a signer's node is not reported as a member's: the message has the command that creates
// another.
func TestDamagedSignerLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signer-link.key")
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := SignerLink(path, true); err == nil || !strings.Contains(err.Error(), "cairn signer link") {
		t.Errorf("got %v, want the command that makes another", err)
	}
}
