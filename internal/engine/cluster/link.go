package cluster

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/types"
)

// Lane is a connection of its own between two members.
type Lane int

// The lanes of raft's messages.
const (
	Ordered Lane = iota // entries and snapshots, which must stay in order
	Pulse               // all else: a leader must be heard while a large block is on its way
)

// LaneOf is the lane that a message takes. All of a kind take the same, empty ones too: entries that overtake one
// another are refused and sent again.
func LaneOf(m *raftpb.Message) Lane {
	switch m.GetType() {
	case raftpb.MessageType_MsgApp, raftpb.MessageType_MsgSnap:
		return Ordered
	default:
		return Pulse
	}
}

// Link is how a member reaches the others: its methods name them by ID.
type Link interface {
	// Send hands messages on, each to the member in its To, and does not wait. What cannot be sent is lost; what of a
	// lane arrives at a member arrives in order.
	Send([]*raftpb.Message)
	// Forward has a member take transactions, if it is the leader. An error says that there is no answer: whether
	// they were taken is not known.
	Forward(ctx context.Context, to uint64, encoded [][]byte) (Answer, error)
	// Blocks asks a member for its released blocks from a height on: bincode(Block) of each, at least one, and as
	// many up to another height as one frame holds.
	Blocks(ctx context.Context, of uint64, from, to types.Height) ([][]byte, error)
	// Pending asks a member for its pool.
	Pending(ctx context.Context, of uint64) (Pending, error)
	// Offsets are how far the wall clocks of other members are ahead of this one's, if they went on evenly since they
	// were last heard. A member that is not connected is not among them. own is the same of this member's own clock
	// since the first of these was heard: 0, unless it was set.
	Offsets() (others map[uint64]time.Duration, own time.Duration)
	// Unfit is why other members cannot do a leader's work, as they said last. Who can, or said nothing, is not in it.
	Unfit() map[uint64]string
}

// Answer is what became of transactions that were handed on.
type Answer struct {
	// Index is that of the log up to which a member must have applied, before it tells of the results.
	Index uint64
	// Results has an error for each transaction, nil if it was taken: that of a *mempool.Pool, over the link what
	// says the same.
	Results []error
	// Refused, unless nil, says that none of them was looked at; [ErrNotLeader], [ErrBusy] or [ErrHolds].
	Refused error
}

// Pending is a member's pool after a block.
type Pending struct {
	Applied      uint64 // the entry of the log up to which the pool has all
	Head         Head
	Transactions []PendingTransaction // in the order of their arrival
}

// PendingTransaction is an encoded transaction, and when it was taken by the log's time.
type PendingTransaction struct {
	Time    uint64 // Unix milliseconds
	Encoded []byte
}

// Facts are what a member says of itself when it connects, besides what the link knows.
type Facts struct {
	Cluster [16]byte
	Member  uint64
	Chain   types.BlockHash // of block 0
	Term    uint64
	Last    uint64 // index of its last entry
	Kinds   uint32 // a bit for each kind of entry that it knows
	Pool    [32]byte
}

// Kinds has a bit for each kind of entry that this version knows.
const Kinds uint32 = 1<<kindTxBatch | 1<<kindBlock | 1<<kindRelease

// Why transactions are not taken here.
var (
	// ErrNotLeader says that another member leads, or none.
	ErrNotLeader = errors.New("this member does not lead the cluster")
	// ErrBusy says that too many wait already.
	ErrBusy = errors.New("too many transactions wait to be decided on")
	// ErrHolds says that the cluster makes no blocks, and so takes nothing that would wait for one. The chain's producer
	// is another, or an unknown version of the protocol is active.
	ErrHolds = errors.New("the cluster makes no blocks")
	// ErrNoLeader says that there was no leader for so long that the sender was not kept waiting. The transactions
	// may have arrived.
	ErrNoLeader = errors.New("the cluster has no leader")
)
