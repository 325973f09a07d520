// Package view repeats a view call from the state that a node returned for it, without trusting the node. A Merkle
// witness proves each value, or its absence, under the state root of a header that the chain's producer sealed. The
// state holds the hashes of the codes (docs/protocol.md, "Proofs of views").
//
// The caller must know the producer's key. A view proof shows neither that the block is the newest nor that the
// producer executed correctly; a replica or a block's proof shows the latter.
package view

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// DefaultGas is the execution gas of a call if the question names none: about a fifth of a second.
const DefaultGas types.Gas = 200_000_000

// engineBytes bounds the compiled code that a verifier caches.
const engineBytes = 64 << 20

// Question is a view call, with the facts about its chain that the caller trusts.
type Question struct {
	Contract types.ContractID
	Function string
	Args     []byte

	ChainID  uint64
	Network  types.Network   // of the chain's genesis; texts that a call may verify contain it
	Producer types.PublicKey // who must have sealed the header
	// Height, unless nil, is the block after which the call was requested. AtLeast is a height that the chain is known
	// to have reached.
	Height  *types.Height
	AtLeast types.Height
	Codes   [][]byte  // that the node was asked not to send
	Gas     types.Gas // limit of the execution; 0: DefaultGas
}

// Answer is the result of the call, computed locally.
type Answer struct {
	Header  types.SignedHeader // of the block after which the call was made
	Success bool
	Reason  string // of a failure, as in svc_viewCall; empty on success
	Output  []byte // return or revert data
	GasUsed types.Gas
}

// Step is a step of verification that can refuse a proof.
type Step string

// The steps, in order.
const (
	StepSize    Step = "size"    // it is longer than any valid proof
	StepHeader  Step = "header"  // not a header, of another chain, or not sealed by the producer
	StepHeight  Step = "height"  // the header is not of the requested block, or is too old
	StepWitness Step = "witness" // the values are not those under the header's state root
	StepCode    Step = "code"    // a code is missing, or present but not run
	StepExecute Step = "execute" // the call reads other keys than the proof has
)

// RefusedError is the error of a proof that does not hold.
type RefusedError struct {
	Step Step
	Err  error
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the proof of a view is refused: %s: %v", e.Step, e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(step Step, format string, args ...any) error {
	return &RefusedError{step, fmt.Errorf(format, args...)}
}

// ErrGas is the error of a call that needs more gas than the question allows. The proof may still hold.
var ErrGas = errors.New("the call needs more gas than it may use")

// Verifier makes calls and caches the code that they run. It is safe for concurrent use.
type Verifier struct{ engine *wasm.Engine }

// New returns a verifier. It fails if this machine cannot run contracts.
func New() (*Verifier, error) {
	engine, err := wasm.New(wasm.Options{Bytes: engineBytes})
	return &Verifier{engine}, err
}

// Close releases the cached code.
func (v *Verifier) Close() error { return v.engine.Close() }

// Verify makes the call of a question from the proof that a node returned for it (svc_getViewProof). A failed call is
// an answer, not an error. Errors are a *[RefusedError], [ErrGas], the context's error, and errors of an invalid
// question.
func (v *Verifier) Verify(ctx context.Context, q Question, proof api.ViewProof) (Answer, error) {
	if !slices.Contains(types.Networks(), q.Network) {
		return Answer{}, fmt.Errorf("the request names the network %q", q.Network)
	}
	if err := checkSizes(proof); err != nil {
		return Answer{}, err
	}
	header, err := q.header(proof.Header)
	if err != nil {
		return Answer{}, err
	}
	reads, err := newValues(header.Header.StateRoot, proof)
	if err != nil {
		return Answer{}, err
	}
	codes := newCodes(q.Codes, proof.Codes)
	outcome, err := v.execute(ctx, q, header.Header, reads, codes)
	switch {
	case err != nil:
		return Answer{}, err
	case outcome.Reason == exec.OutOfGas:
		return Answer{}, ErrGas
	}
	if err := codes.allRun(outcome.Loaded()); err != nil {
		return Answer{}, err
	}
	if reads.read < len(reads.known) {
		return Answer{}, refuse(StepExecute, "the proof has %d keys, but the call reads %d",
			len(reads.known), reads.read)
	}
	answer := Answer{
		Header:  header,
		Success: outcome.Reason == exec.Success,
		Output:  outcome.Output,
		GasUsed: outcome.GasUsed,
	}
	if !answer.Success {
		answer.Reason = string(outcome.Reason)
	}
	return answer, nil
}

// checkSizes bounds a proof before any other use of it.
func checkSizes(p api.ViewProof) error {
	values := 0
	for _, v := range p.Values {
		if v.Value != nil {
			values += len(*v.Value)
		}
		if len(v.Key) > mostKeyBytes {
			return refuse(StepSize, "a key of %d bytes", len(v.Key))
		}
	}
	for _, code := range p.Codes {
		if len(code) > types.MaxCodeBytes {
			return refuse(StepSize, "a code of %d bytes", len(code))
		}
	}
	if len(p.Values) > api.MaxViewKeys || values > api.MaxViewValueBytes || len(p.Witness) > api.MaxViewWitnessBytes ||
		len(p.Codes) > api.MaxViewCodes || len(p.Header) != types.SignedHeaderBytes {
		return refuse(StepSize, "%d keys, %d bytes of values, %d of the witness, %d of the header, %d codes",
			len(p.Values), values, len(p.Witness), len(p.Header), len(p.Codes))
	}
	return nil
}

// mostKeyBytes is the length of the longest state key, one of a contract's storage.
const mostKeyBytes = 1 + 32 + types.MaxStorageKeyBytes

// header checks an encoded header.
func (q *Question) header(encoded []byte) (types.SignedHeader, error) {
	signed, err := types.DecodeSignedHeader(encoded)
	h := &signed.Header
	switch {
	case err != nil:
		return signed, &RefusedError{StepHeader, err}
	case !params.Known(h.Version):
		return signed, refuse(StepHeader, "the header has version %d, which this verifier does not know", h.Version)
	case h.ChainID != q.ChainID:
		return signed, refuse(StepHeader, "it belongs to chain %d", h.ChainID)
	case h.Producer != q.Producer:
		return signed, refuse(StepHeader, "the header's producer is %s", h.Producer)
	case !signed.VerifySeal():
		return signed, refuse(StepHeader, "the header's seal is not the producer's")
	case q.Height != nil && h.Height != *q.Height:
		return signed, refuse(StepHeight, "the header is of block %d, not %d", h.Height, *q.Height)
	case h.Height < q.AtLeast:
		return signed, refuse(StepHeight, "the header is of block %d, which is before %d", h.Height, q.AtLeast)
	}
	return signed, nil
}

// execute makes the call on the verified state. It refuses the proof if the call needs anything else.
func (v *Verifier) execute(
	ctx context.Context, q Question, header types.Header, reads *values, codes *codes,
) (exec.Outcome, error) {
	parameters, err := exec.ReadParameters(reads)
	if err != nil {
		return exec.Outcome{}, &RefusedError{StepExecute, err}
	}
	tx := types.SignedTransaction{Transaction: types.Transaction{
		Target:  types.Account(q.Contract),
		ChainID: q.ChainID,
		Payload: types.Call{Function: q.Function, Args: q.Args},
	}}
	intrinsic := fees.IntrinsicGas(&tx)
	room := parameters.GasLimit - min(parameters.GasLimit, intrinsic)
	tx.GasLimit = intrinsic + min(cmp.Or(q.Gas, DefaultGas), room)
	outcome, err := exec.Call(parameters, reads, header, tx, exec.Simulation{
		Machine: exec.Machine{Engine: v.engine, Codes: codes},
		Network: q.Network,
		View:    true,
		Stop:    ctx.Err,
	})
	switch {
	case err == nil:
		return outcome, nil
	case reads.lacks != nil:
		return outcome, &RefusedError{StepExecute, reads.lacks}
	case codes.lacks != nil:
		return outcome, &RefusedError{StepCode, codes.lacks}
	default:
		return outcome, err
	}
}

// values holds the state keys of a proof. As a state.Reader it fails for any other key.
type values struct {
	known map[string]*value
	read  int // number of keys that were read
	lacks error
}

type value struct {
	content []byte
	read    bool
}

// newValues checks a proof's values against its witness.
func newValues(root types.StateRoot, p api.ViewProof) (*values, error) {
	v := &values{known: make(map[string]*value, len(p.Values))}
	shown := make([]tree.KeyValue, len(p.Values))
	for i, given := range p.Values {
		if i > 0 && bytes.Compare(p.Values[i-1].Key, given.Key) >= 0 {
			return nil, refuse(StepWitness, "key %d does not ascend", i)
		}
		shown[i].Key = given.Key
		if given.Value != nil {
			if shown[i].Value = *given.Value; len(shown[i].Value) == 0 {
				return nil, refuse(StepWitness, "value %d is empty instead of null", i)
			}
		}
		v.known[string(given.Key)] = &value{content: shown[i].Value}
	}
	witness, err := tree.DecodeWitness(p.Witness)
	if err == nil {
		err = witness.VerifyReads(root, shown)
	}
	if err != nil {
		return nil, &RefusedError{StepWitness, err}
	}
	return v, nil
}

// Get implements state.Reader.
func (v *values) Get(key []byte) ([]byte, error) {
	found, ok := v.known[string(key)]
	if !ok {
		v.lacks = fmt.Errorf("the call reads the key %x, which is not in the proof", key)
		return nil, v.lacks
	}
	if !found.read {
		found.read = true
		v.read++
	}
	return found.content, nil
}

// codes holds the known and the sent codes, by hash. It implements exec.Codes.
type codes struct {
	byHash map[types.CodeHash][]byte
	sent   []types.CodeHash
	lacks  error
}

func newCodes(known [][]byte, sent []api.Data) *codes {
	c := &codes{byHash: make(map[types.CodeHash][]byte)}
	for _, code := range known {
		c.byHash[sha256.Sum256(code)] = code
	}
	for _, code := range sent {
		hash := types.CodeHash(sha256.Sum256(code))
		c.byHash[hash], c.sent = code, append(c.sent, hash)
	}
	return c
}

// Code implements exec.Codes.
func (c *codes) Code(hash types.CodeHash) ([]byte, error) {
	code, ok := c.byHash[hash]
	if !ok {
		c.lacks = fmt.Errorf("the call runs the code %s, which is not in the proof", hash)
		return nil, c.lacks
	}
	return code, nil
}

// allRun checks that every loaded code is there, and that every sent code was loaded and sent once.
func (c *codes) allRun(loaded []types.CodeHash) error {
	run := make(map[types.CodeHash]bool)
	for _, hash := range loaded {
		run[hash] = true
		if _, err := c.Code(hash); err != nil {
			return &RefusedError{StepCode, err}
		}
	}
	for _, hash := range c.sent {
		if !run[hash] {
			return refuse(StepCode, "the proof has the code %s twice, or the call does not run it", hash)
		}
		run[hash] = false
	}
	return nil
}
