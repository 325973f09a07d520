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

// readTrace is a trace with what the contracts' ABIs say of it.
type readTrace struct {
	*api.Trace
	Root *readCall `json:"root"`
}

// readCall is a call of a [readTrace].
type readCall struct {
	api.TraceCall
	Decoded *decodedCall `json:"decoded,omitempty"` // nil where the contract's ABI does not describe the call
	Calls   []readCall   `json:"calls"`

	abi *abi.ABI // nil of a contract without one
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
	known := map[types.ContractID]*abi.ABI{}
	root, err := s.readCall(ctx, *trace.Root, known)
	return &readTrace{trace, &root}, err
}

func (s *session) readCall(
	ctx context.Context, call api.TraceCall, known map[types.ContractID]*abi.ABI,
) (read readCall, err error) {
	read = readCall{TraceCall: call, Calls: make([]readCall, len(call.Calls))}
	declared, asked := known[call.Contract]
	if !asked && len(known) < maxTracedABIs {
		declared, err = s.client.ContractABI(ctx, call.Contract)
		var answer *client.Error
		if err != nil && !errors.As(err, &answer) { // an answer: there is no such contract, as its deploy failed
			return read, err
		}
		known[call.Contract] = declared
	}
	if declared != nil {
		read.abi = declared
		read.Decoded = decode(*declared, call)
	}
	for i, inner := range call.Calls {
		if read.Calls[i], err = s.readCall(ctx, inner, known); err != nil {
			return read, err
		}
	}
	return read, nil
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
