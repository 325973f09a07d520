package ledger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Fallback executes an existing block on several engines, one after another, until one derives its header. A block is
// thus not condemned on a single execution. The last engine's verdict is final.
type Fallback struct {
	// Engines holds the engines, fastest first; if it is empty, the ledger's own is used. Only a block that is decided,
	// or signed by the current producer, gets executed. So nobody without the key can make this node run the slower
	// engines, and the key's holder can do so only once: no block is taken after an invalid one. An upstream can do so
	// with a proven access list that lacks a key, but not again with a list of the same block that lacks the same key.
	Engines []NamedEngine
	// Mistaken, unless nil, is called when some engines did not derive a block's header but a later one did.
	Mistaken func(Mistake)
}

// NamedEngine is an engine for [Fallback]. Get is called for each block that needs it.
type NamedEngine struct {
	Name string
	Get  func() (vm.Engine, error)
}

// Verdict says why a block differs from the one that an engine derives.
type Verdict struct {
	Engine  string       // the engine's name
	Derived types.Header // zero if a transaction was invalid or the engine did not finish
	Err     error        // for an [*InvalidBlock], the broken rule
}

func verdictOf(engine string, err error) Verdict {
	if invalid, ok := errors.AsType[*InvalidBlock](err); ok {
		return Verdict{engine, invalid.Derived, invalid.Err}
	}
	return Verdict{Engine: engine, Err: err}
}

// String returns the engine's result as text.
func (v Verdict) String() string {
	if v.Derived == (types.Header{}) {
		return fmt.Sprintf("%s: %v", v.Engine, v.Err)
	}
	return fmt.Sprintf("%s derives %s: %v", v.Engine, v.Derived.Hash(), v.Err)
}

// Mistake describes a block whose header one engine derived and the engines before it did not.
type Mistake struct {
	Block    types.SignedHeader
	Right    string    // name of the engine that derived the header
	Verdicts []Verdict // verdicts of the engines that did not
	// Codes are the codes that they ran wrongly: the first one seen to differ, or else all that ran; empty if none ran.
	Codes []types.CodeHash
}

// Err describes the result of each engine.
func (m Mistake) Err() error {
	h := m.Block.Header
	return fmt.Errorf("%s; %s derives %s, which block %d has", joinVerdicts(m.Verdicts), m.Right, h.Hash(), h.Height)
}

// joinVerdicts joins the texts of all verdicts.
func joinVerdicts(verdicts []Verdict) string {
	texts := make([]string, len(verdicts))
	for i, v := range verdicts {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

// InvalidBlock is the error of a block that its producer signed or decided, and whose execution gives another result.
type InvalidBlock struct {
	Claimed  types.SignedHeader // without a seal for a proposal
	Derived  types.Header       // result of the execution; zero if a transaction was invalid
	Receipts []types.Receipt    // receipts of the executed transactions
	Writes   []types.Access     // the block's writes; nil if a transaction was invalid
	Err      error
	Verdicts []Verdict // verdicts of all engines; the fields above are the last one's
}

// Error implements error.
func (e *InvalidBlock) Error() string {
	by := "signed"
	if e.Claimed.Seal == (types.Seal{}) {
		by = "decided"
	}
	h := e.Claimed.Header
	text := fmt.Sprintf("block %d (%s) is %s by the producer and not valid: %v", h.Height, h.Hash(), by, e.Err)
	if len(e.Verdicts) < 2 {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, joinVerdicts(e.Verdicts))
}

// Unwrap returns the rule that the block breaks.
func (e *InvalidBlock) Unwrap() error { return e.Err }

// EngineFailure is the error of a block that this node cannot execute: the last engine failed on it. It is not known
// whether the block is valid.
type EngineFailure struct {
	Claimed types.SignedHeader
	Err     error // errors of all engines
}

// Error implements error.
func (e *EngineFailure) Error() string {
	return fmt.Sprintf(
		"block %d (%s) cannot be executed by this node: %v", e.Claimed.Header.Height, e.Claimed.Header.Hash(), e.Err,
	)
}

// Unwrap returns the engines' errors.
func (e *EngineFailure) Unwrap() error { return e.Err }

// compare checks the header that execution derived against the block's.
func (r *Received) compare(result exec.Result) error {
	if err := exec.CheckHeader(r.header.Header, result.Header); err != nil {
		return &InvalidBlock{
			Claimed:  r.Header(),
			Derived:  result.Header,
			Receipts: result.Receipts,
			Writes:   types.Writes(result.Accesses),
			Err:      err,
		}
	}
	return nil
}

// deriveWithFallback derives a block with one engine after the other until one derives its header. derive must start
// from scratch on each call. An error that is no verdict on the block ends the search.
func deriveWithFallback[T any](c *core, r *Received, derive func(vm.Engine) (T, error)) (derived T, err error) {
	engines := c.Fallback.Engines
	if len(engines) == 0 {
		engines = []NamedEngine{{"the engine", func() (vm.Engine, error) { return c.engine, nil }}}
	}
	var verdicts []Verdict
	var previous, current *transcript // previous and current; nil at first, to keep the first engine fast
	for i, o := range engines {
		engine, missing := o.Get()
		if missing != nil {
			return derived, fmt.Errorf("%s: %w", o.Name, missing)
		}
		if i > 0 {
			previous, current = current, newTranscript(engine)
			engine = current
		}
		derived, err = derive(engine)
		if err == nil {
			c.Fallback.reportMistake(r, o.Name, verdicts, current, previous)
			return derived, nil
		}
		if !isVerdict(err) || c.unlisted.is(r, err) {
			return derived, err
		}
		verdicts = append(verdicts, verdictOf(o.Name, err))
	}
	c.unlisted.note(r, verdicts)
	return derived, r.finalError(err, verdicts)
}

// isVerdict reports whether an error may depend on the engine that executed the block. An engine that reads other keys
// than the block does may miss them in its access list.
func isVerdict(err error) bool {
	return errors.As(err, new(*vm.Fault)) || errors.As(err, new(*InvalidBlock)) || errors.As(err, new(*unlistedKey))
}

// unlisted is the newest key that the first engine missed in a block's access list when no other engine derived the
// block's header either.
type unlisted struct {
	block types.BlockHash
	key   string
}

func (u *unlisted) is(r *Received, err error) bool {
	missed := new(unlistedKey)
	return errors.As(err, &missed) && *u == unlisted{r.hash, string(missed.key)}
}

func (u *unlisted) note(r *Received, verdicts []Verdict) {
	if missed, ok := errors.AsType[*unlistedKey](verdicts[0].Err); ok {
		*u = unlisted{r.hash, string(missed.key)}
	}
}

// finalError returns the error for a block whose header no engine derived. err is the last engine's error.
func (r *Received) finalError(err error, verdicts []Verdict) error {
	if invalid, ok := errors.AsType[*InvalidBlock](err); ok {
		invalid.Verdicts = verdicts
		return err
	}
	if !errors.As(err, new(*vm.Fault)) {
		return err
	}
	var all error
	for _, v := range verdicts {
		all = errors.Join(all, fmt.Errorf("%s: %w", v.Engine, v.Err))
	}
	return &EngineFailure{r.Header(), all}
}

// reportMistake reports engines that finished with a result other than the right one. Engines that failed have reported
// that themselves.
func (f Fallback) reportMistake(r *Received, right string, verdicts []Verdict, current, previous *transcript) {
	for _, v := range verdicts {
		if f.Mistaken != nil && !errors.As(v.Err, new(*vm.Fault)) {
			f.Mistaken(Mistake{r.Header(), right, verdicts, current.differing(previous)})
			return
		}
	}
}
