package p2p

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/types"
)

// Times of the link.
const (
	helloTime   = 5 * time.Second // for a handshake and both Hellos
	firstPause  = 50 * time.Millisecond
	longestWait = time.Second // between two attempts to reach a member: a cluster is to be whole soon after a cut
	writeTime   = 20 * time.Second
	deadTime    = 3 * time.Second // that what was sent may go without the other machine's word for it
)

// maxStrangers is how many connections may be open whose Hello has not come; one more displaces the oldest.
const maxStrangers = 64

// Handler is the member that a link serves. Its methods are called from many goroutines.
type Handler interface {
	// Deliver takes a message of raft that another member sent to this one. It does not wait.
	Deliver(m *raftpb.Message)
	// Unreachable says that messages to a member may be lost, also a snapshot. It does not wait.
	Unreachable(member uint64)
	// Take takes transactions that another member was sent.
	Take(ctx context.Context, from uint64, encoded [][]byte) Taken
	// Blocks are released blocks, the first of those asked for at least.
	Blocks(from, to types.Height) ([][]byte, error)
	// Pending is the pool.
	Pending() (cluster.Pending, error)
	// Lease tells whether a member may make the proof of a block.
	Lease(member uint64, height types.Height) bool
	// Proof is the proof of the first of some blocks that has one here; block 0 says that none has.
	Proof(of []types.Height) (types.Height, []byte, error)
	// Members are the members as the log has them, encoded as the handler will.
	Members() []byte
	// Report is what the member tells of itself.
	Report() Report
	// Refused is told that another member refuses this one, for a cause that time does not mend. It does not wait.
	Refused(by Peer, r *Refusal)
}

// Peer is another member.
type Peer struct {
	Address string // host:port
	Pin     Pin
	Name    string
}

// ID is the member's.
func (p Peer) ID() uint64 { return p.Pin.Member() }

// Config is what a link is made of.
type Config struct {
	Identity Identity
	Handler  Handler
	// Hello is what this member says of itself at the moment; Version, Member and Wall are the link's to set.
	Hello func() Hello
	// Required are the kinds of entries that the log may hold: a bit for each.
	Required uint32
	// Past, unless nil, is who was removed and which identities the cluster had before it was recovered.
	Past func() ([]cluster.Gone, []cluster.Former)
	Log  *slog.Logger
}

// known is what a link knows of another member.
type known struct {
	Peer
	boot     uint64
	promised promise
}

// Link is a member's end of all its connections. It is safe for concurrent use.
type Link struct {
	config  Config
	self    uint64
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex // guards the fields below, and those of every peer
	peers     map[uint64]*peer
	removed   map[uint64]string // the names of those who were members before
	strangers []net.Conn
	refused   [causes]refusals
}

// refusals are the Hellos that were refused for a cause.
type refusals struct {
	count  uint64
	last   time.Time
	member uint64    // of whom the log was told last
	told   time.Time // when
}

// The log is told of a refusal once, not for each connection: of the same member again after refusalAgain. Strangers
// can have many, so for one cause there are refusalPause between two lines.
const (
	refusalPause = 10 * time.Second
	refusalAgain = time.Hour
)

// New makes a link that reaches nobody yet.
func New(config Config) *Link {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancel(context.Background())
	return &Link{
		config:  config,
		self:    config.Identity.pin.Member(),
		ctx:     ctx,
		end:     end,
		peers:   make(map[uint64]*peer),
		removed: make(map[uint64]string),
	}
}

// hello is what this member says of itself now.
func (l *Link) hello() Hello {
	h := l.config.Hello()
	h.Version, h.Member, h.Wall = version, l.self, uint64(time.Now().UnixMilli())
	return h
}

// SetPeers says who the members are, this one among them or not. Connections with whoever is not among them any more
// are cut, and it is told why when it comes again.
func (l *Link) SetPeers(members []Peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	for id, p := range l.peers {
		if !slices.Contains(members, p.Peer) {
			p.end()
			delete(l.peers, id)
			l.removed[id] = p.Name
		}
	}
	for _, m := range members {
		delete(l.removed, m.ID()) // only its address is another one
		if _, is := l.peers[m.ID()]; !is && m.ID() != l.self {
			l.peers[m.ID()] = l.newPeer(m)
		}
	}
}

// Send sends a message of raft to the member that it names, and never blocks: a message that cannot go now is dropped,
// and the handler told so.
func (l *Link) Send(m *raftpb.Message) {
	l.mu.Lock()
	p := l.peers[m.GetTo()]
	l.mu.Unlock()
	if p == nil || !p.out[channelOf(m)].put(m) {
		l.config.Handler.Unreachable(m.GetTo())
	}
}

// Close ends all connections, and waits for what serves them.
func (l *Link) Close() {
	l.end()
	l.mu.Lock()
	for _, c := range l.strangers {
		_ = c.Close() // nobody is at the other end yet
	}
	l.mu.Unlock()
	l.running.Wait()
}

// channelOf is the connection on which a message goes.
func channelOf(m *raftpb.Message) channel {
	if cluster.LaneOf(m) == cluster.Ordered {
		return order
	}
	return pulse
}

// remote are the messages of raft that members send one another.
var remote = []raftpb.MessageType{
	raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgSnap, raftpb.MsgHeartbeat,
	raftpb.MsgHeartbeatResp, raftpb.MsgTransferLeader, raftpb.MsgTimeoutNow, raftpb.MsgPreVote, raftpb.MsgPreVoteResp,
}

// observe remembers what a member's message promises: terms, but for those of a vote before the vote, and entries that
// it acknowledged.
func (l *Link) observe(m *raftpb.Message) {
	var index uint64
	switch m.GetType() {
	case raftpb.MsgPreVote, raftpb.MsgPreVoteResp, raftpb.MsgTransferLeader:
		return
	case raftpb.MsgAppResp:
		if !m.GetReject() {
			index = m.GetIndex()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[m.GetFrom()]; p != nil {
		p.promised.raise(m.GetTerm(), index)
	}
}

// promises are what members have promised so far.
func (l *Link) promises() map[uint64]promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[uint64]promise, len(l.peers))
	for id, p := range l.peers {
		all[id] = p.promised
	}
	return all
}

// meet judges the Hello of a member that came with a pin, and counts it if it is refused. promised is what members had
// promised before it was made: another connection may have brought a promise meanwhile, which it knows nothing of.
func (l *Link) meet(h Hello, pin Pin, promised map[uint64]promise) error {
	own := l.hello()
	was := l.past(h)
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[h.Member]
	var of *known
	if p != nil {
		of = &known{p.Peer, p.boot, promised[h.Member]}
	}
	if _, removed := l.removed[h.Member]; removed && !was.removed {
		was.removed, was.height = true, own.Height
	}
	cause := judge(own, h, l.config.Required, of, was, pin)
	if cause != CauseNone {
		l.refused[cause].count++
		l.refused[cause].last = time.Now()
		return &Refusal{Cause: cause, Ours: own.Chain, Theirs: h.Chain, Height: was.height}
	}
	p.boot = h.Boot
	p.said.hello = h
	return nil
}

// past is what the cluster remembers of a member that comes.
func (l *Link) past(h Hello) (was past) {
	if l.config.Past == nil {
		return was
	}
	gone, former := l.config.Past()
	for _, f := range former {
		if f.Cluster == h.Cluster {
			return past{recovered: true, height: f.Height}
		}
	}
	for _, g := range gone {
		if g.ID == h.Member {
			was = past{removed: true, height: g.Height}
		}
	}
	return was
}

// LastRefused is when a connection was last refused for a cause; zero if none was.
func (l *Link) LastRefused(c Cause) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[c].last
}

// Status is what a link knows of a member.
type Status struct {
	Peer
	Connected bool          // all connections that this member dials are up, and it answers
	Hello     Hello         // the last, empty before one
	Fault     string        // why it is not; empty if it is
	Refused   string        // why the two do not go together, if that is the fault
	Report    Report        // the last, empty where none came lately
	Offset    time.Duration // how far its clock is ahead, if it goes on as it did then
}

// Reported tells whether the member has told lately how it is: the report is of then.
func (s Status) Reported() bool { return s.Report.Wall != 0 }

// Peers is what the link knows of the members, by their ids.
func (l *Link) Peers() map[uint64]Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[uint64]Status, len(l.peers))
	for id, p := range l.peers {
		s := Status{Peer: p.Peer, Connected: true, Hello: p.said.hello, Report: p.said.report, Offset: p.said.offset()}
		for _, fault := range p.faults {
			if fault != nil && s.Refused == "" {
				s.Connected, s.Fault = false, fault.Error()
				if errors.As(fault, new(*Refusal)) {
					s.Refused = s.Fault
				}
			}
		}
		if s.Connected && p.said.silent {
			s.Connected, s.Fault = false, errSilent.Error()
		}
		all[id] = s
	}
	return all
}

// Offsets is what the method of cluster.Link says.
func (l *Link) Offsets() (others map[uint64]time.Duration, own time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	others = make(map[uint64]time.Duration, len(l.peers))
	now := time.Now()
	oldest := now
	for id, p := range l.peers {
		if p.said.report.Wall == 0 {
			continue
		}
		others[id] = p.said.offset()
		if p.said.told.Before(oldest) {
			oldest = p.said.told
		}
	}
	return others, setBack(oldest, now)
}

// tellOf tells the log of a member that was refused, with how many connections were for that cause.
func (l *Link) tellOf(member uint64, r *Refusal, from net.Addr) {
	l.mu.Lock()
	of, now := &l.refused[r.Cause], time.Now()
	again := refusalPause
	if member == of.member {
		again = refusalAgain
	}
	tell, count := now.Sub(of.told) >= again, of.count
	if tell {
		of.member, of.told = member, now
	}
	name := l.removed[member]
	if p := l.peers[member]; p != nil {
		name = p.Name
	}
	l.mu.Unlock()
	if tell {
		l.config.Log.Warn("a member is refused", "member", cmp.Or(name, fmt.Sprintf("%x", member)), "address", from,
			"error", r, "all", count)
	}
}

// Refused counts the Hellos that were refused, by cause.
func (l *Link) Refused() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make(map[string]uint64)
	for c := CauseNone + 1; c < causes; c++ {
		counts[c.String()] = l.refused[c].count
	}
	return counts
}

// errNotYet is the fault of a connection that was not made yet.
var errNotYet = errors.New("not reached yet")
