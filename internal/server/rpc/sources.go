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

// Chain is the node's store: a *chain.Store. Each group of handlers uses only the part that it reads.
type Chain interface {
	Genesis() types.Genesis
	WaitHeight(context.Context, types.Height) error
	WaitHead(ctx context.Context, seen types.BlockHash) error
	blockStore
	transactionStore
	stateStore
	policyStore
	codeStore
	proofStore
	eventStore
	paymentStore
}

// headers gives access to the headers of stored blocks.
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
	TransactionPiece(dst []byte, of types.SignedHeader, index uint32, bytes int) (piece []byte, next uint32, err error)
	HeightOf(types.BlockHash) (types.Height, error)
	Receipts(types.Height) ([]types.Receipt, error)
	TransactionsFrom(p chain.Position, yield func(chain.Included) bool) error
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

type policyStore interface {
	stateStore
	Policy(types.Account) (types.Policy, error)
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
	AccessPiece(dst []byte, of types.SignedHeader, index uint32, bytes int) (piece []byte, next uint32, err error)
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
		ctx context.Context, f chain.PaymentFilter, in chain.PaymentRange,
		yield func(*chain.Payment, *types.Header, types.BlockHash) bool,
	) (chain.PaymentsEnd, error)
}

// Ledger is the chain's tip: a *ledger.Ledger.
type Ledger interface {
	// Latest returns the tip at the store's head, so that all methods agree on the newest block.
	Latest() (*ledger.Tip, error)
	Machine() exec.Machine
	Prove(key []byte) (ledger.MerkleProof, error)
	ProveAt(ctx context.Context, h types.Height, key []byte) (ledger.MerkleProof, error)
	ProveAll(ctx context.Context, h types.Height, keys [][]byte) (ledger.Reads, error)
	Trace(p chain.Position, before, engine vm.Engine, tracer exec.Tracer, stop func() error) error
}

// Pool is the pool of pending transactions: a *mempool.Pool.
type Pool interface {
	Get(types.TxID) (*types.VerifiedTx, bool)
	NextNonce(types.Account) (uint64, error)
	Fate(types.TxID) (mempool.Fate, bool)
	Left(types.TxID) <-chan struct{}
	Pending(limit int) []mempool.Pending
	BySender(types.Account) []mempool.Pending
	Stats() mempool.Stats
}

// Sender accepts clients' transactions: a *mempool.Pool, or a forwarder to another node.
type Sender interface {
	// AddMany retains encoded.
	AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result
}

// Node reports on the running node.
type Node interface {
	// PeerCount returns the number of replicas that sync from this node.
	PeerCount() uint64
	// State returns the node's activity regarding new blocks, and the reason why it holds or has halted.
	State() (state api.SyncState, reason string)
	// Mode returns the node's present mode.
	Mode() api.Mode
	// Following returns nil while the node makes the blocks itself.
	Following() Following
	// Cluster returns the node's view of its cluster; nil if it is not a member of one.
	Cluster() *api.Cluster
	// ProducerKey returns the key with which the node signs blocks as the producer; false if it has none.
	ProducerKey() (types.PublicKey, bool)
}

// Following reports on a node that follows another: a *replica.Replica.
type Following interface {
	// SyncStatus returns the sync status, without the mode.
	SyncStatus() api.SyncStatus
	// Primary returns the address of the source of blocks.
	Primary() string
	// Halted returns the cause for which the node accepts no more blocks, a word in snake_case; empty while it accepts
	// them.
	Halted() string
}

// Developer controls a development chain's time and blocks.
type Developer interface {
	// Mine makes count blocks.
	Mine(ctx context.Context, count uint64) error
	// SetBlockTime sets the interval between blocks, sequencer.Instant or sequencer.Manual.
	SetBlockTime(time.Duration)
	// IncreaseTime moves the chain's time forward and returns its total lead over the clock, in seconds.
	IncreaseTime(seconds uint64) (ahead int64, err error)
	// SetNextBlockTime sets the next block's timestamp. It returns sequencer.ErrTimeInPast for one before the head's.
	SetNextBlockTime(unix uint64) error
	// NextTime returns the timestamp that a block made now would have.
	NextTime() uint64
	// Snapshot records the present block.
	Snapshot(ctx context.Context) (id uint64, err error)
	// Revert reverts the chain to a snapshot. It returns sequencer.ErrUnknownSnapshot if there is no such snapshot.
	Revert(ctx context.Context, id uint64) error
	// Fund sends coins from the development treasury.
	Fund(ctx context.Context, to types.Account, amount types.Amount) (types.TxID, error)
}
