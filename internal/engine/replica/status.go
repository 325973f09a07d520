package replica

import (
	"cmp"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/types"
)

const (
	// contactTime is how long an upstream's last answer says what there is.
	contactTime = 10 * time.Second
	// followingLag is how many blocks a replica that had caught up may miss before it is said to be syncing again.
	followingLag = 10
	// paceWindow is the time over which rates are taken.
	paceWindow = 20 * time.Second
)

// State is what a replica is doing about new blocks.
type State string

// What a replica does.
const (
	StateSyncing   State = "syncing"   // blocks are missing
	StateFollowing State = "following" // it has all, or as good as all
	StateHolding   State = "holding"   // a block is held back
	StateHalted    State = "halted"    // it takes no more
)

// Status is what a replica knows of itself at one moment.
type Status struct {
	State     State
	Reason    string        // of holding and halting, and of having no upstream that is of use
	Local     types.Height  // of the newest block here, which is verified
	Primary   types.Height  // of the newest block that is known of, at least Local
	Told      bool          // whether an upstream ever said which one that is
	InContact bool          // whether one said so a short time ago
	Synced    bool          // there is nothing newer, and an upstream said so a short time ago
	Silence   time.Duration // since an upstream said something; the longest there is if none ever did
	Rate      float64       // blocks imported a second
	ETA       time.Duration
	ETAKnown  bool
	Upstreams []UpstreamStatus
}

// Behind is how many blocks are known to be missing.
func (s Status) Behind() uint64 { return uint64(s.Primary - s.Local) }

// Halt is why the replica has halted, nil while it has not.
func (r *Replica) Halt() *Halt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.halt
}

func (r *Replica) setHolding(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holding = why
}

func (r *Replica) setPushed(pushed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pushed = pushed
}

// Status tells how far the replica is.
func (r *Replica) Status() Status {
	s := Status{Local: r.ledger.Tip().Header.Header.Height}
	var contact time.Time
	for _, u := range r.upstreams {
		status := u.status()
		s.Upstreams = append(s.Upstreams, status)
		primary, last, believed := u.contacted()
		if !believed { // what a liar says does not count
			continue
		}
		s.Primary = max(s.Primary, primary)
		if last.After(contact) {
			contact = last
		}
	}
	s.Primary = max(s.Primary, s.Local)
	s.Silence = time.Duration(math.MaxInt64)
	if !contact.IsZero() {
		s.Silence = time.Since(contact)
	}
	s.Told, s.InContact = !contact.IsZero(), s.Silence < contactTime
	s.Synced = s.InContact && s.Primary == s.Local
	r.pace.note(s.Local, s.Primary)
	rate, growth := r.pace.rates()
	s.Rate = rate
	if net := rate - growth; !s.Synced && s.Behind() > 0 && net > 0 {
		s.ETA, s.ETAKnown = time.Duration(min(float64(s.Behind())/net, 1e9)*float64(time.Second)), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.halt != nil:
		s.State, s.Reason, s.Synced, s.Rate, s.ETAKnown = StateHalted, r.halt.Message, false, 0, false
	case r.holding != "":
		s.State, s.Reason, s.ETAKnown = StateHolding, r.holding, false
	case !s.InContact:
		s.State, s.ETAKnown = StateSyncing, false
		s.Reason = cmp.Or(trouble(s.Upstreams), "no upstream answers")
	case r.pace.caughtUp(s.Behind()):
		s.State = StateFollowing
	default:
		s.State, s.Reason = StateSyncing, trouble(s.Upstreams)
	}
	return s
}

// trouble says what is wrong with each upstream and what to do about it, where none is of use.
func trouble(upstreams []UpstreamStatus) string {
	var all []string
	for _, u := range upstreams {
		if u.Fault == "" {
			return ""
		}
		all = append(all, u.Why)
	}
	return strings.Join(all, "; ")
}

// contacted is the newest height that the upstream knows of, when it last answered, and whether that counts: it is
// followed, or has not lied. One that has pruned blocks says the truth of those that it has.
func (u *upstream) contacted() (primary types.Height, last time.Time, believed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.primary, u.contact,
		u.inUse || u.liedAt.IsZero() || time.Since(u.liedAt) >= distrust || u.fault == Pruned
}

// pace measures how fast blocks are imported, and how fast there are more.
type pace struct {
	mu       sync.Mutex
	samples  []sample // ascending by time, at most one a quarter of a second but for the last, over paceWindow
	caught   bool
	interval time.Duration // between the last blocks that came one at a time
	last     time.Time
}

type sample struct {
	time           time.Time
	local, primary types.Height
}

// imported notes that a block was imported.
func (p *pace) imported() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.last.IsZero() {
		p.interval = now.Sub(p.last)
	}
	p.last = now
}

// begin forgets what was measured: there is another upstream, which may know of more blocks.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples = nil
}

// note samples how far the replica and the primary are. The last sample is always of the last call.
func (p *pace) note(local, primary types.Height) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.samples) > 1 && now.Sub(p.samples[1].time) > paceWindow { // one may be older: the window is whole
		p.samples = p.samples[1:]
	}
	latest := sample{now, local, primary}
	if n := len(p.samples); n > 1 && now.Sub(p.samples[n-2].time) < paceWindow/80 {
		p.samples[n-1] = latest
	} else {
		p.samples = append(p.samples, latest)
	}
}

// rates are the blocks imported, and those made elsewhere, a second.
func (p *pace) rates() (imported, made float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.samples) == 0 {
		return 0, 0
	}
	first, last := p.samples[0], p.samples[len(p.samples)-1]
	seconds := last.time.Sub(first.time).Seconds()
	if seconds <= 0 {
		return 0, 0
	}
	return float64(last.local-min(last.local, first.local)) / seconds,
		float64(last.primary-min(last.primary, first.primary)) / seconds
}

// caughtUp reports whether a replica so many blocks behind keeps up: it had every block, and did not fall back since.
func (p *pace) caughtUp(behind uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caught = behind == 0 || p.caught && behind <= followingLag
	return p.caught
}

// pollInterval is the time between two polls for the next block.
func (r *Replica) pollInterval() time.Duration {
	r.mu.Lock()
	pushed := r.pushed
	r.mu.Unlock()
	if pushed {
		return r.config.Jitter(pushedPoll)
	}
	r.pace.mu.Lock()
	defer r.pace.mu.Unlock()
	return r.config.Jitter(min(longestPoll, max(shortestPoll, r.pace.interval/4, time.Since(r.pace.last)/4)))
}
