package api

import "github.com/cairn-chain/cairn/types"

// TraceTransaction traces an included transaction.
var (
	TraceTransaction = define[TraceParams, *Trace]("svc_traceTransaction",
		"A trace of an included transaction's calls, from executing it again; null if it is not included, pruned if "+
			"this node lacks blocks and cannot know.",
		ErrPruned, ErrBusy, ErrTimeUp, ErrNoState)
	TraceUnsent = define[TraceUnsentParams, *Trace]("svc_traceCall",
		"What a transaction would do on the latest state, call by call, without sending it, even if it fails. It "+
			"has the gas of svc_call; nonce and fees are not checked.",
		callErrors...)
)

// TraceUnsentParams are the parameters of [TraceUnsent].
type TraceUnsentParams struct {
	Transaction LooseData `json:"transaction" doc:"bincode(SignedTransaction), or its unsigned form, without the witnesses"`
	View        bool      `json:"view" jsonrpc:"optional" doc:"whether to make its call in view context, like svc_viewCall; false by default"`
	Places      bool      `json:"places" jsonrpc:"optional" doc:"whether to say where in their code calls failed, which compiles the codes again; false by default"`
}

// TraceParams are the parameters of [TraceTransaction].
type TraceParams struct {
	Hash   types.TxID `json:"hash" doc:"the transaction's hash"`
	Places bool       `json:"places" jsonrpc:"optional" doc:"whether to say where in their code calls failed, which compiles the codes again; false by default"`
}

// Trace lists the calls that a transaction made or would make. It is the result of [TraceTransaction] and
// [TraceUnsent].
type Trace struct {
	GasUsed Quantity `json:"gasUsed" doc:"the gas that the transaction used"`
	Status  Status   `json:"status" doc:"success or failed"`
	Error   *string  `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	// Parts plus the GasUsed of Root and Further equal GasUsed.
	Parts     map[string]Quantity `json:"parts" doc:"the transaction's own gas by parts other than 0: intrinsic, code, new_contract, call, instance, new_account, forfeited. With the gasUsed of root and further they add up to gasUsed"`
	Root      *TraceCall          `json:"root" doc:"the call that it made, or the first one of a batch; null if no contract ran"`
	Further   []TraceCall         `json:"further" doc:"the calls of a batch's steps after the first call, in their order"`
	Truncated bool                `json:"truncated" doc:"whether later storage, events and messages were left out for their size"`
}

// TraceCall is a call of a contract in a [Trace]. Effects of a failed call are included, although they are undone.
type TraceCall struct {
	Contract types.ContractID    `json:"contract" doc:"the contract"`
	CodeHash types.CodeHash      `json:"codeHash" doc:"the SHA-256 of its code"`
	Function string              `json:"function" doc:"the function's name"`
	Args     Data                `json:"args" doc:"the arguments"`
	Value    Quantity            `json:"value" doc:"the native amount that came with the call"`
	Gas      Quantity            `json:"gas" doc:"the gas that it could use"`
	GasUsed  Quantity            `json:"gasUsed" doc:"the gas that it used, the calls below included"`
	Output   Data                `json:"output" doc:"the call's output, or its revert data"`
	Error    *string             `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	Cause    *TrapCause          `json:"cause" doc:"if it trapped, what at; null otherwise"`
	HostGas  map[string]Quantity `json:"hostGas" doc:"the gas that host functions took by their names, without that of the calls below"`
	// Parts, HostGas and BelowGas add up to GasUsed.
	Parts    map[string]Quantity `json:"parts" doc:"its other gas by parts other than 0: instructions, memory (memory.grow), instance (of its calls), new_account, forfeited (by a trap or an unpaid price). With hostGas and belowGas they add up to gasUsed"`
	BelowGas Quantity            `json:"belowGas" doc:"the gas that the calls below it used, those that are left out included"`
	Storage  []TraceWrite        `json:"storage" doc:"the call's writes to its storage, in order"`
	Events   []TraceEvent        `json:"events" doc:"the events that the call emitted, in order"`
	Debug    []string            `json:"debug" doc:"the call's messages by the host function debug, in order"`
	Calls    []TraceCall         `json:"calls" doc:"the calls that it made, in order"`
	Caller   types.Account       `json:"caller" doc:"the calling account"`
	View     bool                `json:"view" doc:"whether it ran in view context"`
	// A recursive function appears in StoppedAt only once.
	StoppedAt []TracePlace `json:"stoppedAt" doc:"if it failed and places were requested: where its active functions stood, the innermost first; empty if its code is too large"`
}

// TrapCause is the cause of a trap in a contract's code. [CauseText] formats it for people.
type TrapCause struct {
	Name  string `json:"name" doc:"unreachable, memory (a range outside of it), division (by zero, or an overflow), indirect_call (no function, or another type), utf8 (a name that is not), topics (over three), or an argument of a host function that is too long: result_size, arguments_size, function_size, key_size, value_size, event_name_size, event_data_size, debug_size"`
	Limit uint64 `json:"limit" doc:"the maximum number of bytes; 0 for other causes"`
}

// TracePlace is the position of a function in a contract's code.
type TracePlace struct {
	Function uint64 `json:"function" doc:"its number among the functions that the code defines, from 0"`
	Offset   uint64 `json:"offset" doc:"the byte in the deployed code: an instruction that calls or may trap, or the beginning of a block"`
}

// TraceWrite is a write to storage in a [TraceCall].
type TraceWrite struct {
	Key Data `json:"key" doc:"the storage key"`
	Old Data `json:"old" doc:"the value before; 0x if there was none"`
	New Data `json:"new" doc:"the value after; 0x if it was deleted"`
}

// TraceEvent is an event in a [TraceCall].
type TraceEvent struct {
	Name   string         `json:"eventName" doc:"the event's name"`
	Topics []types.Digest `json:"topics" doc:"its own topics"`
	Data   Data           `json:"data" doc:"its data"`
}
