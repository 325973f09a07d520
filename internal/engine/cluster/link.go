package cluster

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/types"
)

// Lane is one of the separate connections between two members.
type Lane int

// The lanes of raft messages.
const (
	Ordered Lane = iota // entries and snapshots, which must stay in order
	Pulse               // all others: a leader must be heard while a large block is being sent
)

// LaneOf returns the lane of a message. It depends on the message's type only, even if the message is empty: an entry
// that overtook another one would be rejected and sent again.
func LaneOf(m *raftpb.Message) Lane {
	switch m.GetType() {
	case raftpb.MessageType_MsgApp, raftpb.MessageType_MsgSnap:
		return Ordered
	default:
		return Pulse
	}
}

// Link connects a member to the others, which it addresses by ID.
type Link interface {
	// Send sends messages, each to the member in its To, without waiting. Messages may be lost, but those of a lane
	// arrive in order.
	Send([]*raftpb.Message)
	// Forward asks a member to take transactions, if it is the leader. After an error it is unknown whether the
	// transactions were taken.
	Forward(ctx context.Context, to uint64, encoded [][]byte) (Answer, error)
	// Blocks asks a member for its released blocks between two heights, as bincode(Block). It returns at least the
	// first one, and as many more as one frame holds.
	Blocks(ctx context.Context, of uint64, from, to types.Height) ([][]byte, error)
	// Pending asks a member for a snapshot of its pool.
	Pending(ctx context.Context, of uint64) (Pending, error)
	// Offsets returns the wall clocks of the connected members minus this member's, extrapolated from the last reports.
	// own is the amount by which this member's own clock was set back since the oldest of these reports: 0 unless it
	// was set.
	Offsets() (others map[uint64]time.Duration, own time.Duration)
	// Unfit returns the reasons, last reported, why other members cannot lead. Members that can lead or have not
	// reported are absent.
	Unfit() map[uint64]string
}

// Answer is the outcome of forwarded transactions.
type Answer struct {
	// Index is the log index up to which a member must have applied before it reports the results.
	Index uint64
	// Results has an error for each transaction, nil if it was accepted. It is an error of *mempool.Pool or, over the
	// link, its equivalent.
	Results []error
	// Refused, unless nil, means that no transaction was examined: [ErrNotLeader], [ErrBusy] or [ErrHolds].
	Refused error
}

// Pending is a snapshot of a member's pool after a block.
type Pending struct {
	Applied      uint64 // index of the last entry that the pool has taken
	Head         Head
	Transactions []PendingTransaction // in order of arrival
}

// PendingTransaction is an encoded transaction with its arrival time on the log's clock.
type PendingTransaction struct {
	Time    uint64 // Unix milliseconds
	Encoded []byte
}

// Facts are a member's contribution to its Hello.
type Facts struct {
	Cluster [16]byte
	Member  uint64
	Chain   types.BlockHash // hash of block 0
	Term    uint64
	Last    uint64 // index of the last log entry
	Kinds   uint32 // a bit for each kind of entry that it supports
	Pool    [32]byte
}

// Kinds has a bit for each kind of entry that this version supports.
const Kinds uint32 = 1<<kindTxBatch | 1<<kindBlock | 1<<kindRelease | 1<<kindNamed

// Reasons for not taking transactions.
var (
	// ErrNotLeader is returned if another member leads, or none.
	ErrNotLeader = errors.New("this member is not the leader")
	// ErrBusy is returned if too many transactions are waiting.
	ErrBusy = errors.New("too many transactions await commit")
	// ErrHolds is returned if the cluster makes no blocks, because the chain has another producer or an unknown
	// protocol version is active. Transactions would only wait.
	ErrHolds = errors.New("the cluster produces no blocks")
	// ErrNoLeader is returned if no decision was made in time, usually because there was no leader. The transactions
	// may still be decided later.
	ErrNoLeader = errors.New("the cluster has no leader")
)
