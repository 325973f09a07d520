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
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Times of an election: a leader is heard of at each tick, and missed after 10 to 19.
const (
	TickTime       = 50 * time.Millisecond
	electionTicks  = 10
	heartbeatTicks = 1
	// ElectionTime is how long a leader is not heard of at least, before another member stands for election.
	ElectionTime = electionTicks * TickTime
)

// Bounds of what raft holds, in bytes.
const (
	maxMessage     = 1 << 20
	maxInflight    = 64 << 20
	maxUncommitted = 64 << 20
	maxApplying    = 16 << 20
	maxMessages    = 256 // on the way to a member
)

// Config is what a member is made of. What it is given is the member's alone until it has ended, except for reading.
type Config struct {
	Log    *raftlog.Log
	Ledger *ledger.Ledger
	Pool   *mempool.Pool // Options.Moment is Clock.Now
	Clock  *Clock        // of [OpenClock]
	Picker *sequencer.Picker
	// Producers are the public keys that Sign signs with: the present producer's, and the next one's while the key is
	// rotated. A member without any votes, and hands leadership on.
	Producers []types.PublicKey
	// Sign signs a header with the key of its producer. It holds it in the key's lock before it returns, and refuses
	// one that the lock refuses.
	Sign func(types.Header) (types.Signature, error)
	// Unable, unless nil, returns why this machine cannot make blocks, empty if it can. It is asked at each tick and must
	// not wait.
	Unable func() string
	// BlockTime is the interval between blocks; more than 0.
	BlockTime time.Duration
	// OnBlock, unless nil, is told of every block after the pool knows it. It must not wait.
	OnBlock func(ledger.Block)
	// OnTxBatch and OnRelease, unless nil, are told how long transactions and a block of this leader's took from their
	// proposal until they were decided and applied here. They must not wait.
	OnTxBatch, OnRelease func(took time.Duration)
	Compaction           Compaction
	Logger               *slog.Logger
}

// Diverged is the error of a member that did not come to what its cluster decided: it takes no further part.
type Diverged struct {
	Index uint64 // of the entry
	Block []byte // bincode(Block) that was decided, unsigned; nil if it is not about one
	Err   error  // [ErrEntry], [ErrForged], a *ledger.InvalidBlock, or one of ledger's about the next block
}

// Error implements error.
func (d *Diverged) Error() string {
	return fmt.Sprintf("entry %d of the cluster's log: %v", d.Index, d.Err)
}

// Unwrap is what is wrong.
func (d *Diverged) Unwrap() error { return d.Err }

// ErrRemoved is the error of a member that the others have removed. Its ID is not used again.
var ErrRemoved = errors.New("this member was removed from the cluster")

// Member is one machine of a cluster, as a function of what happens to it. That is one event after the other, on a
// clock, a disk and a link that it is given. A [Service] runs one.
//
// Two things are never in question. A signature is made over nothing but the proposal of the applied log, by a leader
// that has applied all of the terms before its own. And nobody is told of an entry before it is on this disk.
type Member struct {
	Config
	world World
	raw   *raft.RawNode
	self  uint64
	own   Facts // but for what changes

	standing  standing
	fitness   fitness
	decisions decisions
	applying  applying
	members   membership
	leading   leading   // production of blocks, and what else a leader does
	sends     sends     // batch and acknowledgements
	catching  *catching // nil unless blocks are fetched from another member
}

// standing is who leads in which term, as raft has said it last.
type standing struct {
	soft   raft.SoftState
	term   uint64
	leader uint64    // the last that was known; 0 before the first
	heard  time.Time // when a message of that one came last
	lost   time.Time // since when no leader is known
	handed uint64    // the term of which it is known that leadership was handed on for it
	change Change
}

// decisions are what the log came to until the last entry that is wholly applied. But for what this member has made of
// the proposal they are a function of the log, the same on every member.
type decisions struct {
	machine    *StateMachine // of the entry that is being applied, too
	proposal   *proposal
	done       uint64 // the last entry that is wholly applied
	doneAt     time.Time
	term       uint64  // of that entry
	places     []place // where the log may be cut, ascending
	compaction bool    // it is being cut: no other cut begins
}

// applying are the decided entries that are not wholly applied. While something is done for one of them, or for a
// snapshot, no other is begun.
type applying struct {
	messages  []*raftpb.Message // each a MsgStorageApply
	next      int               // in the entries of the first
	since     time.Time         // when the first became the first
	working   bool              // whether something is done for that entry, batches from it on, or a snapshot
	releasing *Release          // of that entry: it waits for the proposal to be derived
	// restarting says that raft has a snapshot that the member has not begun anew after: no event may see it so.
	restarting bool
}

// membership is who the members are by the applied log, the change of them that is on its way, and whom a leader hears.
type membership struct {
	conf     *raftpb.ConfState
	records  []Record // by ID
	gone     []Gone
	former   []Former
	named    named
	wanted   *change              // nil: none is on its way
	learners map[uint64]time.Time // since when each is near
	heard    map[uint64]time.Time // by a leader, of each member
}

// named is whom the log names when it is opened, until its last entry of them.
type named struct {
	members []Record
	until   uint64
}

// proposal is the block of the applied log that is not released yet, as this member has it.
type proposal struct {
	*Proposal
	draft    *ledger.Draft // nil until it is derived
	known    bool          // the chain has it already
	proposed time.Time     // by this member; zero if another one has
}

// Open opens the member of a log: what was committed and is not in the chain yet is applied in the first steps.
func Open(c Config, w World) (*Member, error) {
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
		Config:    c,
		world:     w,
		self:      c.Log.Member().ID,
		standing:  standing{term: hard.GetTerm(), lost: w.Now()}, // raft says only what changes
		decisions: decisions{machine: StartStateMachine(index, at.Head), done: index, doneAt: w.Now()},
		members: membership{
			conf:     snapshot.GetMetadata().GetConfState(),
			records:  at.Members,
			gone:     at.Gone,
			former:   at.Former,
			named:    names,
			learners: make(map[uint64]time.Time),
			heard:    make(map[uint64]time.Time),
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
	m.leading.told = make(map[uint64]uint64)
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

// storage is the log as raft reads it.
type storage struct {
	*raftlog.Log
	member *Member
}

// Snapshot is the newest place at which the log may be cut. A member that is behind needs what the log said of members
// until then, and the chain is all else. While the members have changed since, there is none. Who was added takes no
// snapshot that does not name it, and would be sent another only after a while. The next block's end is a place.
func (s storage) Snapshot() (snapshot *raftpb.Snapshot, err error) {
	if places := s.member.decisions.places; len(places) > 0 {
		snapshot, err = places[len(places)-1].snapshot(s.Log)
	} else {
		snapshot, err = s.Log.Snapshot()
	}
	if err == nil && !proto.Equal(snapshot.GetMetadata().GetConfState(), s.member.members.conf) {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return snapshot, err
}

// Step lets events happen, one after the other, and then does what follows from all of them: what they add to the log
// shares a sync. An error ends the member: a fault of its disk, [*Diverged] or [ErrRemoved].
func (m *Member) Step(events ...Event) error {
	for _, e := range events {
		if err := e(m); err != nil {
			return err
		}
		if !m.applying.restarting {
			continue
		}
		if err := m.follow(); err != nil {
			return err
		}
	}
	return m.follow()
}

// follow does what follows from events.
func (m *Member) follow() error {
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

// Tick is the event of a [TickTime] that has passed.
func Tick() Event {
	return func(m *Member) error {
		m.raw.Tick()
		m.examine()
		m.expireSends()
		m.retryCatching()
		m.cut()
		m.forsake()
		m.keepOn()
		if err := m.insist(); err != nil {
			return err
		}
		return m.tend()
	}
}

// Received is the event of a message from another member, whose name the link has verified.
func Received(message *raftpb.Message) Event {
	return func(m *Member) error {
		if message.GetType() == raftpb.MessageType_MsgSnap {
			return m.catchUp(message)
		}
		return m.receive(message)
	}
}

// receive hands a message to raft. What it does not take is for a term or a member that is no more.
func (m *Member) receive(message *raftpb.Message) error {
	if raft.IsLocalMsg(message.GetType()) || message.GetTo() != m.self {
		return nil
	}
	if message.GetType() == raftpb.MessageType_MsgTimeoutNow && m.unfit() != "" {
		return nil // the leader goes on after an election timeout
	}
	m.standing.note(message, m.world.Now())
	err := m.raw.Step(message)
	if errors.Is(err, raft.ErrStepPeerNotFound) || errors.Is(err, raft.ErrProposalDropped) {
		return nil
	}
	return err
}

// handle does what raft says, in this order. A leader's messages come first, which need not be on its own disk; then
// the log, synced, and the messages that say so. What is decided is applied last.
func (m *Member) handle(rd raft.Ready) error {
	m.follows(rd)
	var kept *raftpb.Message
	var messages []*raftpb.Message
	for _, message := range rd.Messages {
		switch message.GetTo() {
		case raft.LocalAppendThread:
			kept = message
		case raft.LocalApplyThread:
			m.applying.add(message, m.world.Now())
		default:
			if !m.spare(message) && !m.defers(message) {
				messages = append(messages, message)
			}
		}
	}
	m.world.Send(messages)
	m.sends.placed(rd.Entries)
	m.members.noted(rd.Entries)
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
	m.world.Send(messages)
	return nil
}

// follows notes who leads in which term now, and how that came about.
func (m *Member) follows(rd raft.Ready) {
	if !raft.IsEmptyHardState(rd.HardState) {
		m.standing.term, m.sends.committed = rd.HardState.GetTerm(), rd.HardState.GetCommit()
	}
	if rd.SoftState == nil {
		return
	}
	s, now := &m.standing, m.world.Now()
	before := s.soft.Lead
	s.soft = *rd.SoftState
	switch lead := s.soft.Lead; {
	case lead == before:
	case lead == raft.None:
		s.lost = now
		if before == m.self {
			s.heard = now
		}
	default:
		s.change = Change{From: s.leader, Silent: now.Sub(s.heard), Handed: s.handed == s.term}
		s.leader, s.heard = lead, now
	}
	m.sends.recall(s.soft.Lead)
}

// note notes what a message says of who leads: that the leader lives, or that it hands leadership on.
func (s *standing) note(message *raftpb.Message, now time.Time) {
	switch {
	case message.GetType() == raftpb.MessageType_MsgTimeoutNow:
		s.handed = message.GetTerm() + 1
	case message.GetType() == raftpb.MessageType_MsgVote && string(message.GetContext()) == handedOn:
		s.handed = message.GetTerm()
	}
	if message.GetFrom() == s.leader {
		s.heard = now
	}
}

// handedOn is the context in which raft asks for votes for a member that leadership is handed on to.
const handedOn = "CampaignTransfer"

// spare tells whether a message says nothing but that batches are committed for which no other member's caller waits:
// the next entries say so, too, or the next tick's heartbeat. What a message told a member last is noted.
func (m *Member) spare(message *raftpb.Message) bool {
	if message.GetType() != raftpb.MessageType_MsgApp {
		return false
	}
	to, commit := message.GetTo(), message.GetCommit()
	if told := m.leading.told[to]; len(message.GetEntries()) == 0 && told < commit && m.sends.own(told+1, commit) {
		return true
	}
	m.leading.told[to] = commit
	return false
}

// leads tells whether this member is the leader and has applied all of the terms before its own: what it knows of
// blocks is then all that was decided.
func (m *Member) leads() bool {
	return m.standing.soft.RaftState == raft.StateLeader && m.decisions.term == m.standing.term
}
