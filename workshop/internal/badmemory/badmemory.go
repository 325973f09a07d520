// Package badmemory alters the database of a stopped node, as bad memory or a bad disk would.
package badmemory

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Balance adds to an account's balance in the state of a data directory, without updating the state tree.
func Balance(dir string, account types.Account, add int64) (err error) {
	db, err := kv.Open(filepath.Join(dir, "db"), kv.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b := db.NewBatch(1 << 10)
	changed := 0
	err = kv.Scan(db, []byte{0}, []byte{0xff}, func(key, value []byte) error {
		if len(key) < 1 || !bytes.Equal(key[1:], state.AccountKey(account)) {
			return nil
		}
		record, err := state.DecodeAccount(account, value)
		if err != nil {
			return err
		}
		record.Balance += types.Amount(add)
		b.Set(bytes.Clone(key), record.Encode(account))
		changed++
		return nil
	})
	if err == nil && changed != 1 {
		err = fmt.Errorf("%s has %d rows of %s", dir, changed, account)
	}
	if err != nil {
		return err
	}
	return db.Commit(b, true)
}
