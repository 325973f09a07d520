package datadir_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// produce lets a network's producer make some more blocks in a directory, and returns the height of the last.
func produce(t *testing.T, dir string, genesis types.Genesis, key crypto.PrivateKey) types.Height {
	t.Helper()
	d, err := datadir.Open(dir, datadir.Options{})
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	made := 0
	n, err := node.New(d, node.Config{
		Chain:   datadir.Chain{Genesis: &genesis},
		Role:    role.Solo{Production: role.Production{Key: role.LocalKey(key), BlockTime: time.Millisecond}},
		Serving: node.Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
		OnBlock: func(types.SignedHeader, int) {
			if made++; made == 3 {
				stop()
			}
		},
	})
	check(t, err)
	check(t, n.Run(ctx))
	d, err = datadir.OpenChain(dir, datadir.Options{})
	check(t, err)
	store, err := d.Store()
	check(t, err)
	height := store.Head().Header.Height
	check(t, d.Close())
	return height
}

// If the chain lacks blocks that the directory's key signed, the check reports it. The directory is neither deleted nor
// used as the chain, and the blocks can be restored.
func TestLostBlocksAreSaidAndBroughtBack(t *testing.T) {
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	dir := filepath.Join(t.TempDir(), "chain")
	genesis, err := datadir.InitNetwork(dir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 7, Time: 1_700_000_000_000, Key: key, Admin: key,
	})
	check(t, err)
	had := produce(t, dir, genesis, key)
	db, older := filepath.Join(dir, "db"), filepath.Join(t.TempDir(), "older")
	check(t, os.CopyFS(older, os.DirFS(db)))
	head := produce(t, dir, genesis, key)
	var file bytes.Buffer
	_, err = export(t, dir, head, &file)
	check(t, err)
	check(t, os.RemoveAll(db))
	check(t, os.CopyFS(db, os.DirFS(older)))

	d, err := datadir.OpenChain(dir, datadir.Options{Chain: chain.Options{Retention: 1}})
	check(t, err)
	none := func(uint64, uint64) {}
	report, err := d.Check(t.Context(), none)
	if err != nil || report.Found != 1 || !strings.Contains(report.Problems[0].What, "are lost here") {
		t.Errorf("checking finds %+v, %v; want the loss alone", report, err)
	}
	for name, work := range map[string]func() error{
		"prune":    func() error { _, err := d.Prune(t.Context()); return err },
		"prove":    func() error { _, _, err := d.Prove(t.Context(), datadir.Blocks{To: head}, nil, none); return err },
		"snapshot": func() error { _, err := d.CreateSnapshot(t.Context()); return err },
	} {
		if err := work(); !errors.Is(err, datadir.ErrBlocksLost) {
			t.Errorf("%s: %v, want %v", name, err, datadir.ErrBlocksLost)
		}
	}
	check(t, d.Close())
	if count, err := export(t, dir, head, new(bytes.Buffer)); err != nil || count != uint64(had)+1 {
		t.Errorf("exporting gives %d blocks, %v; want the %d that are there", count, err, had+1)
	}
	if count, err := importFile(t.Context(), dir, nil, file.Bytes()); err != nil || count != uint64(head-had) {
		t.Fatalf("%d blocks are brought back, %v; want %d", count, err, head-had)
	}
	d, err = datadir.OpenChain(dir, datadir.Options{})
	check(t, err)
	if report, err := d.Check(t.Context(), none); err != nil || !report.OK() || report.Head != head {
		t.Errorf("afterwards checking finds %+v, error %v", report, err)
	}
	check(t, d.Close())
}
