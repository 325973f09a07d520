// Package datadir is a node's data directory: one [Dir] locks it, opens its database once, and knows every file in it.
// What is done with a directory while no node runs on it is a method of the Dir; a node is given one.
package datadir

import (
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

// What is in a data directory. The database makes a file LOCK beside them, and its own within databaseDir.
const (
	databaseDir  = "db"
	importDir    = "db.importing" // a database that is being made of a snapshot
	codeDir      = "code"         // machine code of contracts: may be deleted while the node is stopped
	snapshotsDir = "snapshots"
	sourcesDir   = "sources" // archives of contracts' sources
	journalFile  = "mempool.journal"
	asideFile    = "aside.json"
	noteFile     = "trying.note"
	haltFile     = "halted.json"
	unsignedFile = "unsigned.block"

	signedFile    = "signed-%x-%x" // with the first bytes of a key, and of the hash of a genesis block
	signedPattern = "signed-*-%x"  // those of all keys

	GenesisFile     = "genesis.json"
	ProtocolKeyFile = "protocol.key"
	SignerLinkFile  = "signer-link.key" // what the node is known by to its signer
	SettingsFile    = "cairn.toml"
	AdminTokenFile  = "admin.token" // what the admin address asks for before it changes something
)

var (
	// ErrLocked is the error of a data directory that another process uses.
	ErrLocked = kv.ErrLocked
	// ErrDamaged is the error of a database whose files are other than they were written.
	ErrDamaged = kv.ErrDamaged
	// ErrNoChain is the error of a data directory without a chain.
	ErrNoChain = errors.New("there is no chain in this data directory")
	// ErrHasChain is the error of a data directory that is to be filled and holds a chain.
	ErrHasChain = errors.New("there is a chain in this data directory already")
	// ErrArchive is the error of an archive that is to be pruned, and ErrNoArchive that of a chain that has lost blocks
	// and is to be one.
	ErrArchive   = chain.ErrArchive
	ErrNoArchive = chain.ErrNoArchive
	// ErrOtherGenesis is the error of a genesis that is not the one of the chain in the directory.
	ErrOtherGenesis = chain.ErrOtherGenesis
)

// Options are how a data directory is used. The zero value is that of work on a stopped node's directory.
type Options struct {
	Chain    chain.Options // the directory sets Schedule and OnDropped
	Database kv.Options    // the directory sets FS, Logger and ReadOnly

	CodeMemory int   // bytes that contracts' compiled code and idle instances take, about; 0 for [DefaultCodeMemory]
	CodeDisk   int64 // bytes of contracts' machine code on disk, 0 for [DefaultCodeDisk]

	// ReadOnly leaves the disk as it is: what would write is refused by the database. It is for looking at a directory.
	ReadOnly bool
	// moving opens a directory for a move, which no other process may look at meanwhile.
	moving bool

	// CheckFiles, unless nil, has every byte of the database's files read and compared with its checksum before it is
	// opened. Opening takes the end of a damaged log for that of a crash. It is told of the bytes done and of all there
	// are.
	CheckFiles func(done, total uint64)

	Log *slog.Logger // nil: nothing is logged
}

// The database's own choices of [kv.Options].MemTableBytes and [kv.Options].MaxUnmerged.
const (
	DefaultTableBytes  = kv.DefaultMemTableBytes
	DefaultMaxUnmerged = kv.DefaultMaxUnmerged
)

// Dir is a data directory that is open, or a chain in memory that has none. Nobody else can open the directory until it
// is closed. Its methods may not be called concurrently.
type Dir struct {
	path    string // empty: everything is in memory
	options Options

	lock  io.Closer // nil in memory
	db    *kv.DB    // nil before there is a database
	store *chain.Store
	lost  error  // the chain lacks a block that a key of this directory signed, or that is not known
	token string // file of the admin token of a chain in memory, empty before it is asked for

	damages []kv.Damage // that CheckFiles found
}

// Open locks a data directory, which it makes where there is none, and opens the chain in it, if there is one. An empty
// path is a chain in memory. It returns [ErrLocked] for a directory that is in use, and the errors of [chain.Open]. What
// an operator is to do about, it returns as a message of package emergency.
func Open(path string, options Options) (_ *Dir, err error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
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
	// What a member's key signed is in the cluster's log, which it comes to again: the chain may be some blocks behind.
	member, err := IsMember(path)
	if err == nil && !member {
		d.lost = d.lostBlocks()
	}
	return d, err
}

// take locks the directory for what it is opened for.
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

// damaged is the damage that CheckFiles found, as an error.
func (d *Dir) damaged() error {
	var errs []error
	for _, damage := range d.damages {
		errs = append(errs, fmt.Errorf("%s: %w", damage.File, damage.Err))
	}
	return errors.Join(errs...)
}

// OpenChain is [Open] of a directory that holds a chain. Any other is [ErrNoChain], and nothing is made of it.
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

// HasDatabase tells whether a data directory has a database, in which there may be a chain.
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

// open opens the database, which it makes where there is none.
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
	options.Schedule = params.Schedule1.Digest()
	options.OnDropped = func(what string, of types.Height, err error) {
		d.options.Log.Error("damage on the disk: what was read is dropped", "what", what, "height", of, "error", err)
	}
	d.store, err = chain.Open(d.db, options)
	return err
}

// closeDatabase closes what open opened.
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

// Close closes the database and lets others have the directory.
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

// Path is the directory, empty in memory.
func (d *Dir) Path() string { return d.path }

// Options are those that the directory was opened with.
func (d *Dir) Options() Options { return d.options }

// Store is the chain's, empty where there is none yet. The directory closes it.
func (d *Dir) Store() (*chain.Store, error) {
	if d.store == nil {
		if err := d.open(); err != nil {
			return nil, err
		}
	}
	return d.store, nil
}

// Failing is closed once the database, which is open, accepts no more writes. [Dir.Failure] says why.
func (d *Dir) Failing() <-chan struct{} { return d.db.Failing() }

// Failure is why the database accepts no more writes, nil where it does.
func (d *Dir) Failure() error { return d.db.Failure() }

// Metrics are those of the database, which is open.
func (d *Dir) Metrics() kv.Metrics { return d.db.Metrics() }

// Genesis is that of the chain in the directory, nil where it holds none.
func (d *Dir) Genesis() *types.Genesis {
	if d.store == nil || d.store.Empty() {
		return nil
	}
	genesis := d.store.Genesis()
	return &genesis
}
