package node

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
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

// A producer whose disk is too full for what it would acknowledge is not ready, until there is room again.
func TestFullDiskIsNotReady(t *testing.T) {
	config := newNetwork(t)
	n, end := config.run(t)
	defer end()
	disk := fillingDisk{full: new(atomic.Bool)}
	options := mempool.Options{Journal: filepath.Join(t.TempDir(), "journal"), FS: disk}
	pool, err := mempool.New(options, mempool.HeadOf(n.ledger))
	check(t, err)
	full := &Node{pool: pool}
	full.sequencer, full.keyLock = n.sequencer, n.keyLock
	full.produces.Store(true)
	ready := func(want bool, why string) {
		t.Helper()
		if ready, reason := full.ready(); ready != want || !strings.Contains(reason, why) {
			t.Errorf("ready: %t, %q", ready, reason)
		}
	}
	send := func() error {
		tx, err := types.Sign(types.Transaction{
			Version:      1,
			ChainID:      7,
			Sender:       config.Key.PublicKey(),
			GasLimit:     100_000,
			MaxFeePerGas: 1_000,
			Payload:      types.Transfer{To: types.Account{9}, Amount: 1},
		}, config.key, [32]byte{})
		check(t, err)
		return pool.AddMany(t.Context(), [][]byte{tx.Encode()}, "somebody")[0].Err
	}
	ready(true, "")
	disk.full.Store(true)
	if err := send(); !errors.Is(err, mempool.ErrJournal) {
		t.Fatalf("on a full disk: %v", err)
	}
	ready(false, "transactions are refused")
	disk.full.Store(false)
	ready(true, "")
	check(t, send())
	check(t, pool.Close())
}
