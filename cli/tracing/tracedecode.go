package tracing

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// maxTracedABIs bounds the number of contracts in a trace whose ABIs are requested. The arguments of others are shown
// undecoded.
const maxTracedABIs = 64

// maxTracedStorage bounds the JSON, in bytes, of decoded storage: an ABI may expand one byte to two thousand.
const maxTracedStorage = 16 << 20

// Trace is a trace decoded by the contracts' ABIs.
type Trace struct {
	*api.Trace
	Root    *readCall      `json:"root"`
	Further []readCall     `json:"further"`
	Sources []tracedSource `json:"sources,omitempty"` // given for source lines
}

// readCall is a call of a [readTrace].
type readCall struct {
	api.TraceCall
	Decoded *decodedCall `json:"decoded,omitempty"` // nil if the contract's ABI does not describe the call
	Storage []readWrite  `json:"storage"`
	Calls   []readCall   `json:"calls"`
	Lines   []StoppedAt  `json:"lines,omitempty"` // source lines of a failure, innermost first, if known

	abi *abi.ABI // nil for a contract without one
}

// readWrite is a write to storage, decoded by the ABI.
type readWrite struct {
	api.TraceWrite
	Decoded *decodedWrite `json:"decoded,omitempty"` // nil if the contract's ABI does not describe the key
}

// decodedWrite is the JSON form of a write to storage. Values that are absent or do not match the type are omitted.
type decodedWrite struct {
	Name  string          `json:"name"`
	Key   json.RawMessage `json:"key,omitempty"` // map key, or list index; absent for a list's length
	Value abi.Type        `json:"type"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`

	cell abi.Cell
}

// decodedCall is the JSON form of a call's input and output, decoded by the ABI from either form.
type decodedCall struct {
	Args   json.RawMessage `json:"args,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *abi.Revert     `json:"error,omitempty"`

	function abi.Function
}

// read requests the ABIs of the contracts in a trace, and decodes the calls.
func read(ctx context.Context, s *session.Session, trace *api.Trace) (*Trace, error) {
	read := &Trace{Trace: trace, Further: []readCall{}}
	if trace == nil || trace.Root == nil {
		return read, nil
	}
	reader := traceReader{s.Client, map[types.ContractID]*abi.ABI{}, maxTracedStorage}
	root, err := reader.call(ctx, *trace.Root)
	if err != nil {
		return read, err
	}
	read.Root = &root
	for _, call := range trace.Further {
		further, err := reader.call(ctx, call)
		if err != nil {
			return read, err
		}
		read.Further = append(read.Further, further)
	}
	return read, nil
}

// roots returns the calls of the transaction: at most one, or those of a batch's steps.
func (t *Trace) roots() []*readCall {
	if t.Root == nil {
		return nil
	}
	calls := []*readCall{t.Root}
	for i := range t.Further {
		calls = append(calls, &t.Further[i])
	}
	return calls
}

// traceReader reads the calls of a trace.
type traceReader struct {
	client *client.Client
	known  map[types.ContractID]*abi.ABI
	left   int // remaining part of maxTracedStorage
}

func (r *traceReader) call(ctx context.Context, call api.TraceCall) (read readCall, err error) {
	read = readCall{
		TraceCall: call,
		Storage:   make([]readWrite, len(call.Storage)),
		Calls:     make([]readCall, len(call.Calls)),
	}
	declared, asked := r.known[call.Contract]
	if !asked && len(r.known) < maxTracedABIs {
		declared, err = r.client.ContractABI(ctx, call.Contract)
		var answer *client.Error
		if err != nil && !errors.As(err, &answer) { // an answer: no such contract, as its deploy failed
			return read, err
		}
		r.known[call.Contract] = declared
	}
	if declared != nil {
		read.abi = declared
		read.Decoded = decode(*declared, call)
	}
	for i, w := range call.Storage {
		read.Storage[i] = readWrite{TraceWrite: w}
		if declared != nil && r.left > 0 {
			read.Storage[i].Decoded = r.write(*declared, w)
		}
	}
	for i, inner := range call.Calls {
		if read.Calls[i], err = r.call(ctx, inner); err != nil {
			return read, err
		}
	}
	return read, nil
}

// write decodes a write to storage by its contract's ABI. It returns nil for a key that the ABI does not describe.
func (r *traceReader) write(declared abi.ABI, w api.TraceWrite) *decodedWrite {
	slot, ok := declared.Slot(w.Key)
	if !ok {
		return nil
	}
	value := func(data []byte) json.RawMessage {
		if len(data) == 0 { // the value was or is absent
			return nil
		}
		read, err := declared.Stored(slot.Value, data)
		if err != nil {
			return nil
		}
		return read
	}
	d := &decodedWrite{
		Name:  slot.Cell.Name,
		Key:   slot.Key,
		Value: slot.Value,
		Old:   value(w.Old),
		New:   value(w.New),
		cell:  slot.Cell,
	}
	r.left -= len(d.Key) + len(d.Old) + len(d.New)
	return d
}

// decode decodes a call by its contract's ABI. Parts that do not match are omitted.
func decode(declared abi.ABI, call api.TraceCall) *decodedCall {
	function, ok := declared.Function(call.Function)
	if !ok {
		return nil
	}
	d := &decodedCall{function: function}
	if args, err := declared.DecodeArguments(function.Args, call.Args); err == nil {
		d.Args = args
	}
	switch {
	case call.Error != nil && len(call.Output) > 0:
		d.Error = new(declared.Revert(call.Output))
	case call.Error == nil:
		if result, err := declared.Result(function, call.Output); err == nil {
			d.Result = result
		}
	}
	return d
}
