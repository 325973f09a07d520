package datadir

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Quarantined is the reason why a code is in quarantine.
type Quarantined = quarantine.Quarantined

// Quarantine returns the quarantine of a data directory, whose node may run.
func Quarantine(path string) (map[types.CodeHash]Quarantined, error) {
	if err := mustHaveDatabase(path); err != nil {
		return nil, err
	}
	book, err := quarantine.Open(quarantine.Options{Path: filepath.Join(path, asideFile)})
	if err != nil {
		return nil, err
	}
	return book.Codes(), nil
}

// ClearQuarantine removes the given codes, or all if none is given, from the quarantine of a data directory and returns
// the number removed. The directory's node must not run. The database is not opened.
func ClearQuarantine(path string, codes ...types.CodeHash) (cleared int, err error) {
	if err := mustHaveDatabase(path); err != nil {
		return 0, err
	}
	lock, err := kv.Lock(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	book, err := quarantine.Open(quarantine.Options{Path: filepath.Join(path, asideFile)})
	if err != nil {
		return 0, err
	}
	return book.Clear(codes...)
}

// mustHaveDatabase returns [ErrNoChain] for a directory without a database, so that a mistyped name does not create
// one.
func mustHaveDatabase(path string) error {
	there, err := HasDatabase(path)
	if err == nil && !there {
		err = fmt.Errorf("%w: %s", ErrNoChain, path)
	}
	return err
}
