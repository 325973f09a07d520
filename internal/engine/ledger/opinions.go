package ledger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Opinions are the engines that judge blocks which are there. One after the other executes a block until one comes to
// its header: a single execution condemns nobody. The last one's word counts.
type Opinions struct {
	// Engines, the fastest first; the ledger's own if there are none. A block comes to them if the producer in force
	// signed it, or if it is decided. So who has no key cannot have this node run the slower ones, and who has it can do
	// so once: after an invalid block no further one is taken. An upstream can do so by a proven access list that lacks
	// a key, and not again by one of the same block that lacks the same.
	Engines []Opinion
	// Mistaken, unless nil, is told of engines that did not come to a block's header, where another one did.
	Mistaken func(Mistake)
}

// Opinion is an engine for blocks that are there. Get is called for each block for which it is needed.
type Opinion struct {
	Name string
	Get  func() (vm.Engine, error)
}

// Verdict is why a block is not what an engine derives.
type Verdict struct {
	Engine  string       // its name
	Derived types.Header // the zero header where a transaction was not valid, or the engine did not come to an end
	Err     error        // of an [*InvalidBlock] the rule that is broken
}

func verdictOf(engine string, err error) Verdict {
	if invalid := new(InvalidBlock); errors.As(err, &invalid) {
		return Verdict{engine, invalid.Derived, invalid.Err}
	}
	return Verdict{Engine: engine, Err: err}
}

// String says what the engine came to.
func (v Verdict) String() string {
	if v.Derived == (types.Header{}) {
		return fmt.Sprintf("%s: %v", v.Engine, v.Err)
	}
	return fmt.Sprintf("%s derives %s: %v", v.Engine, v.Derived.Hash(), v.Err)
}

// Mistake is a block whose header one engine came to and those before it did not.
type Mistake struct {
	Block    types.SignedHeader
	Right    string    // the engine that came to the header
	Verdicts []Verdict // of those that did not
	// Codes are what they ran wrongly: the first that is seen to, else all that ran; none if none ran.
	Codes []types.CodeHash
}

// Err says who came to what.
func (m Mistake) Err() error {
	h := m.Block.Header
	return fmt.Errorf("%s; %s derives %s, which block %d has", said(m.Verdicts), m.Right, h.Hash(), h.Height)
}

// said is what all engines came to.
func said(verdicts []Verdict) string {
	texts := make([]string, len(verdicts))
	for i, v := range verdicts {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

// InvalidBlock is the error of a block that the producer signed, or decided, and that is not what executing it gives.
type InvalidBlock struct {
	Claimed  types.SignedHeader // without a signature if it is a proposal's
	Derived  types.Header       // as execution gave it; the zero header where a transaction was not valid
	Receipts []types.Receipt    // of the transactions that were executed
	Writes   []types.Access     // of the block; nil where a transaction was not valid
	Err      error
	Verdicts []Verdict // of every engine; what stands above is the last one's
}

// Error implements error.
func (e *InvalidBlock) Error() string {
	by := "signed"
	if e.Claimed.Signature == (types.Signature{}) {
		by = "decided"
	}
	h := e.Claimed.Header
	text := fmt.Sprintf("block %d (%s) is %s by the producer and not valid: %v", h.Height, h.Hash(), by, e.Err)
	if len(e.Verdicts) < 2 {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, said(e.Verdicts))
}

// Unwrap is the rule that the block breaks.
func (e *InvalidBlock) Unwrap() error { return e.Err }

// EngineFailure is the error of a block that every engine of this node failed on, the last one in any case: whether the
// block is valid is not known.
type EngineFailure struct {
	Claimed types.SignedHeader
	Err     error // of all of them
}

// Error implements error.
func (e *EngineFailure) Error() string {
	return fmt.Sprintf(
		"block %d (%s) cannot be executed by this node: %v", e.Claimed.Header.Height, e.Claimed.Header.Hash(), e.Err,
	)
}

// Unwrap is what the engines said.
func (e *EngineFailure) Unwrap() error { return e.Err }

// compare holds the header that execution gave to the block's.
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

// judge derives a block with one engine after the other until one comes to its header. derive begins anew each time.
// Errors that are no verdict on the block end it.
func judge[T any](c *core, r *Received, derive func(vm.Engine) (T, error)) (derived T, err error) {
	engines := c.Opinions.Engines
	if len(engines) == 0 {
		engines = []Opinion{{"the engine", func() (vm.Engine, error) { return c.engine, nil }}}
	}
	var verdicts []Verdict
	var before, heard *transcript // of the engine before and of this one; nil of the first, which nothing is to slow down
	for i, o := range engines {
		engine, missing := o.Get()
		if missing != nil {
			return derived, fmt.Errorf("%s: %w", o.Name, missing)
		}
		if i > 0 {
			before, heard = heard, newTranscript(engine)
			engine = heard
		}
		derived, err = derive(engine)
		if err == nil {
			c.Opinions.tell(r, o.Name, verdicts, heard, before)
			return derived, nil
		}
		if !isVerdict(err) || c.unlisted.is(r, err) {
			return derived, err
		}
		verdicts = append(verdicts, verdictOf(o.Name, err))
	}
	c.unlisted.note(r, verdicts)
	return derived, r.lastWord(err, verdicts)
}

// isVerdict tells whether an error depends on the engine that executed the block. One that reads other keys than the
// block does may miss them in its access list.
func isVerdict(err error) bool {
	return errors.As(err, new(*vm.Fault)) || errors.As(err, new(*InvalidBlock)) || errors.As(err, new(*unlistedKey))
}

// unlisted is a key of a block that the first engine missed in its list, where no other came to the block's header,
// either: the newest.
type unlisted struct {
	block types.BlockHash
	key   string
}

func (u *unlisted) is(r *Received, err error) bool {
	missed := new(unlistedKey)
	return errors.As(err, &missed) && *u == unlisted{r.hash, string(missed.key)}
}

func (u *unlisted) note(r *Received, verdicts []Verdict) {
	if missed := new(unlistedKey); errors.As(verdicts[0].Err, &missed) {
		*u = unlisted{r.hash, string(missed.key)}
	}
}

// lastWord is the error of a block that no engine came to the header of; err is the last one's.
func (r *Received) lastWord(err error, verdicts []Verdict) error {
	if invalid := new(InvalidBlock); errors.As(err, &invalid) {
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

// tell tells of engines that came to another end than the one that is right. Those that failed said so themselves.
func (o Opinions) tell(r *Received, right string, verdicts []Verdict, heard, before *transcript) {
	for _, v := range verdicts {
		if o.Mistaken != nil && !errors.As(v.Err, new(*vm.Fault)) {
			o.Mistaken(Mistake{r.Header(), right, verdicts, heard.differing(before)})
			return
		}
	}
}
