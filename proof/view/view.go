// Package view makes a view call again on what a node says that it reads, and believes none of it. A Merkle witness
// shows each value, or its absence, under the state root of a header that the chain's producer sealed. The state has
// the hashes of the codes (docs/protocol.md, "Proofs of views").
//
// It is not shown that the key is the producer's, which is for the caller to know. Nor is it shown that the block is
// the newest, or that the producer executed rightly; a replica or a block's proof shows that.
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

// DefaultGas is the execution gas of a call where a question names none: about a fifth of a second.
const DefaultGas types.Gas = 200_000_000

// engineBytes bounds what a verifier keeps of codes that it ran.
const engineBytes = 64 << 20

// Question is a view call, and what is known of its chain.
type Question struct {
	Contract types.ContractID
	Function string
	Args     []byte

	ChainID  uint64
	Network  types.Network   // of the chain's genesis; it is in the texts that a call may verify
	Producer types.PublicKey // who must have sealed the header
	// Height, unless nil, is the block after which the call was asked for; AtLeast is a block that is known to be there.
	Height  *types.Height
	AtLeast types.Height
	Codes   [][]byte  // that the node was told not to send
	Gas     types.Gas // that the execution may use; 0: DefaultGas
}

// Answer is what the call gives, computed here.
type Answer struct {
	Header  types.SignedHeader // of the block after which it is true
	Success bool
	Reason  string // why it failed, as svc_viewCall says; empty for a success
	Output  []byte // what it returned, or its revert data
	GasUsed types.Gas
}

// Step is what a proof is refused by. They are in the order in which they are taken.
type Step string

// The steps.
const (
	StepSize    Step = "size"    // it is longer than any true one
	StepHeader  Step = "header"  // it is no header, of another chain, or not sealed by the producer
	StepHeight  Step = "height"  // the header is not of the block that was asked for, or is too old
	StepWitness Step = "witness" // the values are not those under the header's state root
	StepCode    Step = "code"    // a code lacks, or is there and not run
	StepExecute Step = "execute" // the call reads other keys than those that are shown
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

// Unwrap is why.
func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(step Step, format string, args ...any) error {
	return &RefusedError{step, fmt.Errorf(format, args...)}
}

// ErrGas is the error of a call that needs more gas than the question allows. It says nothing of the proof.
var ErrGas = errors.New("the call needs more gas than it may use")

// Verifier makes calls. It keeps codes that it ran ready to run again, and is safe for concurrent use.
type Verifier struct{ engine *wasm.Engine }

// New makes a verifier. It fails if the machine cannot run contracts.
func New() (*Verifier, error) {
	engine, err := wasm.New(wasm.Options{Bytes: engineBytes})
	return &Verifier{engine}, err
}

// Close frees what the verifier keeps.
func (v *Verifier) Close() error { return v.engine.Close() }

// Verify makes the call of a question on the proof that a node gave for it (svc_getViewProof). A failure of the call is
// an answer. Errors are a *[RefusedError], [ErrGas], the context's, and those of a question that no call can be.
func (v *Verifier) Verify(ctx context.Context, q Question, proof api.ViewProof) (Answer, error) {
	if !slices.Contains(types.Networks(), q.Network) {
		return Answer{}, fmt.Errorf("the question names the network %q", q.Network)
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
		return Answer{}, refuse(StepExecute, "%d keys are shown and %d are read", len(reads.known), reads.read)
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

// checkSizes bounds a proof before anything is done with it.
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

// mostKeyBytes is the longest state key: of a contract's storage.
const mostKeyBytes = 1 + 32 + types.MaxStorageKeyBytes

// header checks an encoded header.
func (q *Question) header(encoded []byte) (types.SignedHeader, error) {
	signed, err := types.DecodeSignedHeader(encoded)
	h := &signed.Header
	switch {
	case err != nil:
		return signed, &RefusedError{StepHeader, err}
	case !params.Known(h.Version):
		return signed, refuse(StepHeader, "it is of version %d, which this verifier does not know", h.Version)
	case h.ChainID != q.ChainID:
		return signed, refuse(StepHeader, "it is of chain %d", h.ChainID)
	case h.Producer != q.Producer:
		return signed, refuse(StepHeader, "its producer is %s", h.Producer)
	case !signed.VerifySeal():
		return signed, refuse(StepHeader, "its seal is not the producer's")
	case q.Height != nil && h.Height != *q.Height:
		return signed, refuse(StepHeight, "it is of block %d, not %d", h.Height, *q.Height)
	case h.Height < q.AtLeast:
		return signed, refuse(StepHeight, "it is of block %d, before %d", h.Height, q.AtLeast)
	}
	return signed, nil
}

// execute makes the call on what was verified. What it asks for beyond that refuses the proof.
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

// values are the state keys that a proof shows. It is a state.Reader: a key that is not there is a fault.
type values struct {
	known map[string]*value
	read  int // how many were
	lacks error
}

type value struct {
	content []byte
	read    bool
}

// newValues checks a proof's values by its witness.
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
				return nil, refuse(StepWitness, "value %d is empty, and not null", i)
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
		v.lacks = fmt.Errorf("the key %x is read and not shown", key)
		return nil, v.lacks
	}
	if !found.read {
		found.read = true
		v.read++
	}
	return found.content, nil
}

// codes are those that are known or given, by hash. It is an exec.Codes.
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
		c.lacks = fmt.Errorf("the code %s is run and not there", hash)
		return nil, c.lacks
	}
	return code, nil
}

// allRun holds the codes to those that were loaded: none that the verifier keeps may lack, none be sent in vain.
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
			return refuse(StepCode, "the code %s is sent, and not run or sent twice", hash)
		}
		run[hash] = false
	}
	return nil
}
