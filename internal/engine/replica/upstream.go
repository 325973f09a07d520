package replica

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/types"
)

const (
	minBackoff = 500 * time.Millisecond
	// LongestBackoff is the longest time between two tries of a failing upstream.
	LongestBackoff = 10 * time.Second
	// distrustTime is the time for which an upstream ranks last after it lied, or did not give a block that it claimed
	// to have.
	distrustTime = time.Minute
	// muchBehind is the number of blocks that an upstream may be behind another before the replica switches to the
	// other.
	muchBehind = 10
)

// Cause classifies the failure of an upstream.
type Cause string

// The causes of failures.
const (
	Unreachable  Cause = "unreachable"  // no answer, or no valid one
	Untrusted    Cause = "untrusted"    // its certificate is not trusted
	Unauthorized Cause = "unauthorized" // it requires a key, or a different one
	Pruned       Cause = "pruned"       // it no longer has the next block
	Stalled      Cause = "stalled"      // does not give blocks that it claims to have
	Behind       Cause = "behind"       // another has much newer blocks, or a proof that this one still lacks
	// gave blocks that the producer did not sign, blocks of another height, or an invalid proof
	Lied Cause = "lied"
	Weak Cause = "weak" // gave a proof of fewer bits than this node requires
	// has another block at some height, and a former producer signed both blocks
	Forked     Cause = "forked"
	OtherChain Cause = "other_chain" // has another genesis
)

// causes lists all causes.
var causes = []Cause{Unreachable, Untrusted, Unauthorized, Pruned, Stalled, Behind, Lied, Weak, Forked, OtherChain}

// remedies tell an operator how to fix an upstream's failure.
var remedies = map[Cause]string{
	Unreachable:  "start it, or give another --upstream",
	Untrusted:    "add its certificate or CA to the file of --upstream-ca-file",
	Unauthorized: "put an API key or JWT that it accepts into the file of --upstream-key-file",
	Pruned:       "use state sync (--bootstrap snapshot in an empty directory), or an archive as --upstream",
	OtherChain:   "give an --upstream of this chain",
}

// remedy returns the advice for a failure with this cause.
func (c Cause) remedy() string { return cmp.Or(remedies[c], "give another --upstream") }

// FaultError is a failure that an upstream is to blame for.
type FaultError struct {
	Cause Cause
	Err   error
}

func (e *FaultError) Error() string { return e.Err.Error() }
func (e *FaultError) Unwrap() error { return e.Err }

// Faulty returns a [*FaultError]; its text is formatted as by fmt.Errorf.
func Faulty(cause Cause, format string, args ...any) error {
	return &FaultError{cause, fmt.Errorf(format, args...)}
}

// upstream is a source with its recorded state.
type upstream struct {
	Source
	jitter func(time.Duration) time.Duration // [Config].Jitter

	mu            sync.Mutex // guards the fields below
	head          types.Height
	primary       types.Height
	contact       time.Time // time of the last answer
	inUse         bool
	interruptedAt time.Time // when it last answered again after a failure that did not end the session

	// Its failures and their consequences:
	failures    int       // since the last success
	retryAt     time.Time // earliest time of the next try
	liedAt      time.Time
	fault       Cause  // cause of the last failure; empty after a success
	why         string // text of the last failure
	unreachable bool   // whether it stopped answering and has not answered since
	counts      map[Cause]uint64
}

func newUpstream(s Source, jitter func(time.Duration) time.Duration) *upstream {
	return &upstream{Source: s, jitter: jitter, counts: make(map[Cause]uint64)}
}

// recordProbe records a probe's answer, and reports whether the upstream is back after it had stopped answering.
func (u *upstream) recordProbe(p Probe) (back bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.head, u.primary, u.contact = p.Head, max(p.Primary, p.Head), time.Now()
	back, u.unreachable = u.unreachable, false
	return back
}

// recordBlock records that the upstream has a block.
func (u *upstream) recordBlock(h types.Height) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.head = max(u.head, h)
	u.primary = max(u.primary, h)
	u.contact = time.Now()
}

// answered records that the upstream answered.
func (u *upstream) answered() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.contact = time.Now()
}

// interrupted records that the upstream briefly did not answer. It may have restarted and lost the transactions sent to
// it.
func (u *upstream) interrupted() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.interruptedAt = time.Now()
}

// lastInterruption returns the time of the last [upstream.interrupted].
func (u *upstream) lastInterruption() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.interruptedAt
}

func (u *upstream) newest() types.Height {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.head
}

// succeeded clears the failures after the upstream gave valid blocks.
func (u *upstream) succeeded() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failures, u.fault, u.why = 0, "", ""
}

func (u *upstream) use(inUse bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inUse = inUse
}

// failed records a failure. The upstream is then left alone for a time that doubles with each failure, jittered so that
// many replicas do not return at once.
func (u *upstream) failed(err error) Cause {
	cause := Unreachable
	var fault *FaultError
	if errors.As(err, &fault) {
		cause = fault.Cause
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	pause := min(LongestBackoff, minBackoff<<min(u.failures, 10))
	u.failures++
	u.retryAt = now.Add(u.jitter(pause * 2 / 3)) // at most pause
	if slices.Contains([]Cause{Lied, Weak, Forked, OtherChain, Stalled, Pruned}, cause) {
		u.liedAt = now
	}
	u.unreachable = u.unreachable || noInformation(cause)
	u.fault, u.why = cause, plain(err)
	u.counts[cause]++
	return cause
}

// noInformation reports whether a cause means that the upstream gave no information about the chain.
func noInformation(cause Cause) bool {
	return slices.Contains([]Cause{Unreachable, Untrusted, Unauthorized}, cause)
}

// plain returns the error's text as one line of bounded length, since parts of it may come from outside.
func plain(err error) string {
	const most = 300
	text := []rune(err.Error())
	for i, r := range text {
		if r < ' ' {
			text[i] = ' '
		}
	}
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return string(text)
}

// rank holds the values by which upstreams are compared.
type rank struct {
	lied    bool
	head    types.Height
	retryAt time.Time
}

func (u *upstream) rank() rank {
	u.mu.Lock()
	defer u.mu.Unlock()
	lied := !u.liedAt.IsZero() && time.Since(u.liedAt) < distrustTime
	return rank{lied: lied, head: u.head, retryAt: u.retryAt}
}

// UpstreamStatus is the status of an upstream.
type UpstreamStatus struct {
	URL    string
	InUse  bool
	Height types.Height     // height of its newest known block
	Told   bool             // whether it has reported that height, as a node of this chain
	Fault  Cause            // cause of its last failure; empty after a success
	Why    string           // text of that failure, with advice
	Faults map[Cause]uint64 // number of failures by cause
}

func (u *upstream) status() UpstreamStatus {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := UpstreamStatus{
		URL: u.Name(), InUse: u.inUse, Height: u.head, Told: !u.contact.IsZero(),
		Fault: u.fault, Faults: make(map[Cause]uint64, len(causes)),
	}
	if u.fault != "" {
		s.Why = u.Name() + ": " + u.why
		if what, of := strings.CutPrefix(u.why, "it "); of {
			s.Why = u.Name() + " " + what
		}
		s.Why += ": " + u.fault.remedy()
	}
	for _, cause := range causes {
		s.Faults[cause] = u.counts[cause]
	}
	return s
}
