package role

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/types"
)

// fillingDisk is a disk that may be full.
type fillingDisk struct {
	journal.OS
	full *atomic.Bool
}

type fileOnFillingDisk struct {
	journal.File
	full *atomic.Bool
}

func (d fillingDisk) Create(name string) (journal.File, error) {
	file, err := d.OS.Create(name)
	return fileOnFillingDisk{file, d.full}, err
}

func (f fileOnFillingDisk) Write(b []byte) (int, error) {
	if f.full.Load() {
		return 0, errors.New("no space left on device")
	}
	return f.File.Write(b)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// partsOf returns the parts of a node in a new network that has a producer's key.
func partsOf(t *testing.T, key crypto.PrivateKey) Parts {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chain")
	genesis, err := datadir.InitNetwork(path, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 7, Time: 1_700_000_000_000, Key: key, Admin: key,
	})
	check(t, err)
	p := Parts{Enter: func(string) {}, Log: slog.New(slog.DiscardHandler)}
	p.Dir, err = datadir.Open(path, datadir.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, p.Dir.Close()) })
	p.Store, err = p.Dir.Store()
	check(t, err)
	p.Book, err = p.Dir.Book()
	check(t, err)
	engine, err := p.Dir.Engine()
	check(t, err)
	t.Cleanup(func() { check(t, engine.Close()) })
	p.Maker, err = p.Dir.Ledger(datadir.Chain{Genesis: &genesis}, p.Book, engine)
	check(t, err)
	p.Ledger, p.Importer = p.Maker, replica.Executing(p.Maker)
	p.Telemetry, err = telemetry.New(telemetry.Config{})
	check(t, err)
	return p
}

// A producer whose disk is too full to store acknowledged transactions is not ready, until there is room again.
func TestFullDiskIsNotReady(t *testing.T) {
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	parts, disk := partsOf(t, key), fillingDisk{full: new(atomic.Bool)}
	parts.Mempool.FS = disk
	r, err := Solo{Production{Key: LocalKey(key), BlockTime: sequencer.Manual}}.Open(parts)
	check(t, err)
	ready := func(want bool, why string) {
		t.Helper()
		if c := r.Condition(); c.Ready != want || !strings.Contains(c.Reason, why) {
			t.Errorf("ready: %t, %q; want %t, %q", c.Ready, c.Reason, want, why)
		}
	}
	send := func() error {
		tx, err := types.Sign(types.Transaction{
			ChainID:      7,
			Sender:       key.PublicKey(),
			GasLimit:     120_000,
			MaxFeePerGas: 1_000,
			Target:       types.Account{9}, Value: 1, Payload: types.Transfer{},
		}, key, [32]byte{})
		check(t, err)
		return r.AddMany(t.Context(), [][]byte{tx.Encode()}, "somebody")[0].Err
	}
	ready(true, "")
	disk.full.Store(true)
	if err := send(); !errors.Is(err, mempool.ErrJournal) {
		t.Fatalf("on a full disk: error %v, want %v", err, mempool.ErrJournal)
	}
	ready(false, "refusing transactions")
	disk.full.Store(false)
	ready(true, "")
	check(t, send())
	check(t, r.Close())
}
