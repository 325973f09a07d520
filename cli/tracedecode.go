package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// maxTracedABIs bounds the contracts of a trace whose ABIs are asked for; what others were given is shown as it is.
const maxTracedABIs = 64

// maxTracedStorage bounds the JSON, in bytes, of what is read in storage: an ABI may have two thousand for one byte.
const maxTracedStorage = 16 << 20

// readTrace is a trace with what the contracts' ABIs say of it.
type readTrace struct {
	*api.Trace
	Root    *readCall      `json:"root"`
	Sources []tracedSource `json:"sources,omitempty"` // that were given for its lines
}

// readCall is a call of a [readTrace].
type readCall struct {
	api.TraceCall
	Decoded *decodedCall `json:"decoded,omitempty"` // nil where the contract's ABI does not describe the call
	Storage []readWrite  `json:"storage"`
	Calls   []readCall   `json:"calls"`
	Lines   []stoppedAt  `json:"lines,omitempty"` // where it failed, the innermost first, if a source says it

	abi *abi.ABI // nil of a contract without one
}

// readWrite is a write to storage with what the ABI says of it.
type readWrite struct {
	api.TraceWrite
	Decoded *decodedWrite `json:"decoded,omitempty"` // nil where the contract's ABI does not describe the key
}

// decodedWrite is a write to storage in JSON by the ABI. A value that is not of the type, or absent, is left out.
type decodedWrite struct {
	Name  string          `json:"name"`
	Key   json.RawMessage `json:"key,omitempty"` // of a map; of a list the index, none of its length
	Value abi.Type        `json:"type"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`

	cell abi.Cell
}

// decodedCall is what a call was given and gave, in JSON by the ABI, whichever form it was sent in.
type decodedCall struct {
	Args   json.RawMessage `json:"args,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *abi.Revert     `json:"error,omitempty"`

	function abi.Function
}

// readTrace asks the node for the ABIs of the contracts of a trace, and reads what they describe.
func (s *session) readTrace(ctx context.Context, trace *api.Trace) (*readTrace, error) {
	if trace == nil || trace.Root == nil {
		return &readTrace{Trace: trace}, nil
	}
	reader := traceReader{s.client, map[types.ContractID]*abi.ABI{}, maxTracedStorage}
	root, err := reader.call(ctx, *trace.Root)
	return &readTrace{Trace: trace, Root: &root}, err
}

// traceReader reads the calls of a trace.
type traceReader struct {
	client *client.Client
	known  map[types.ContractID]*abi.ABI
	left   int // of maxTracedStorage
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
		if err != nil && !errors.As(err, &answer) { // an answer: there is no such contract, as its deploy failed
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

// write reads a write to storage by its contract's ABI; nil of a key that it does not describe.
func (r *traceReader) write(declared abi.ABI, w api.TraceWrite) *decodedWrite {
	slot, ok := declared.Slot(w.Key)
	if !ok {
		return nil
	}
	value := func(data []byte) json.RawMessage {
		if len(data) == 0 { // there was nothing, or is nothing any more
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

// decode reads a call by its contract's ABI; what does not fit it is left out.
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
		revert := declared.Revert(call.Output)
		d.Error = &revert
	case call.Error == nil:
		if result, err := declared.Result(function, call.Output); err == nil {
			d.Result = result
		}
	}
	return d
}
