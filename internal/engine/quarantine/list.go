// Package aside keeps what this node does not run. These are codes that the engine failed on or ran wrongly, until an
// operator says otherwise, and senders and codes whose transaction overran its time, for a while. It is no part of the
// protocol: blocks that are there are executed whatever it says, codes in quarantine by another engine.
package aside

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

// ErrQuarantined is the error of a code that this node does not run.
var ErrQuarantined = errors.New("the contract's code is in quarantine on this node, whose engine failed on it")

// WaitError is the error of a transaction whose sender or called code waits after an overrun.
type WaitError struct{ Left time.Duration }

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf(
		"a transaction of this sender or to this code overran its time: others are taken in %v", e.Left.Round(time.Second),
	)
}

// maxQuarantined bounds the quarantine: the oldest falls out.
const maxQuarantined = 1_024

// Options are the settings of a [Book]. A zero value takes its default.
type Options struct {
	Path string     // of the file that it is kept in; empty for none
	FS   journal.FS // journal.OS{}
	Now  func() time.Time
	// Height, unless nil, is the newest block's: it says near which block an engine failed.
	Height func() types.Height
	Log    *slog.Logger // discards
}

// Quarantined says why a code is in quarantine.
type Quarantined struct {
	// Function is what the engine failed in first; empty for loading, compiling, and a wrong result.
	Function string       `json:"function"`
	Error    string       `json:"error"`
	Height   types.Height `json:"height"` // of the newest block then
	Time     time.Time    `json:"time"`
}

// maxReason bounds the text of an error that is kept.
const maxReason = 512

// Book is what is set aside. Its methods may be called concurrently. What they change is in the file when they return;
// where it cannot be written the log says so, and the change counts all the same.
type Book struct {
	opts Options

	saving sync.Mutex // of the file; taken before mu
	mu     sync.Mutex // guards what follows
	kept   content
	stats  Stats
}

// content is what the file holds.
type content struct {
	Quarantined map[types.CodeHash]Quarantined `json:"quarantined"`
	Senders     waits[types.Account]           `json:"senders"`
	Codes       waits[types.CodeHash]          `json:"codes"`
}

// Stats are a book's numbers.
type Stats struct {
	Quarantined, Waiting int    // codes; senders and codes
	Faults, Overruns     uint64 // since the start: of engines, wrong results too; of transactions that had all their time
}

// Open reads the file of a book; one that is absent is empty.
func Open(opts Options) (*Book, error) {
	if opts.FS == nil {
		opts.FS = journal.OS{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Height == nil {
		opts.Height = func() types.Height { return 0 }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	b := &Book{opts: opts}
	var err error
	b.kept, err = b.read()
	return b, err
}

// failed notes that an engine failed on a code, which is in quarantine from then on.
func (b *Book) failed(f *vm.Fault) {
	b.opts.Log.Error("the engine failed on a contract, whose code is in quarantine now", "code", f.Code,
		"function", f.Function,
		"height", b.opts.Height(), "error", f.Err)
	b.quarantine(f.Function, f.Err, f.Code)
}

// Mistook notes that an engine did not come to what a block has, and another one did. The codes that it ran wrongly, of
// which there may be none, are in quarantine from then on. err says who came to what.
func (b *Book) Mistook(height types.Height, err error, codes ...types.CodeHash) {
	message := "the engine came to another result than a block has, and a second engine to the block's: it is taken, " +
		"and the codes are in quarantine now. Report them, and look for a newer version of the program"
	if len(codes) == 0 {
		message = "a block that ran no contract was executed again with another result, which is the block's: it is taken. " +
			"Test this machine's memory"
	}
	b.opts.Log.Error(message, "block", height, "codes", codes, "error", err)
	b.quarantine("", err, codes...)
}

// quarantine counts a fault of the engine, and puts codes in quarantine that are not there.
func (b *Book) quarantine(function string, err error, codes ...types.CodeHash) {
	reason := err.Error()
	q := Quarantined{function, reason[:min(len(reason), maxReason)], b.opts.Height(), b.opts.Now().UTC()}
	b.change(func() (changed bool) {
		b.stats.Faults++
		for _, code := range codes {
			if _, there := b.kept.Quarantined[code]; there {
				continue
			}
			if len(b.kept.Quarantined) >= maxQuarantined {
				delete(b.kept.Quarantined, b.kept.oldest())
			}
			b.kept.Quarantined[code] = q
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

// Overran notes that a transaction overran though it had all its time: its sender and the code that it called, zero for
// none, wait from then on. It returns how long the sender waits.
func (b *Book) Overran(sender types.Account, code types.CodeHash) (waits time.Duration) {
	b.change(func() bool {
		b.stats.Overruns++
		now := b.opts.Now()
		waits = b.kept.Senders.extend(sender, now)
		if !code.IsZero() {
			b.kept.Codes.extend(code, now)
		}
		return true
	})
	return waits
}

// Check is nil for a transaction of a sender that calls, or deploys, a code, unless one of them is set aside: then it
// is [ErrQuarantined] or a [*WaitError]. codeOf is only asked for where it matters.
func (b *Book) Check(sender types.Account, codeOf func() (types.CodeHash, error)) error {
	b.mu.Lock()
	empty := len(b.kept.Quarantined)+len(b.kept.Senders)+len(b.kept.Codes) == 0
	b.mu.Unlock()
	if empty {
		return nil
	}
	code, err := codeOf() // reads a state, so not under the lock
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.kept.Quarantined[code]; there {
		return ErrQuarantined
	}
	now := b.opts.Now()
	if left := max(b.kept.Senders.left(sender, now), b.kept.Codes.left(code, now)); left > 0 {
		return &WaitError{left}
	}
	return nil
}

// Quarantined reports whether a code is in quarantine.
func (b *Book) Quarantined(code types.CodeHash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, there := b.kept.Quarantined[code]
	return there
}

// List is the quarantine.
func (b *Book) List() map[types.CodeHash]Quarantined {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.kept.Quarantined)
}

// Clear takes codes out of the quarantine, all of it where none is named, with the waits of their codes, and returns
// how many there were. Unlike other changes it fails where the file cannot be written.
func (b *Book) Clear(codes ...types.CodeHash) (cleared int, err error) {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	if len(codes) == 0 {
		codes = slices.Collect(maps.Keys(b.kept.Quarantined))
	}
	for _, code := range codes {
		if _, there := b.kept.Quarantined[code]; there {
			delete(b.kept.Quarantined, code)
			cleared++
		}
	}
	b.mu.Unlock()
	return cleared, b.write()
}

// Stats returns the book's numbers.
func (b *Book) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, now := b.stats, b.opts.Now()
	s.Quarantined = len(b.kept.Quarantined)
	s.Waiting = b.kept.Senders.count(now) + b.kept.Codes.count(now)
	return s
}

// change makes a change, and writes the file if the change says that there is something to write.
func (b *Book) change(do func() bool) {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	changed := do()
	b.mu.Unlock()
	if !changed {
		return
	}
	if err := b.write(); err != nil {
		b.opts.Log.Error(
			"what this node sets aside could not be written: a restart will not know the newest of it", "error", err,
		)
	}
}
