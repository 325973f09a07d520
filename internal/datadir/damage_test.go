package datadir_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

func nothing(uint64, uint64) {}

// usedDir is the directory of a stopped node with a development chain of some blocks, including the inputs of their
// proofs. killed is a copy as a killed node leaves it.
func usedDir(t *testing.T) (stopped, killed string) {
	t.Helper()
	stopped, killed = t.TempDir(), filepath.Join(t.TempDir(), "killed")
	n, end := runDevelopmentWith(t, stopped, datadir.Options{Chain: chain.Options{WitnessBytes: 1 << 20}})
	c, err := client.New(n.RPCURL())
	check(t, err)
	defer c.Close()
	for i := range 10 {
		_, err := c.Dev().Fund(t.Context(), types.Account{9, byte(i)}, types.CoinUnits)
		check(t, err)
		_, err = c.Dev().Mine(t.Context(), 1)
		check(t, err)
	}
	check(t, os.CopyFS(killed, os.DirFS(stopped)))
	end()
	return stopped, killed
}

// rows is a digest of all rows of a directory's database.
func rows(t *testing.T, dir string) (digest [32]byte) {
	t.Helper()
	db, err := kv.Open(filepath.Join(dir, "db"), kv.Options{Logger: slog.New(slog.DiscardHandler)})
	check(t, err)
	h := sha256.New()
	check(t, kv.Scan(db, nil, nil, func(key, value []byte) error {
		_, err := fmt.Fprintf(h, "%x=%x;", key, value)
		return err
	}))
	check(t, db.Close())
	return [32]byte(h.Sum(nil))
}

// checked holds the problems that a check of a directory finds, and the chain's height.
func checked(t *testing.T, dir string) (found bool, head types.Height, err error) {
	t.Helper()
	d, err := datadir.OpenChain(dir, datadir.Options{CheckFiles: nothing})
	if err != nil {
		return true, 0, nil
	}
	report, err := d.Check(t.Context(), nothing)
	return !report.OK(), report.Head, errors.Join(err, d.Close())
}

// A changed byte anywhere in a database is found, or has no effect: all rows are intact. The one exception is the last
// write before a node was killed, which is treated as an incomplete write.
func TestEveryFlippedByteIsFound(t *testing.T) {
	stopped, killed := usedDir(t)
	for name, dir := range map[string]string{"stopped": stopped, "killed": killed} {
		whole := copied(t, dir)
		foundNothing, head, err := checked(t, whole)
		if check(t, err); foundNothing {
			t.Fatalf("%s: something is found where nothing is damaged", name)
		}
		want := rows(t, whole)
		random := rand.New(rand.NewPCG(7, 8))
		var finds, harmless, cut int
		for range 60 {
			flipped := copied(t, dir)
			file := flip(t, flipped, random)
			found, at, err := checked(t, flipped)
			check(t, err)
			switch {
			case found:
				finds++
			case rows(t, flipped) == want:
				harmless++
			case name == "killed" && strings.HasSuffix(file, ".log") && at < head:
				cut++
			default:
				t.Errorf("%s: a byte of %s is another, and nothing is found", name, file)
			}
		}
		t.Logf("%s: %d found, %d harmless, %d in the last write", name, finds, harmless, cut)
		if finds < 30 {
			t.Errorf("%s: only %d of 60 are found", name, finds)
		}
	}
}

// A proof of a block or a range that proves nothing, and a witness that does not lead to the block's root, are found
// although every checksum is right.
func TestEveryProofIsVerified(t *testing.T) {
	dir, _ := usedDir(t)
	span := blockproof.NewSpan(4, 1)
	d, err := datadir.OpenChain(dir, datadir.Options{})
	check(t, err)
	s, err := d.Store()
	check(t, err)
	witness, err := s.Witness(7)
	check(t, err)
	check(t, errors.Join(s.PutProof(2, []byte("no proof")), s.PutRangeProof(span, []byte("no proof either")), d.Close()))
	witnessed(t, dir, witness)
	d, err = datadir.OpenChain(dir, datadir.Options{CheckFiles: nothing})
	check(t, err)
	report, err := d.Check(t.Context(), nothing)
	check(t, errors.Join(err, d.Close()))
	var where []string
	for _, p := range report.Problems {
		where = append(where, p.Where)
	}
	if want := []string{"block 2", "block 7", "blocks 3 to 4"}; !slices.Equal(where, want) {
		t.Errorf("what is found is of %q, not %q", where, want)
	}
}

// witnessed changes the last byte of a witness, with a valid checksum.
func witnessed(t *testing.T, dir string, witness []byte) {
	t.Helper()
	db, err := kv.Open(filepath.Join(dir, "db"), kv.Options{Logger: slog.New(slog.DiscardHandler)})
	check(t, err)
	b, found := db.NewBatch(0), 0
	check(t, kv.Scan(db, nil, nil, func(key, value []byte) error {
		if bytes.Equal(value, witness) {
			changed := bytes.Clone(value)
			changed[len(changed)-1]++
			b.Set(bytes.Clone(key), changed)
			found++
		}
		return nil
	}))
	check(t, errors.Join(db.Commit(b, true), db.Close()))
	if found != 1 {
		t.Fatalf("%d rows have the witness, want 1", found)
	}
}

// copied copies a directory.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	check(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// flip changes a bit of a directory's database, and returns the file's name.
func flip(t *testing.T, dir string, random *rand.Rand) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "db", "*"))
	check(t, err)
	var all [][]byte
	total := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		check(t, err)
		all = append(all, content)
		total += len(content)
	}
	at := random.IntN(total)
	for i, content := range all {
		if at < len(content) {
			content[at] ^= 1 << random.IntN(8)
			check(t, os.WriteFile(files[i], content, 0o600))
			return filepath.Base(files[i])
		}
		at -= len(content)
	}
	return ""
}

// A damaged proof is dropped when it is read. Its neighbours are unaffected, the block can get another proof, and the
// database stays in use.
func TestDamagedProofIsDropped(t *testing.T) {
	dir, _ := usedDir(t)
	proofs := make(map[types.Height][]byte)
	with := func(work func(*chain.Store)) {
		t.Helper()
		d, err := datadir.OpenChain(dir, datadir.Options{})
		check(t, err)
		s, err := d.Store()
		check(t, err)
		work(s)
		check(t, d.Close())
	}
	random := rand.New(rand.NewPCG(1, 2))
	with(func(s *chain.Store) {
		for h := types.Height(1); h <= 5; h++ {
			proofs[h] = make([]byte, 100_000)
			for i := range proofs[h] {
				proofs[h][i] = byte(random.Uint32())
			}
			check(t, s.PutProof(h, proofs[h]))
		}
	})
	damage(t, dir, proofs[3])
	damage(t, dir, proofs[5]) // damages the newest proof
	with(func(s *chain.Store) {
		if r, err := s.Proofs(); err != nil || r.Oldest != 1 || r.Newest != 4 || s.Dropped() != 1 {
			t.Errorf("there are those of %+v, %v, %d are dropped", r, err, s.Dropped())
		}
		if _, err := s.Proof(3); !errors.Is(err, chain.ErrNotFound) || s.Dropped() != 2 {
			t.Errorf("the damaged one: %v, %d are dropped", err, s.Dropped())
		}
		for h := types.Height(1); h <= 5; h++ {
			if proof, err := s.Proof(h); h != 3 && h != 5 && (err != nil || !bytes.Equal(proof, proofs[h])) {
				t.Errorf("that of block %d: error %v", h, err)
			}
		}
		if s.Dropped() != 2 {
			t.Errorf("%d are dropped, want 2", s.Dropped())
		}
		check(t, s.PutProof(3, proofs[3]))
	})
	with(func(s *chain.Store) {
		if proof, err := s.Proof(3); err != nil || !bytes.Equal(proof, proofs[3]) || s.Dropped() != 0 {
			t.Errorf("the new one: %v, %d are dropped", err, s.Dropped())
		}
	})
}

// damage changes the file of a directory's database that contains some bytes, within these bytes.
func damage(t *testing.T, dir string, within []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	check(t, err)
	for _, file := range slices.Backward(files) {
		content, err := os.ReadFile(file)
		check(t, err)
		if at := bytes.Index(content, within); at >= 0 {
			content[at+len(within)/2] ^= 4
			check(t, os.WriteFile(file, content, 0o600))
			return
		}
	}
	t.Fatal("no file has it")
}
