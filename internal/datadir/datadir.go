// Package datadir manages a node's data directory: one [Dir] locks it, opens its database once, and knows every file in
// it. Offline work on a directory is done by methods of Dir. A running node receives its Dir from its caller.
package datadir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// The entries of a data directory. The database makes a file LOCK beside them, and its own files within databaseDir.
const (
	databaseDir  = "db"
	importDir    = "db.importing" // a database that an import is filling from a snapshot
	codeDir      = "code"         // machine code of contracts: may be deleted while the node is stopped
	snapshotsDir = "snapshots"
	sourcesDir   = "sources" // archives of contracts' sources
	journalFile  = "mempool.journal"
	asideFile    = "aside.json"
	noteFile     = "trying.note"
	haltFile     = "halted.json"
	unsignedFile = "unsigned.block"

	signedFile    = "signed-%x-%x" // with the first bytes of the key and of the hash of the genesis block
	signedPattern = "signed-*-%x"  // matches the files of all keys

	GenesisFile     = "genesis.json"
	ProtocolKeyFile = "protocol.key"
	AdminKeyFile    = "admin.key"       // key of the chain's admin, which a node does not need
	SignerLinkFile  = "signer-link.key" // key that identifies the node to its signer
	SettingsFile    = "cairn.toml"
	AdminTokenFile  = "admin.token" // token that the admin address requires for changes
)

var (
	// ErrLocked is returned for a data directory that another process uses.
	ErrLocked = kv.ErrLocked
	// ErrDamaged is returned for a database whose files are corrupt.
	ErrDamaged = kv.ErrDamaged
	// ErrNoChain is returned for a data directory without a chain.
	ErrNoChain = errors.New("this data directory has no chain")
	// ErrHasChain is returned for a data directory that must be empty and has a chain.
	ErrHasChain = errors.New("this data directory already has a chain")
	// ErrArchive is returned for the pruning of an archive, and ErrNoArchive for a chain that cannot become an archive
	// because blocks are lost.
	ErrArchive   = chain.ErrArchive
	ErrNoArchive = chain.ErrNoArchive
	// ErrOtherGenesis is returned for a genesis that differs from the genesis of the chain in the directory.
	ErrOtherGenesis = chain.ErrOtherGenesis
)

// Options configures the use of a data directory. The zero value is for offline work.
type Options struct {
	Chain    chain.Options // the directory sets Schedule and OnDropped
	Database kv.Options    // the directory sets FS, Logger and ReadOnly

	CodeMemory int   // approximate bytes of compiled code and idle contract instances, 0 for [DefaultCodeMemory]
	CodeDisk   int64 // bytes of contracts' machine code on disk, 0 for [DefaultCodeDisk]

	// ReadOnly leaves the disk unchanged: the database refuses writes.
	ReadOnly bool
	// moving opens a directory for a move and excludes all other processes.
	moving bool

	// CheckFiles, unless nil, makes Open read every byte of the database's files and compare it with its checksum
	// first. Without it, a log that is damaged at its end looks as if a crash had cut it. CheckFiles receives the bytes
	// done and the total.
	CheckFiles func(done, total uint64)

	Log *slog.Logger // nil disables logging
}

// The database's defaults of [kv.Options].MemTableBytes and [kv.Options].MaxUnmerged.
const (
	DefaultTableBytes  = kv.DefaultMemTableBytes
	DefaultMaxUnmerged = kv.DefaultMaxUnmerged
)

// Dir is an open data directory, or a chain in memory without one. No other process can open the directory until it is
// closed. A Dir is not safe for concurrent use.
type Dir struct {
	path    string // empty: everything is in memory
	options Options

	lock  io.Closer // nil in memory
	db    *kv.DB    // nil before the database is opened
	store *chain.Store
	lost  error  // a block that a key of this directory signed is missing, or the record of signed blocks is unreadable
	token string // path of the admin token of an in-memory chain, empty before its first use

	damages []kv.Damage // found by CheckFiles
}

// Open locks a data directory and opens the chain in it, if any. It makes the directory if it does not exist. An empty
// path opens a chain in memory. Open returns [ErrLocked] for a directory in use, and the errors of [chain.Open]. Errors
// that an operator must handle are messages of package emergency.
func Open(path string, options Options) (_ *Dir, err error) {
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	d := &Dir{path: path, options: options}
	defer func() {
		if err != nil {
			err = errors.Join(Explain(path, err), d.Close())
		}
	}()
	if path == "" {
		return d, d.open()
	}
	if err := d.take(); err != nil {
		return nil, err
	}
	if there, err := HasDatabase(path); err != nil || !there {
		return d, err
	}
	if options.CheckFiles != nil {
		d.damages, err = kv.FS{}.CheckFiles(context.Background(), filepath.Join(path, databaseDir), options.CheckFiles)
		if err != nil {
			return nil, err
		}
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.damaged())
	}
	// The blocks signed by a member's key are in the cluster's log and are applied again: the chain may be some blocks
	// behind.
	member, err := IsMember(path)
	if err == nil && !member {
		d.lost = d.lostBlocks()
	}
	return d, err
}

// take locks the directory, shared if it is only read.
func (d *Dir) take() (err error) {
	if d.options.ReadOnly && !d.options.moving {
		d.lock, err = kv.LockShared(d.path)
		return err
	}
	if err := mayWrite(d.path); err != nil {
		return err
	}
	if err := notMoved(d.path, d.options.moving); err != nil {
		return err
	}
	d.lock, err = kv.Lock(d.path)
	return err
}

// damaged returns the damage found by CheckFiles as an error.
func (d *Dir) damaged() error {
	var errs []error
	for _, damage := range d.damages {
		errs = append(errs, fmt.Errorf("%s: %w", damage.File, damage.Err))
	}
	return errors.Join(errs...)
}

// OpenChain is like [Open], but returns [ErrNoChain] for a directory without a chain.
func OpenChain(path string, options Options) (*Dir, error) {
	if err := mustHaveDatabase(path); err != nil {
		return nil, Explain(path, err)
	}
	d, err := Open(path, options)
	if err != nil {
		return nil, err
	}
	if d.store.Empty() {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrNoChain, path), d.Close())
	}
	return d, nil
}

// HasDatabase reports whether a data directory has a database. The database may have no chain.
func HasDatabase(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	_, err := os.Stat(filepath.Join(path, databaseDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// open opens the database, or creates it if there is none.
func (d *Dir) open() (err error) {
	database := d.options.Database
	database.Logger, database.ReadOnly = d.options.Log, d.options.ReadOnly
	if d.path == "" {
		database.FS = kv.Memory()
	}
	d.db, err = kv.Open(filepath.Join(d.path, databaseDir), database)
	if errors.Is(err, kv.ErrNone) {
		return fmt.Errorf("%w: %s", ErrNoChain, d.path)
	}
	if err != nil {
		return err
	}
	options := d.options.Chain
	options.Schedule = params.Prices.Digest()
	options.OnDropped = func(what string, of types.Height, err error) {
		d.options.Log.Error("disk corruption: dropped a corrupt record", "what", what, "height", of, "error", err)
	}
	d.store, err = chain.Open(d.db, options)
	return err
}

// closeDatabase closes the store and the database.
func (d *Dir) closeDatabase() error {
	var errs []error
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.db != nil {
		errs = append(errs, d.db.Close())
	}
	d.store, d.db = nil, nil
	return errors.Join(errs...)
}

// Close closes the database and unlocks the directory.
func (d *Dir) Close() error {
	err := d.closeDatabase()
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
		d.lock = nil
	}
	if d.token != "" {
		err = errors.Join(err, os.Remove(d.token))
		d.token = ""
	}
	return err
}

// Path returns the path of the directory, or "" in memory.
func (d *Dir) Path() string { return d.path }

// Options returns the options that the directory was opened with.
func (d *Dir) Options() Options { return d.options }

// Store returns the store of the chain. It is empty if there is no chain yet. The caller must not close it.
func (d *Dir) Store() (*chain.Store, error) {
	if d.store == nil {
		if err := d.open(); err != nil {
			return nil, err
		}
	}
	return d.store, nil
}

// Failing returns a channel that is closed once the open database accepts no more writes. [Dir.Failure] returns the
// reason.
func (d *Dir) Failing() <-chan struct{} { return d.db.Failing() }

// Failure returns the reason why the database accepts no more writes, or nil.
func (d *Dir) Failure() error { return d.db.Failure() }

// Metrics returns the metrics of the database, which must be open.
func (d *Dir) Metrics() kv.Metrics { return d.db.Metrics() }

// Genesis returns the genesis of the chain in the directory, or nil if there is no chain.
func (d *Dir) Genesis() *types.Genesis {
	if d.store == nil || d.store.Empty() {
		return nil
	}
	return new(d.store.Genesis())
}
