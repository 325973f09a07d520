package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Election timing: a leader sends a heartbeat every other tick, and is considered lost after 10 to 19 ticks without one.
const (
	TickTime       = 50 * time.Millisecond
	electionTicks  = 10
	heartbeatTicks = 2
	// ElectionTime is the minimum time without a heartbeat before another member stands for election.
	ElectionTime = electionTicks * TickTime
)

// Bounds of raft's buffers, in bytes.
const (
	maxMessage     = 1 << 20
	maxInflight    = 64 << 20
	maxUncommitted = 64 << 20
	maxApplying    = 16 << 20
	maxMessages    = 256 // messages in flight to a member
)

// Config configures a member. Until the member has ended, others may only read from its components.
type Config struct {
	Log      *raftlog.Log
	Ledger   *ledger.Ledger
	Pool     *mempool.Pool // its Options.Clock must be Clock.Now
	Clock    *Clock        // from [OpenClock]
	Selector *sequencer.Selector
	// Producers are the public keys with which Sign can sign: the current producer's, and during a key rotation the
	// next one's. A member without keys votes, but hands leadership over.
	Producers []types.PublicKey
	// Sign signs a header with its producer's key. It must record the header in the key's sign state first, and fail if
	// the sign state refuses it.
	Sign func(types.Header) (types.Signature, error)
	// Unable, unless nil, returns the reason why this machine cannot make blocks, or "" if it can. It is called at each
	// tick and must not block.
	Unable func() string
	// BlockTime is the interval between blocks. It must be positive.
	BlockTime time.Duration
	// OnBlock, unless nil, is called with every appended block, after the pool's update if the block came by the log.
	// It must not block.
	OnBlock func(ledger.Block)
	// OnTxBatch and OnRelease, unless nil, are called with the time from this leader's proposal of transactions or of a
	// block until they were applied here. They must not block.
	OnTxBatch, OnRelease func(took time.Duration)
	Compaction           Compaction
	Logger               *slog.Logger
}

// Diverged is the error of a member that cannot follow its cluster's decisions. Such a member stops.
type Diverged struct {
	Index uint64 // index of the entry
	Block []byte // bincode(Block) of the decided block, unsigned; nil if the entry is about no block
	Err   error  // [ErrEntry], [ErrForged], a *ledger.InvalidBlock, or another ledger error
}

// Error implements error.
func (d *Diverged) Error() string {
	return fmt.Sprintf("entry %d of the cluster's log: %v", d.Index, d.Err)
}

// Unwrap returns the cause.
func (d *Diverged) Unwrap() error { return d.Err }

// diverged returns the error for an entry that this member cannot apply.
func diverged(index uint64, block []byte, err error) error {
	if errors.Is(err, exec.ErrUnknownVersion) {
		return err
	}
	return &Diverged{Index: index, Block: block, Err: err}
}

// ErrRemoved is returned by a member that was removed from the cluster. Its ID cannot be reused.
var ErrRemoved = errors.New("this member was removed from the cluster")

// Member is the deterministic core of one machine of a cluster. It handles one event at a time, and uses only the
// clock, disk and link that it is given. A [Service] runs one.
//
// It keeps two invariants. Only a leader that has applied all entries of the terms before its own signs, and only the
// proposal of the applied log. And a member acknowledges an entry only after the entry is on its disk.
type Member struct {
	Config
	env  Env
	raw  *raft.RawNode
	self uint64
	own  Facts // constant fields only

	leadership leadership

	// Its ability to lead, as determined at the last tick:
	unable      string        // why this machine cannot make blocks; empty if it can
	clockOffset time.Duration // the median of all clocks minus this member's

	// The state after the last wholly applied entry. Except for this member's block of the proposal, it is a function
	// of the log and the same on every member.
	machine      *StateMachine // also covers the entry that is being applied
	recent       recent        // as well
	proposal     *proposal
	appliedIndex uint64 // index of the last wholly applied entry
	appliedAt    time.Time
	appliedTerm  uint64  // term of that entry
	checkpoints  []place // in ascending order
	compaction   bool    // a cut is in progress

	applying applying
	members  membership
	leading  leading   // block production and a leader's other duties
	sends    sends     // transactions on their way, and their acknowledgement
	catching *catching // nil unless this member is catching up with a snapshot
}

// leadership is the current term and leader as last reported by raft.
type leadership struct {
	soft         raft.SoftState
	term         uint64
	leader       uint64    // last known leader; 0 before the first
	lastContact  time.Time // time of that leader's last message
	leaderless   time.Time // since when there has been no known leader
	transferTerm uint64    // the term that is known to begin with a leadership transfer
	change       Change
}

// applying holds the decided entries that are not wholly applied. While a worker handles one of them, or a snapshot, no
// other is started.
type applying struct {
	messages  []*raftpb.Message // each a MsgStorageApply
	next      int               // index in the entries of the first message
	since     time.Time         // when the first entry that is not applied was appended, or was found to be the first
	working   bool              // a worker handles that entry, batches from it on, or a snapshot
	releasing *Release          // the Release being applied, which waits for the proposal's block
	// restarting is set while raft has a snapshot to which the member has not been reset yet. No event may see that
	// state.
	restarting bool
}

// membership holds the members of the applied log, the change in progress, and a leader's observations of members.
type membership struct {
	conf        *raftpb.ConfState
	records     []Record // by ID
	gone        []Gone
	former      []Former
	named       named
	wanted      *change              // nil if no change is in progress
	learners    map[uint64]time.Time // since when each learner has nearly caught up
	lastContact map[uint64]time.Time // when the leader last heard of each member
}

// named holds the members that the log names when it is opened, and the index of the last entry that names one.
type named struct {
	members []Record
	until   uint64
}

// proposal is this member's view of the applied log's proposal.
type proposal struct {
	*Proposal
	block    *ledger.PendingBlock // nil until it is derived
	known    bool                 // the chain already has the block
	proposed time.Time            // when this member proposed it; zero if another one did
}

// Open returns the member of a log. Committed entries that are not in the chain yet are applied by the first steps.
func Open(c Config, w Env) (*Member, error) {
	snapshot, err := c.Log.Snapshot()
	if err != nil {
		return nil, err
	}
	at, err := DecodePlace(snapshot.GetData())
	if err != nil {
		return nil, err
	}
	hard, _, err := c.Log.InitialState()
	if err != nil {
		return nil, err
	}
	names, err := namedBy(c.Log, at)
	if err != nil {
		return nil, err
	}
	genesis, err := c.Ledger.Header(0)
	if err != nil {
		return nil, err
	}
	index := snapshot.GetMetadata().GetIndex()
	m := &Member{
		Config:     c,
		env:        w,
		self:       c.Log.Member().ID,
		leadership: leadership{term: hard.GetTerm(), leaderless: w.Now()}, // raft reports changes only
		machine:    StartStateMachine(index, at.Head), appliedIndex: index, appliedAt: w.Now(),
		members: membership{
			conf:        snapshot.GetMetadata().GetConfState(),
			records:     at.Members,
			gone:        at.Gone,
			former:      at.Former,
			named:       names,
			learners:    make(map[uint64]time.Time),
			lastContact: make(map[uint64]time.Time),
		},
	}
	m.own = Facts{
		Cluster: c.Log.Member().Cluster,
		Member:  m.self,
		Chain:   genesis.Header.Hash(),
		Kinds:   Kinds,
		Pool:    c.Pool.Limits(),
	}
	m.sends.flying, m.sends.committed = make(map[uint64]*inflight), hard.GetCommit()
	m.sends.forwarded = make(map[types.TxID]*types.VerifiedTx)
	m.leading.sentCommit = make(map[uint64]uint64)
	if tip := c.Ledger.Tip(); tip.Header.Header.Height < at.Head.Height {
		return nil, fmt.Errorf("%w: the chain ends at block %d, the log begins after block %d",
			raftlog.ErrLost, tip.Header.Header.Height, at.Head.Height)
	}
	c.Clock.milliseconds.Store(at.Time)
	m.raw, err = raft.NewRawNode(&raft.Config{
		ID:                        m.self,
		ElectionTick:              electionTicks,
		HeartbeatTick:             heartbeatTicks,
		Storage:                   storage{c.Log, m},
		Applied:                   index,
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             maxMessage,
		MaxCommittedSizePerReady:  maxApplying,
		MaxUncommittedEntriesSize: maxUncommitted,
		MaxInflightMsgs:           maxMessages,
		MaxInflightBytes:          maxInflight,
		CheckQuorum:               true,
		PreVote:                   true,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    raftLogger{c.Logger},
	})
	return m, err
}

// storage gives raft read access to the log.
type storage struct {
	*raftlog.Log
	member *Member
}

// Snapshot returns the newest place at which the log may be cut. It suffices for a member that is behind: the rest of
// the state is in the chain. If the members have changed since, it returns ErrSnapshotTemporarilyUnavailable. A member
// that was just added rejects a snapshot that does not name it, and the next one would be sent only after a while. The
// end of the next block creates a newer place.
func (s storage) Snapshot() (snapshot *raftpb.Snapshot, err error) {
	if places := s.member.checkpoints; len(places) > 0 {
		snapshot, err = places[len(places)-1].snapshot(s.Log)
	} else {
		snapshot, err = s.Log.Snapshot()
	}
	if err == nil && !proto.Equal(snapshot.GetMetadata().GetConfState(), s.member.members.conf) {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return snapshot, err
}

// Step handles events in order, and then their consequences together, so that all entries which they append share one
// sync. An error ends the member: a disk error, [*Diverged], [ErrRemoved], or exec.ErrUnknownVersion for a decided
// block that needs rules which this program does not know. A later program goes on from there.
func (m *Member) Step(events ...Event) error {
	for _, e := range events {
		if err := e(m); err != nil {
			return err
		}
		if !m.applying.restarting {
			continue
		}
		if err := m.react(); err != nil {
			return err
		}
	}
	return m.react()
}

// react handles the consequences of events.
func (m *Member) react() error {
	for {
		for m.raw.HasReady() {
			if err := m.handle(m.raw.Ready()); err != nil {
				return err
			}
		}
		if err := m.apply(); err != nil {
			return err
		}
		if err := m.lead(); err != nil {
			return err
		}
		if !m.raw.HasReady() {
			m.applying.restarting = false
			return nil
		}
	}
}

// Tick returns the event that a [TickTime] has passed.
func Tick() Event {
	return func(m *Member) error {
		m.raw.Tick()
		m.updateFitness()
		m.expireSends()
		m.retryCatching()
		m.compact()
		m.abandonChange()
		m.endTransfer()
		if err := m.retryChange(); err != nil {
			return err
		}
		return m.tick()
	}
}

// Received returns the event of a message from another member. The link must have verified the sender.
func Received(message *raftpb.Message) Event {
	return func(m *Member) error {
		if message.GetType() == raftpb.MessageType_MsgSnap {
			return m.catchUp(message)
		}
		return m.receive(message)
	}
}

// receive passes a message to raft. Messages that raft rejects are outdated and are ignored.
func (m *Member) receive(message *raftpb.Message) error {
	if raft.IsLocalMsg(message.GetType()) || message.GetTo() != m.self {
		return nil
	}
	if message.GetType() == raftpb.MessageType_MsgTimeoutNow && m.unfit() != "" {
		return nil // the leader resumes after an election timeout
	}
	m.leadership.note(message, m.env.Now())
	err := m.raw.Step(message)
	if errors.Is(err, raft.ErrStepPeerNotFound) || errors.Is(err, raft.ErrProposalDropped) {
		return nil
	}
	return err
}

// handle processes raft's output. First it sends messages that need no sync, such as a leader's; then it saves and
// syncs the log, and sends the messages that depend on that. Decided entries are queued, and applied afterwards.
func (m *Member) handle(rd raft.Ready) error {
	m.follows(rd)
	var kept *raftpb.Message
	var messages []*raftpb.Message
	for _, message := range rd.Messages {
		switch message.GetTo() {
		case raft.LocalAppendThread:
			kept = message
		case raft.LocalApplyThread:
			m.applying.messages = append(m.applying.messages, message)
		default:
			if !m.canSkip(message) && !m.defersVote(message) {
				messages = append(messages, message)
			}
		}
	}
	m.env.Send(messages)
	m.applying.appended(rd.Entries, m.appliedIndex, m.env.Now())
	m.sends.recordIndexes(rd.Entries)
	m.members.recordAppended(rd.Entries)
	if kept == nil {
		return nil
	}
	if err := m.Log.Save(rd); err != nil {
		return err
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		if err := m.restart(rd.Snapshot); err != nil {
			return err
		}
	}
	messages = nil
	for _, message := range kept.GetResponses() {
		if message.GetTo() != m.self {
			messages = append(messages, message)
		} else if err := m.raw.Step(message); err != nil {
			return err
		}
	}
	m.env.Send(messages)
	return nil
}

// follows records the current term and leader, and the cause of a change of leader.
func (m *Member) follows(rd raft.Ready) {
	if !raft.IsEmptyHardState(rd.HardState) {
		m.leadership.term, m.sends.committed = rd.HardState.GetTerm(), rd.HardState.GetCommit()
	}
	if rd.SoftState == nil {
		return
	}
	s, now := &m.leadership, m.env.Now()
	before := s.soft.Lead
	s.soft = *rd.SoftState
	switch lead := s.soft.Lead; {
	case lead == before:
	case lead == raft.None:
		s.leaderless = now
		if before == m.self {
			s.lastContact = now
		}
	default:
		s.change = Change{From: s.leader, Silent: now.Sub(s.lastContact), Handed: s.transferTerm == s.term}
		s.leader, s.lastContact = lead, now
	}
	m.sends.recallForwarded(s.soft.Lead)
}

// note records signs in a message that the leader is alive or hands leadership over.
func (s *leadership) note(message *raftpb.Message, now time.Time) {
	switch {
	case message.GetType() == raftpb.MessageType_MsgTimeoutNow:
		s.transferTerm = message.GetTerm() + 1
	case message.GetType() == raftpb.MessageType_MsgVote && string(message.GetContext()) == handedOn:
		s.transferTerm = message.GetTerm()
	}
	if message.GetFrom() == s.leader {
		s.lastContact = now
	}
}

// handedOn is the context of raft's vote requests during a leadership transfer.
const handedOn = "CampaignTransfer"

// canSkip reports whether a message can be skipped: one that only announces commits of batches for which no other
// member's caller waits. The next entries or heartbeat announce them too. It also records the last commit sent to each
// member.
func (m *Member) canSkip(message *raftpb.Message) bool {
	if message.GetType() != raftpb.MessageType_MsgApp {
		return false
	}
	to, commit := message.GetTo(), message.GetCommit()
	sent := m.leading.sentCommit[to]
	if len(message.GetEntries()) == 0 && sent < commit && m.sends.allOwn(sent+1, commit) {
		return true
	}
	m.leading.sentCommit[to] = commit
	return false
}

// leads reports whether this member is the leader and has applied all entries of earlier terms. Its view of the blocks
// then includes all that was decided.
func (m *Member) leads() bool {
	return m.leadership.soft.RaftState == raft.StateLeader && m.appliedTerm == m.leadership.term
}
