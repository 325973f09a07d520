package rpc

import (
	"context"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Chain is what is remembered: a *chain.Store. Each group of handlers has the part of it that it reads.
type Chain interface {
	Genesis() types.Genesis
	WaitHeight(context.Context, types.Height) error
	blockStore
	transactionStore
	stateStore
	codeStore
	proofStore
	eventStore
	paymentStore
}

// headers are those of the blocks that are kept.
type headers interface {
	Head() types.SignedHeader
	OldestHeight() types.Height
	Header(types.Height) (types.SignedHeader, error)
}

type blockStore interface {
	headers
	Block(types.Height) (types.Block, error)
	EncodedBlock(types.Height) (chain.EncodedBlock, error)
	Outline(h types.Height, ids bool) (chain.Outline, error)
	TransactionCount(types.Height) (int, error)
	MeasuredBlock(types.Height) (chain.MeasuredBlock, error)
	TransactionPiece(of types.SignedHeader, index uint32, bytes int) (piece []byte, next uint32, err error)
	HeightOf(types.BlockHash) (types.Height, error)
	Receipts(types.Height) ([]types.Receipt, error)
	Reasons(types.Height) ([]exec.Reason, error)
}

type transactionStore interface {
	headers
	FindTransaction(types.TxID) (chain.Position, error)
	Transaction(chain.Position) (chain.Included, error)
	FirstLog(chain.Position) (uint32, error)
	TransactionsFrom(p chain.Position, yield func(chain.Included) bool) error
	ByAccount(account types.Account, before chain.Position, limit int) ([]chain.Position, error)
	Recent(limit int) ([]chain.Position, error)
	Account(types.Height, types.Account) (state.Account, error)
}

type stateStore interface {
	headers
	StateAt(types.Height) (*chain.State, error)
	Account(types.Height, types.Account) (state.Account, error)
}

type codeStore interface {
	stateStore
	Code(types.CodeHash) ([]byte, error)
	CodeSize(types.CodeHash) (int, error)
}

type proofStore interface {
	headers
	Accesses(types.Height) ([]types.Access, error)
	MeasuredBlock(types.Height) (chain.MeasuredBlock, error)
	AccessPiece(of types.SignedHeader, index uint32, bytes int) (piece []byte, next uint32, err error)
	Proof(types.Height) ([]byte, error)
	HasProof(types.Height) (bool, error)
	HasRangeProof(blockproof.Span) (bool, error)
	Proofs() (chain.ProofRange, error)
	Ranges() ([]chain.Ranges, error)
}

type eventStore interface {
	headers
	Events(
		ctx context.Context, f chain.EventFilter, in chain.EventRange, yield func(chain.Event) bool,
	) (chain.EventsEnd, error)
}

type paymentStore interface {
	headers
	Payments(
		ctx context.Context,
		f chain.PaymentFilter,
		in chain.PaymentRange,
		yield func(*chain.Payment, *types.Header, types.BlockHash) bool,
	) (chain.PaymentsEnd, error)
}

// Ledger is the chain's tip: a *ledger.Ledger.
type Ledger interface {
	// Latest is the block that all methods know as soon as one of them shows anything of it.
	Latest() (*ledger.Tip, error)
	Machine() exec.Machine
	Prove(key []byte) (ledger.MerkleProof, error)
	ProveAt(ctx context.Context, h types.Height, key []byte) (ledger.MerkleProof, error)
	ProveAll(ctx context.Context, h types.Height, keys [][]byte) (ledger.Reads, error)
	Trace(p chain.Position, before, engine vm.Engine, tracer exec.Tracer, stop func() error) error
}

// Pool is what waits for a block: a *mempool.Pool.
type Pool interface {
	Get(types.TxID) (*types.VerifiedTx, bool)
	NextNonce(types.Account) (uint64, error)
	Fate(types.TxID) (mempool.Fate, bool)
	Left(types.TxID) <-chan struct{}
	Pending(limit int) []mempool.Pending
	BySender(types.Account) []mempool.Pending
	Stats() mempool.Stats
}

// Sender takes the transactions that clients send: a *mempool.Pool, or what hands them on.
type Sender interface {
	// AddMany keeps encoded.
	AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result
}

// Node is what a node knows of itself while it runs.
type Node interface {
	// PeerCount is the number of replicas that sync from here.
	PeerCount() uint64
	// State is what the node is doing about new blocks; the reason says why it holds or has halted.
	State() (state api.SyncState, reason string)
	// Mode is what the node is at present.
	Mode() api.Mode
	// Following is nil while the node makes the blocks itself.
	Following() Following
	// Cluster is what the node knows of the cluster that it is a member of, nil of none.
	Cluster() *api.Cluster
	// ProducerKey is the key with which it makes them when it is the producer, false where it has none.
	ProducerKey() (types.PublicKey, bool)
}

// Following is what a node that follows another knows beside that: a *replica.Replica.
type Following interface {
	// SyncStatus is how far the node is; its mode is not set.
	SyncStatus() api.SyncStatus
	// Primary is where blocks come from.
	Primary() string
	// Halted is the cause for which the node takes no more blocks, a word in snake_case; empty while it does.
	Halted() string
}

// Developer changes a development chain's time and blocks.
type Developer interface {
	// Mine makes count blocks.
	Mine(ctx context.Context, count uint64) error
	// SetBlockTime sets the interval between blocks, sequencer.Instant or sequencer.Manual.
	SetBlockTime(time.Duration)
	// IncreaseTime moves the chain's time forward and returns how many seconds it is ahead of the clock in all.
	IncreaseTime(seconds uint64) (ahead int64, err error)
	// SetNextBlockTime sets the next block's timestamp; sequencer.ErrTimeInPast before the head's.
	SetNextBlockTime(unix uint64) error
	// NextTime is the timestamp that a block made now would have.
	NextTime() uint64
	// Snapshot remembers the present block.
	Snapshot(ctx context.Context) (id uint64, err error)
	// Revert takes the chain back to a snapshot; sequencer.ErrUnknownSnapshot where there is none.
	Revert(ctx context.Context, id uint64) error
	// Fund sends coins from the development treasury.
	Fund(ctx context.Context, to types.Account, amount types.Amount) (types.TxID, error)
}
