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
	firstBackoff = 500 * time.Millisecond
	// LongestBackoff is the longest time between two tries of an upstream that fails.
	LongestBackoff = 10 * time.Second
	// distrust is how long an upstream that lied, or said that it has what it does not give, comes after all others.
	distrust = time.Minute
	// muchBehind is how many blocks an upstream may be behind another before it is left for it.
	muchBehind = 10
)

// Cause says what was wrong with an upstream.
type Cause string

// What can be wrong with an upstream.
const (
	Unreachable  Cause = "unreachable"  // no answer, or none that makes sense
	Untrusted    Cause = "untrusted"    // its certificate is not one that is trusted
	Unauthorized Cause = "unauthorized" // it asks for a key, or for another one
	Pruned       Cause = "pruned"       // it no longer has the next block
	Stalled      Cause = "stalled"      // does not give the blocks that it says it has
	Behind       Cause = "behind"       // another has much newer blocks, or a proof that this one says is to come
	// gave blocks that the producer did not sign, or not for this height, or a proof that does not hold
	Lied Cause = "lied"
	Weak Cause = "weak" // gave a proof of fewer bits than this node asks for
	// has another block where a producer that has handed over since signed the one here, signed by that too
	Forked     Cause = "forked"
	OtherChain Cause = "other_chain" // its genesis is another one
)

// causes are all of them.
var causes = []Cause{Unreachable, Untrusted, Unauthorized, Pruned, Stalled, Behind, Lied, Weak, Forked, OtherChain}

// remedies are what the operator of a node can do about its upstream.
var remedies = map[Cause]string{
	Unreachable:  "start it, or name another with --upstream",
	Untrusted:    "name its authority with --upstream-ca-file",
	Unauthorized: "name its key with --upstream-key-file",
	Pruned:       "begin from a snapshot, or name an archive (--bootstrap snapshot in an empty directory, --upstream)",
	OtherChain:   "name one of this chain with --upstream",
}

// remedy is what to do about an upstream that failed in this way.
func (c Cause) remedy() string { return cmp.Or(remedies[c], "name another with --upstream") }

// FaultError is a failure that an upstream is to blame for.
type FaultError struct {
	Cause Cause
	Err   error
}

func (e *FaultError) Error() string { return e.Err.Error() }
func (e *FaultError) Unwrap() error { return e.Err }

// Faulty returns a [*FaultError] with a text as of fmt.Errorf.
func Faulty(cause Cause, format string, args ...any) error {
	return &FaultError{cause, fmt.Errorf(format, args...)}
}

// upstream is a source with what is known of it.
type upstream struct {
	Source
	jitter func(time.Duration) time.Duration // of [Config]

	mu      sync.Mutex // guards what follows
	head    types.Height
	primary types.Height
	contact time.Time // of the last answer
	inUse   bool
	gap     time.Time // when it last answered again after a failure for which it was not left
	failing
}

// failing is what an upstream's failures were, and what follows from them.
type failing struct {
	failures int       // since the last success
	retryAt  time.Time // not to be asked before
	liedAt   time.Time
	fault    Cause  // of the last failure, empty after a success
	why      string // the last failure in words
	away     bool   // it did not answer, and has not since
	counts   map[Cause]uint64
}

func newUpstream(s Source, jitter func(time.Duration) time.Duration) *upstream {
	return &upstream{Source: s, jitter: jitter, failing: failing{counts: make(map[Cause]uint64)}}
}

// told notes what the upstream said of itself, and reports whether it is back: it did not answer before.
func (u *upstream) told(p Probe) (back bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.head, u.primary, u.contact = p.Head, max(p.Primary, p.Head), time.Now()
	back, u.away = u.away, false
	return back
}

// saw notes that the upstream has a block.
func (u *upstream) saw(h types.Height) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.head = max(u.head, h)
	u.primary = max(u.primary, h)
	u.contact = time.Now()
}

// answered notes that the upstream is there.
func (u *upstream) answered() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.contact = time.Now()
}

// interrupted notes that the upstream did not answer for a moment. It may have ended and started anew, without what was
// sent to it.
func (u *upstream) interrupted() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gap = time.Now()
}

// lastGap is the time of the last [upstream.interrupted].
func (u *upstream) lastGap() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gap
}

func (u *upstream) newest() types.Height {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.head
}

// succeeded forgets failures: the upstream gave what is good.
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

// failed notes a failure, after which the upstream is left alone for a time that doubles, with jitter so that many
// replicas do not come back at once.
func (u *upstream) failed(err error) Cause {
	cause := Unreachable
	var fault *FaultError
	if errors.As(err, &fault) {
		cause = fault.Cause
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	pause := min(LongestBackoff, firstBackoff<<min(u.failures, 10))
	u.failures++
	u.retryAt = now.Add(u.jitter(pause * 2 / 3)) // at most the pause
	if slices.Contains([]Cause{Lied, Weak, Forked, OtherChain, Stalled, Pruned}, cause) {
		u.liedAt = now
	}
	u.away = u.away || unheard(cause)
	u.fault, u.why = cause, plain(err)
	u.counts[cause]++
	return cause
}

// unheard tells the failures of an upstream that did not say anything of the chain.
func unheard(cause Cause) bool {
	return slices.Contains([]Cause{Unreachable, Untrusted, Unauthorized}, cause)
}

// plain is an error in one line of bounded length: part of it may come from outside.
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

// standing is how an upstream compares with others: lower is better.
type standing struct {
	lied    bool
	head    types.Height
	retryAt time.Time
}

func (u *upstream) standing() standing {
	u.mu.Lock()
	defer u.mu.Unlock()
	lied := !u.liedAt.IsZero() && time.Since(u.liedAt) < distrust
	return standing{lied: lied, head: u.head, retryAt: u.retryAt}
}

// UpstreamStatus is what is known of an upstream.
type UpstreamStatus struct {
	URL    string
	InUse  bool
	Height types.Height     // of its newest block that is known of
	Told   bool             // whether it has said that, as a node of this chain
	Fault  Cause            // of its last failure, empty after a success
	Why    string           // that failure in words, with what to do about it
	Faults map[Cause]uint64 // how often each was seen
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
