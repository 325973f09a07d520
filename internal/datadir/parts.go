package datadir

import (
	"errors"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Chain identifies the chain of a directory.
type Chain struct {
	Genesis  *types.Genesis   // nil: the genesis of the chain in the directory
	Override *ledger.Override // nil: none
}

// Ledger opens the chain with its state, or begins it. The engine runs its contracts, and the quarantine book decides
// which codes it must not run. If the directory has another chain, the error is [chain.ErrOtherGenesis] and names both.
func (d *Dir) Ledger(c Chain, book *quarantine.List, engine *wasm.Engine) (*ledger.Ledger, error) {
	store, err := d.Store()
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(store, c.Genesis, c.Override, book.Deny(engine))
	if err != nil {
		return nil, d.otherGenesis(c, err)
	}
	l.Fallback = fallback(book, engine)
	return l, nil
}

// Stateless is like [Dir.Ledger], for a chain without state. Its proofs must have at least the given number of proven
// bits.
func (d *Dir) Stateless(c Chain, book *quarantine.List, engine *wasm.Engine, bits int) (*ledger.Stateless, error) {
	store, err := d.Store()
	if err != nil {
		return nil, err
	}
	l, err := ledger.OpenStateless(store, c.Genesis, c.Override, book.Deny(engine), bits)
	if err != nil {
		return nil, d.otherGenesis(c, err)
	}
	l.Fallback = fallback(book, engine)
	return l, nil
}

// otherGenesis turns [chain.ErrOtherGenesis] into an emergency with the genesis hashes of both chains.
func (d *Dir) otherGenesis(c Chain, err error) error {
	if !errors.Is(err, chain.ErrOtherGenesis) {
		return err
	}
	stored, err1 := GenesisHash(d.store.Genesis())
	given, err2 := GenesisHash(*c.Genesis)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return emergency.OtherGenesis(d.path, stored.String(), given.String(), chain.ErrOtherGenesis)
}

// fallback returns the engines that execute existing blocks: the engine that runs contracts, the same one with new
// instances, and the interpreter. In all three, code that is already in quarantine runs in the interpreter. Code that
// an engine executed wrongly goes into quarantine.
func fallback(book *quarantine.List, engine *wasm.Engine) ledger.Fallback {
	named := func(name string, e vm.Engine) ledger.NamedEngine {
		return ledger.NamedEngine{Name: name, Get: func() (vm.Engine, error) { return book.Divert(e, engine.Interpreter) }}
	}
	return ledger.Fallback{
		Engines: []ledger.NamedEngine{
			named("the engine", engine),
			named("the engine with new instances", engine.Fresh()),
			{Name: "the interpreter", Get: func() (vm.Engine, error) {
				interpreter, err := engine.Interpreter()
				if err != nil {
					return nil, err
				}
				return book.Guard(interpreter), nil
			}},
		},
		Mistaken: func(m ledger.Mistake) { book.WrongResult(m.Block.Header.Height, m.Err(), m.Codes...) },
	}
}

// The defaults of [Options].CodeMemory and [Options].CodeDisk.
const (
	DefaultCodeMemory = wasm.DefaultBytes
	DefaultCodeDisk   = wasm.DefaultDirBytes
)

// Engine opens the engine that runs the chain's contracts. The caller must close it.
func (d *Dir) Engine() (*wasm.Engine, error) {
	return wasm.New(wasm.Options{
		Bytes: d.options.CodeMemory, Dir: d.file(codeDir), DirBytes: d.options.CodeDisk, Log: d.options.Log,
	})
}

// Book opens the quarantine. It is in memory if the chain is.
func (d *Dir) Book() (*quarantine.List, error) {
	store, err := d.Store()
	if err != nil {
		return nil, err
	}
	return quarantine.Open(quarantine.Options{Path: d.file(asideFile), Log: d.options.Log, Height: func() types.Height {
		if store.Empty() {
			return 0
		}
		return store.Head().Header.Height
	}})
}

// Note opens the producer's note of the transactions that it tries, or returns nil in memory. The caller must close it.
func (d *Dir) Note() (*sequencer.Note, error) {
	if d.path == "" {
		return nil, nil
	}
	return sequencer.OpenNote(d.file(noteFile), d.options.Log)
}

// Journal returns the path of the pool's journal, or "" in memory.
func (d *Dir) Journal() string { return d.file(journalFile) }

// Unsigned returns the path of the block that the signer is asked for, or "" in memory.
func (d *Dir) Unsigned() string { return d.file(unsignedFile) }

// Sources returns the path of the directory of contracts' sources, or "" in memory.
func (d *Dir) Sources() string { return d.file(sourcesDir) }

// HaltFile returns the path of the evidence of a replica's halt, or "" in memory.
func (d *Dir) HaltFile() string { return d.file(haltFile) }

// file returns the path of a file in the data directory, or "" in memory.
func (d *Dir) file(name string) string {
	if d.path == "" {
		return ""
	}
	return filepath.Join(d.path, name)
}
