package datadir_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// The compiler runs a code in blocks until it has run it wrongly. From then on no engine for blocks compiles the code,
// even after the directory is opened again.
func TestWhatTheCompilerRanWrongly(t *testing.T) {
	binary := wasmgen.Hostile(false).Encode()
	hash := types.CodeHash(sha256.Sum256(binary))
	dir := t.TempDir()
	key, err := crypto.NewPrivateKey([32]byte{31: 9})
	check(t, err)
	genesis := &types.Genesis{
		ChainID: 7, Network: types.Regtest, Time: 1, BaseFee: 10, Parameters: params.Default(key.PublicKey()),
	}
	compiled := func(wrongly bool) uint64 {
		t.Helper()
		d, err := datadir.Open(dir, datadir.Options{})
		check(t, err)
		engine, err := d.Engine()
		check(t, err)
		defer func() { check(t, errors.Join(engine.Close(), d.Close())) }()
		book, err := d.Book()
		check(t, err)
		l, err := d.Ledger(datadir.Chain{Genesis: genesis}, book, engine)
		check(t, err)
		before := engine.Stats().Compiled
		for _, o := range l.Fallback.Engines {
			e, err := o.Get()
			check(t, err)
			m, err := e.Module(hash, func() ([]byte, error) { return binary, nil })
			check(t, err)
			check(t, e.Compile(hash, m))
			gas := vm.Gas{Left: 1_000_000}
			if exit, err := e.Run(hash, m, "recurse", nil, &gas); err != nil || exit != vm.StackOverflow {
				t.Errorf("%s: exit %d, %v, want %d", o.Name, exit, err, vm.StackOverflow)
			}
		}
		if wrongly {
			l.Fallback.Mistaken(ledger.Mistake{
				Verdicts: []ledger.Verdict{{Engine: "the engine", Err: errors.New("it differs")}},
				Codes:    []types.CodeHash{hash},
			})
		}
		return engine.Stats().Compiled - before
	}
	if got := compiled(true); got != 1 {
		t.Errorf("%d modules were compiled, want 1", got)
	}
	if got := compiled(false); got != 0 {
		t.Errorf("in quarantine: %d modules were compiled, want none", got)
	}
	listed, err := datadir.Quarantine(dir)
	check(t, err)
	if why, there := listed[hash]; !there || !strings.Contains(why.Error, "the engine: it differs") {
		t.Errorf("in quarantine: got %+v", listed)
	}
}
