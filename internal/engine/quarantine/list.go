// Package quarantine is this node's local deny list: code that the engine failed on or ran wrongly, until an operator
// clears it, and senders and code that exceeded their time limit, with exponential backoff. It is policy and not
// consensus: a received block is executed in any case, with another engine for quarantined code.
package quarantine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// ErrQuarantined refuses a call of quarantined code.
var ErrQuarantined = errors.New("the contract's code is in quarantine on this node, because the engine failed on it")

// WaitError refuses a transaction whose sender, payer or called code has to wait after an overrun.
type WaitError struct{ Left time.Duration }

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf(
		"a transaction of this sender or to this code exceeded its time limit: try again in %v", e.Left.Round(time.Second),
	)
}

// maxQuarantined bounds the quarantined codes. The oldest makes room.
const maxQuarantined = 1_024

// Options are the settings of a [List]. A zero value takes its default.
type Options struct {
	Path string     // of the file; empty: in memory only
	FS   journal.FS // journal.OS{}
	Now  func() time.Time
	// Height returns the height of the newest block, to record near which block an engine failed. It may be nil.
	Height func() types.Height
	Log    *slog.Logger // discards
}

// Quarantined records why a code is in quarantine.
type Quarantined struct {
	// Function is the called function; empty if loading or compiling failed, or a result was wrong.
	Function string       `json:"function"`
	Error    string       `json:"error"`
	Height   types.Height `json:"height"` // of the newest block at that time
	Time     time.Time    `json:"time"`
}

// maxReason bounds the recorded error text, in bytes.
const maxReason = 512

// List is the deny list. It is safe for concurrent use. Every change is on disk when its method returns. If the file
// cannot be written, the change still counts and the log has an error.
type List struct {
	opts Options

	saving sync.Mutex // serialises writes of the file; taken before mu
	mu     sync.Mutex // guards the fields below
	kept   content
	stats  Stats
}

// content is the content of the file.
type content struct {
	Quarantined map[types.CodeHash]Quarantined `json:"quarantined"`
	Senders     waits[types.Account]           `json:"senders"`
	Codes       waits[types.CodeHash]          `json:"codes"`
}

// Stats are a list's numbers.
type Stats struct {
	Quarantined int    // codes
	Waiting     int    // senders and codes
	Faults      uint64 // of engines since the start, wrong results included
	Overruns    uint64 // of transactions since the start
}

// Open reads a list's file. A missing file is an empty list.
func Open(opts Options) (*List, error) {
	if opts.FS == nil {
		opts.FS = journal.OS{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Height == nil {
		opts.Height = func() types.Height { return 0 }
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	l := &List{opts: opts}
	var err error
	l.kept, err = l.read()
	return l, err
}

// failed quarantines a code that an engine failed on.
func (l *List) failed(f *vm.Fault) {
	l.opts.Log.Error("the engine failed on a contract: its code is now in quarantine", "code", f.Code,
		"function", f.Function,
		"height", l.opts.Height(), "error", f.Err)
	l.quarantine(f.Function, f.Err, f.Code)
}

// WrongResult quarantines the codes that an engine ran wrongly: another engine derived what the block says. There may be
// no codes. err says what each engine derived.
func (l *List) WrongResult(height types.Height, err error, codes ...types.CodeHash) {
	message := "the engine computed a different result than the block has, but a second engine agrees with the " +
		"block: accepted the block and quarantined its codes. Report the codes, and look for an update of the program"
	if len(codes) == 0 {
		message = "executing a block without contract calls again gave a different result, which matches the block: " +
			"accepted the block. Test this machine's memory"
	}
	l.opts.Log.Error(message, "block", height, "codes", codes, "error", err)
	l.quarantine("", err, codes...)
}

// quarantine counts a fault of the engine and adds codes.
func (l *List) quarantine(function string, err error, codes ...types.CodeHash) {
	reason := err.Error()
	q := Quarantined{function, reason[:min(len(reason), maxReason)], l.opts.Height(), l.opts.Now().UTC()}
	l.change(func() (changed bool) {
		l.stats.Faults++
		for _, code := range codes {
			if _, there := l.kept.Quarantined[code]; there {
				continue
			}
			if len(l.kept.Quarantined) >= maxQuarantined {
				delete(l.kept.Quarantined, l.kept.oldest())
			}
			l.kept.Quarantined[code] = q
			changed = true
		}
		return changed
	})
}

func (c content) oldest() types.CodeHash {
	return slices.MinFunc(slices.Collect(maps.Keys(c.Quarantined)), func(x, y types.CodeHash) int {
		return cmp.Or(c.Quarantined[x].Time.Compare(c.Quarantined[y].Time), x.Compare(y))
	})
}

// Overran makes the sender and the payer of a transaction and codes that it called wait, because it exceeded its full
// time limit. It returns the longest wait of the accounts.
func (l *List) Overran(accounts []types.Account, codes []types.CodeHash) (waits time.Duration) {
	l.change(func() bool {
		l.stats.Overruns++
		now := l.opts.Now()
		for _, a := range accounts {
			waits = max(waits, l.kept.Senders.extend(a, now))
		}
		for _, code := range codes {
			l.kept.Codes.extend(code, now)
		}
		return true
	})
	return waits
}

// Check reports whether a transaction of a sender and a payer may run: nil, [ErrQuarantined] or a [*WaitError]. codesOf
// returns the codes that the transaction calls or deploys; it is called only if the list is not empty.
func (l *List) Check(accounts []types.Account, codesOf func() ([]types.CodeHash, error)) error {
	l.mu.Lock()
	empty := len(l.kept.Quarantined)+len(l.kept.Senders)+len(l.kept.Codes) == 0
	l.mu.Unlock()
	if empty {
		return nil
	}
	codes, err := codesOf() // reads a state, so not under the lock
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, left := l.opts.Now(), time.Duration(0)
	for _, a := range accounts {
		left = max(left, l.kept.Senders.left(a, now))
	}
	for _, code := range codes {
		if _, there := l.kept.Quarantined[code]; there {
			return ErrQuarantined
		}
		left = max(left, l.kept.Codes.left(code, now))
	}
	if left > 0 {
		return &WaitError{left}
	}
	return nil
}

// Quarantined reports whether a code is in quarantine.
func (l *List) Quarantined(code types.CodeHash) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, there := l.kept.Quarantined[code]
	return there
}

// Codes returns the quarantined codes.
func (l *List) Codes() map[types.CodeHash]Quarantined {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.kept.Quarantined)
}

// Clear removes codes from the quarantine, or all if none is named, and returns how many it removed. Unlike other changes
// it fails if the file cannot be written.
func (l *List) Clear(codes ...types.CodeHash) (cleared int, err error) {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	if len(codes) == 0 {
		codes = slices.Collect(maps.Keys(l.kept.Quarantined))
	}
	for _, code := range codes {
		if _, there := l.kept.Quarantined[code]; there {
			delete(l.kept.Quarantined, code)
			cleared++
		}
	}
	l.mu.Unlock()
	return cleared, l.write()
}

// Stats returns the list's numbers.
func (l *List) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, now := l.stats, l.opts.Now()
	s.Quarantined = len(l.kept.Quarantined)
	s.Waiting = l.kept.Senders.count(now) + l.kept.Codes.count(now)
	return s
}

// change calls do under the lock, and writes the file if do reports a change.
func (l *List) change(do func() bool) {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	changed := do()
	l.mu.Unlock()
	if !changed {
		return
	}
	if err := l.write(); err != nil {
		l.opts.Log.Error(
			"cannot write the quarantine file: its newest entries will be missing after a restart", "error", err,
		)
	}
}

// Waits double from firstWait up to maxWait. After maxWait without an overrun they begin with firstWait again.
const (
	firstWait = time.Minute
	maxWait   = 24 * time.Hour
)

// maxWaits bounds the entries of each kind. The wait that ends first makes room.
const maxWaits = 4_096

// wait is the end of a wait, and the number of waits so far.
type wait struct {
	Until time.Time `json:"until"`
	Times uint      `json:"times"`
}

// waits has current and recent waits.
type waits[K comparable] map[K]wait

// extend starts a wait, longer than the last one, and returns its length.
func (w waits[K]) extend(who K, now time.Time) time.Duration {
	last, there := w[who]
	if !there {
		w.forget(now)
	}
	length := firstWait
	for range last.Times {
		length = min(2*length, maxWait)
	}
	w[who] = wait{now.Add(length).UTC(), last.Times + 1}
	return length
}

// left returns the rest of a wait, at most maxWait even if the clock was set back.
func (w waits[K]) left(who K, now time.Time) time.Duration {
	return min(w[who].Until.Sub(now), maxWait)
}

// forget removes waits that have long been over, and the one that ends first if there are too many.
func (w waits[K]) forget(now time.Time) {
	var first K
	for who, x := range w {
		if now.Sub(x.Until) >= maxWait {
			delete(w, who)
			continue
		}
		if best, ok := w[first]; !ok || x.Until.Before(best.Until) {
			first = who
		}
	}
	if len(w) >= maxWaits {
		delete(w, first)
	}
}

func (w waits[K]) count(now time.Time) (waiting int) {
	for who := range w {
		if w.left(who, now) > 0 {
			waiting++
		}
	}
	return waiting
}
