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
	// contactTime is the time for which an upstream's last answer counts as current.
	contactTime = 10 * time.Second
	// followingLag is the number of blocks by which a replica that had caught up may fall behind before it counts as
	// syncing again.
	followingLag = 10
	// paceWindow is the time over which rates are measured.
	paceWindow = 20 * time.Second
)

// State is the state of a replica.
type State string

// The states of a replica.
const (
	StateSyncing   State = "syncing"   // blocks are missing
	StateFollowing State = "following" // up to date, or nearly
	StateHolding   State = "holding"   // a block is held back
	StateHalted    State = "halted"    // takes no more blocks
)

// Status is a snapshot of a replica's state.
type Status struct {
	State     State
	Reason    string        // why it is holding or halted, or has no usable upstream
	Local     types.Height  // height of the newest block here; it is verified
	Primary   types.Height  // height of the newest known block, at least Local
	Told      bool          // whether any upstream ever reported its height
	InContact bool          // whether one did so recently
	Synced    bool          // whether there is nothing newer, as an upstream recently confirmed
	Silence   time.Duration // time since an upstream last answered; the maximum if none ever did
	Rate      float64       // blocks imported per second
	ETA       time.Duration
	ETAKnown  bool
	Upstreams []UpstreamStatus
}

// Behind returns the number of blocks known to be missing.
func (s Status) Behind() uint64 { return uint64(s.Primary - s.Local) }

// Halt returns the reason why the replica has halted, or nil if it has not.
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

// Status returns the replica's current status.
func (r *Replica) Status() Status {
	s := Status{Local: r.ledger.Tip().Header.Header.Height}
	var contact time.Time
	for _, u := range r.upstreams {
		status := u.status()
		s.Upstreams = append(s.Upstreams, status)
		primary, last, believed := u.contacted()
		if !believed { // reports of a liar do not count
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
		s.Reason = cmp.Or(upstreamFaults(s.Upstreams), "no upstream is reachable")
	case r.pace.caughtUp(s.Behind()):
		s.State = StateFollowing
	default:
		s.State, s.Reason = StateSyncing, upstreamFaults(s.Upstreams)
	}
	return s
}

// upstreamFaults describes the fault of each upstream and its remedy. It returns "" if any upstream is usable.
func upstreamFaults(upstreams []UpstreamStatus) string {
	var all []string
	for _, u := range upstreams {
		if u.Fault == "" {
			return ""
		}
		all = append(all, u.Why)
	}
	return strings.Join(all, "; ")
}

// contacted returns the newest height that the upstream knows of, the time of its last answer, and whether to believe
// it: it is in use, or has not lied recently. An upstream that pruned blocks is believed about those that it has.
func (u *upstream) contacted() (primary types.Height, last time.Time, believed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.primary, u.contact,
		u.inUse || u.liedAt.IsZero() || time.Since(u.liedAt) >= distrustTime || u.fault == Pruned
}

// pace measures the rates at which blocks are imported and at which new ones are made.
type pace struct {
	mu       sync.Mutex
	samples  []sample // ascending by time over paceWindow, at most one per quarter of a second except the last
	caught   bool
	interval time.Duration // between the last two imports
	last     time.Time
}

type sample struct {
	time           time.Time
	local, primary types.Height
}

// imported records that blocks were imported.
func (p *pace) imported() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.last.IsZero() {
		p.interval = now.Sub(p.last)
	}
	p.last = now
}

// begin discards the samples: a new upstream may know of more blocks.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples = nil
}

// note samples the heights of the replica and the primary. The last sample is always the latest call's.
func (p *pace) note(local, primary types.Height) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.samples) > 1 && now.Sub(p.samples[1].time) > paceWindow { // one older sample stays
		p.samples = p.samples[1:]
	}
	latest := sample{now, local, primary}
	if n := len(p.samples); n > 1 && now.Sub(p.samples[n-2].time) < paceWindow/80 {
		p.samples[n-1] = latest
	} else {
		p.samples = append(p.samples, latest)
	}
}

// rates returns the blocks per second that were imported here, and that were made elsewhere.
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

// caughtUp reports whether a replica that is behind blocks behind keeps up: it once had every block, and has not fallen
// back since.
func (p *pace) caughtUp(behind uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caught = behind == 0 || p.caught && behind <= followingLag
	return p.caught
}

// pollInterval returns the time until the next poll for a block.
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
