package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/engine/aside"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// openBook opens the book of what this node sets aside, which is in memory where its chain is.
func (n *Node) openBook() (*aside.Book, error) {
	options := aside.Options{Height: func() types.Height {
		if n.store.Empty() {
			return 0
		}
		return n.store.Head().Header.Height
	}, Log: n.config.Log}
	if n.config.DataDir != "" {
		options.Path = filepath.Join(n.config.DataDir, asideFile)
	}
	return aside.Open(options)
}

// opinions are the engines that execute blocks which are there: the one that runs contracts, the same without what ran
// before, and one of another kind.
func opinions(book *aside.Book, engine *wasm.Engine) []ledger.Opinion {
	return []ledger.Opinion{
		{Name: "the engine", Get: func() (vm.Engine, error) { return book.Watch(engine), nil }},
		{Name: "the engine with new instances", Get: func() (vm.Engine, error) { return book.Watch(engine.Fresh()), nil }},
		{Name: "the interpreter", Get: func() (vm.Engine, error) {
			interpreter, err := engine.Interpreter()
			if err != nil {
				return nil, err
			}
			return book.Watch(interpreter), nil
		}},
	}
}

// admit is the pool's [mempool.Options].Admit.
func (n *Node) admit(tx *types.Transaction) error {
	err := n.book.Check(tx.Sender, func() (types.CodeHash, error) { return sequencer.CodeOf(n.ledger, tx.Payload) })
	if errors.Is(err, aside.ErrQuarantined) || errors.As(err, new(*aside.WaitError)) {
		return fmt.Errorf("%w: %w", mempool.ErrSetAside, err)
	}
	return err
}

// Quarantined says why a code is in quarantine.
type Quarantined = aside.Quarantined

// Quarantine is the quarantine of a data directory, whose node may run.
func Quarantine(dir string) (map[types.CodeHash]Quarantined, error) {
	if err := isDataDir(dir); err != nil {
		return nil, err
	}
	book, err := aside.Open(aside.Options{Path: filepath.Join(dir, asideFile)})
	if err != nil {
		return nil, err
	}
	return book.List(), nil
}

// ClearQuarantine takes codes, or all where none is given, out of the quarantine of a data directory, and returns how many
// there were. The node must not run on it.
func ClearQuarantine(dir string, codes ...types.CodeHash) (cleared int, err error) {
	if err := isDataDir(dir); err != nil {
		return 0, err
	}
	lock, err := kv.Lock(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	book, err := aside.Open(aside.Options{Path: filepath.Join(dir, asideFile)})
	if err != nil {
		return 0, err
	}
	return book.Clear(codes...)
}

// isDataDir keeps commands from making a directory that an operator mistyped.
func isDataDir(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, databaseDir)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoChain, dir)
	} else if err != nil {
		return err
	}
	return nil
}
