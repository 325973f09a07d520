package p2p

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/semaphore"
	"github.com/cairn-chain/cairn/types"
)

// Timeouts of the link.
const (
	helloTime   = 5 * time.Second // limit for the handshake and both Hellos
	firstPause  = 50 * time.Millisecond
	longestWait = time.Second // maximum backoff between dials: a cluster must reconnect soon after a partition
	writeTime   = 20 * time.Second
	deadTime    = 3 * time.Second // limit for unacknowledged data
)

// maxStrangers bounds the connections that have not sent a Hello. A further one displaces one of them.
const maxStrangers = 64

// Handler is the member that a link serves. Its methods must be safe for concurrent use.
type Handler interface {
	// Deliver takes a raft message that another member sent to this one. It must not block.
	Deliver(m *raftpb.Message)
	// Unreachable reports that messages to a member, including a snapshot, may be lost. It must not block.
	Unreachable(member uint64)
	// Take accepts transactions that another member forwards.
	Take(ctx context.Context, from uint64, encoded [][]byte) Taken
	// Blocks returns released blocks, at least the first of the range.
	Blocks(from, to types.Height) ([][]byte, error)
	// Pending returns a snapshot of the pool.
	Pending() (cluster.Pending, error)
	// Lease reports whether a member may make the proof of a block.
	Lease(member uint64, height types.Height) bool
	// Proof returns the proof of the first of the given blocks that has one, or height 0 if none has.
	Proof(of []types.Height) (types.Height, []byte, error)
	// Members returns the members according to the log, in an encoding that the handler defines.
	Members() []byte
	// Report returns this member's answer to a health check.
	Report() Report
	// Refused reports that another member has permanently refused this one. It must not block.
	Refused(by Peer, r *Refusal)
}

// Peer is another member.
type Peer struct {
	Address string // host:port
	Pin     Pin
	Name    string
}

// ID returns the member's id.
func (p Peer) ID() uint64 { return p.Pin.Member() }

// Config configures a link.
type Config struct {
	Identity Identity
	Handler  Handler
	// Hello returns this member's current Hello. The link sets Version, Member and Wall.
	Hello func() Hello
	// Required has a bit for each kind of entry that the log may hold.
	Required uint32
	// Past, unless nil, returns the removed members and the cluster's identities before recoveries.
	Past func() ([]cluster.Gone, []cluster.Former)
	Log  *slog.Logger
}

// known is a link's persistent knowledge of another member.
type known struct {
	Peer
	boot     uint64
	promised promise
}

// Link is a member's end of its connections to all others. It is safe for concurrent use.
type Link struct {
	config  Config
	self    uint64
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	// handshakes are computed one at a time, in turn by host: strangers must not take the processor.
	handshakes *semaphore.Fair

	mu        sync.Mutex // guards the fields below and, in every peer, known and the fields from hello on
	peers     map[uint64]*peer
	removed   map[uint64]string // names of former members
	strangers []net.Conn
	refused   [causes]refusals
}

// refusals counts the refused Hellos of one cause.
type refusals struct {
	count  uint64
	last   time.Time
	member uint64    // last member that was logged
	logged time.Time // time of that log line
}

// Refusals are logged at a limited rate, as refused members retry: for each cause once per refusalPause, and for the
// same member once per refusalAgain.
const (
	refusalPause = 10 * time.Second
	refusalAgain = time.Hour
)

// New returns a link without peers. It dials nobody until SetPeers is called.
func New(config Config) *Link {
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	ctx, end := context.WithCancel(context.Background())
	return &Link{
		config:  config,
		self:    config.Identity.pin.Member(),
		ctx:     ctx,
		end:     end,
		peers:   make(map[uint64]*peer),
		removed: make(map[uint64]string),

		handshakes: semaphore.New(semaphore.Limits{Total: 1, PerClient: 1, Waiting: math.MaxInt}),
	}
}

// hello returns this member's current Hello.
func (l *Link) hello() Hello {
	h := l.config.Hello()
	h.Version, h.Member, h.Wall = version, l.self, uint64(time.Now().UnixMilli())
	return h
}

// SetPeers sets the cluster's members, which may include this one. Connections to former members are closed. A former
// member that reconnects is refused with CauseRemoved.
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
		delete(l.removed, m.ID()) // it may only have a new address
		if _, is := l.peers[m.ID()]; !is && m.ID() != l.self {
			l.peers[m.ID()] = l.newPeer(m)
		}
	}
}

// Send sends a raft message to its recipient without blocking. A message that cannot be queued is dropped, and reported
// to the handler as Unreachable.
func (l *Link) Send(m *raftpb.Message) {
	l.mu.Lock()
	p := l.peers[m.GetTo()]
	l.mu.Unlock()
	if p == nil || !p.out[channelOf(m)].put(m) {
		l.config.Handler.Unreachable(m.GetTo())
	}
}

// Close closes all connections, and waits for the link's goroutines.
func (l *Link) Close() {
	l.end()
	l.mu.Lock()
	for _, c := range l.strangers {
		_ = c.Close() // its peer is not identified yet
	}
	l.mu.Unlock()
	l.running.Wait()
}

// channelOf returns the channel of a message.
func channelOf(m *raftpb.Message) channel {
	if cluster.LaneOf(m) == cluster.Ordered {
		return order
	}
	return pulse
}

// remote lists the types of raft messages that members exchange.
var remote = []raftpb.MessageType{
	raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgSnap, raftpb.MsgHeartbeat,
	raftpb.MsgHeartbeatResp, raftpb.MsgTransferLeader, raftpb.MsgTimeoutNow, raftpb.MsgPreVote, raftpb.MsgPreVoteResp,
}

// observe records the promises in a member's message: its term, unless it is a pre-vote's, and the entries that it
// acknowledges.
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

// promises returns a snapshot of all members' promises.
func (l *Link) promises() map[uint64]promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[uint64]promise, len(l.peers))
	for id, p := range l.peers {
		all[id] = p.promised
	}
	return all
}

// meet judges the Hello of a member with the given pin, and counts a refusal. promised must have been taken before the
// Hello was made: a promise that arrives later on another connection may be newer than the Hello.
func (l *Link) meet(h Hello, pin Pin, promised map[uint64]promise) error {
	own := l.hello()
	was := l.formerMember(h)
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
	cause := checkHello(own, h, l.config.Required, of, was, pin)
	if cause != CauseNone {
		l.refused[cause].count++
		l.refused[cause].last = time.Now()
		return &Refusal{Cause: cause, Ours: own.Chain, Theirs: h.Chain, Height: was.height}
	}
	p.boot = h.Boot
	p.hello = h
	return nil
}

// formerMember returns the cluster's record of a Hello's sender as a former member.
func (l *Link) formerMember(h Hello) (was formerMember) {
	if l.config.Past == nil {
		return was
	}
	gone, former := l.config.Past()
	for _, f := range former {
		if f.Cluster == h.Cluster {
			return formerMember{recovered: true, height: f.Height}
		}
	}
	for _, g := range gone {
		if g.ID == h.Member {
			was = formerMember{removed: true, height: g.Height}
		}
	}
	return was
}

// LastRefused returns the time of the last refusal for a cause, or zero if there was none.
func (l *Link) LastRefused(c Cause) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[c].last
}

// Status is a link's view of a member.
type Status struct {
	Peer
	Connected bool          // all outgoing connections are up, and it answers
	Hello     Hello         // last one received, or zero
	Fault     string        // why it is not connected; empty if it is
	Refused   string        // the refusal, if that is the fault
	Report    Report        // last health check, zero if it failed
	Offset    time.Duration // its clock minus this one's, extrapolated from the report
}

// Reported reports whether s holds a Report, that is, whether the last health check succeeded.
func (s Status) Reported() bool { return s.Report.Wall != 0 }

// Peers returns the status of every other member, by id.
func (l *Link) Peers() map[uint64]Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[uint64]Status, len(l.peers))
	for id, p := range l.peers {
		s := Status{Peer: p.Peer, Connected: true, Hello: p.hello, Report: p.report, Offset: p.offset()}
		for _, fault := range p.faults {
			if fault != nil && s.Refused == "" {
				s.Connected, s.Fault = false, fault.Error()
				if errors.As(fault, new(*Refusal)) {
					s.Refused = s.Fault
				}
			}
		}
		if s.Connected && p.silent {
			s.Connected, s.Fault = false, errSilent.Error()
		}
		all[id] = s
	}
	return all
}

// Offsets implements the method of cluster.Link.
func (l *Link) Offsets() (others map[uint64]time.Duration, own time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	others = make(map[uint64]time.Duration, len(l.peers))
	now := time.Now()
	oldest := now
	for id, p := range l.peers {
		if p.report.Wall == 0 {
			continue
		}
		others[id] = p.offset()
		if p.reported.Before(oldest) {
			oldest = p.reported
		}
	}
	return others, setBack(oldest, now)
}

// logRefusal logs the refusal of a member, with the count of refusals for that cause.
func (l *Link) logRefusal(member uint64, r *Refusal, from net.Addr) {
	l.mu.Lock()
	of, now := &l.refused[r.Cause], time.Now()
	again := refusalPause
	if member == of.member {
		again = refusalAgain
	}
	due, count := now.Sub(of.logged) >= again, of.count
	if due {
		of.member, of.logged = member, now
	}
	name := l.removed[member]
	if p := l.peers[member]; p != nil {
		name = p.Name
	}
	l.mu.Unlock()
	if due {
		l.config.Log.Warn("refused a connection to or from a cluster member", "member", cmp.Or(name, fmt.Sprintf("%x", member)), "address", from,
			"error", r, "all", count)
	}
}

// Refused returns the counts of refused Hellos, by cause.
func (l *Link) Refused() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make(map[string]uint64)
	for c := CauseNone + 1; c < causes; c++ {
		counts[c.String()] = l.refused[c].count
	}
	return counts
}

// errNotYet is the fault of a connection that has not been made yet.
var errNotYet = errors.New("not connected yet")
