package api

import (
	"slices"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// The node's error codes. Those that JSON-RPC 2.0 defines, and the code of a passed limit, are in package jsonrpc.
const (
	CodeUndecodable     = -32001
	CodeNotAuthentic    = -32002
	CodeNonce           = -32003
	CodeCannotPay       = -32004
	CodeFeeTooLow       = -32005
	CodeAlreadyKnown    = -32006
	CodeMempoolFull     = -32007
	CodeGasLimit        = -32008
	CodeNotAllowed      = -32009
	CodeExecutionFailed = -32010
	CodeNoContract      = -32011
	CodeModuleRefused   = -32012
	CodeSetAside        = -32013
	CodeProofNotReady   = -32020
	CodePruned          = -32021
	CodeReadOnly        = -32030
	CodeHalted          = -32031
)

func reason(code int, reason, message string) *jsonrpc.Error {
	return jsonrpc.NewError(code, message, "reason", reason)
}

// Errors of a parameter, all of code -32602 with the parameter's name in data.param.
var (
	// ErrBadAccount: neither an address nor a public key; data.expectedPrefix is that of the node's addresses.
	ErrBadAccount = reason(jsonrpc.CodeInvalidParams, "bad_account",
		"an account is a taproot address or a public key in hex")
	// ErrBadAddress: no address of any network.
	ErrBadAddress = reason(jsonrpc.CodeInvalidParams, "bad_address",
		"an address is bech32m of witness version 1 with the prefix bcrt, bc or tb")
	// ErrUnknownWord: a word that the member data.member of a filter does not have.
	ErrUnknownWord = reason(jsonrpc.CodeInvalidParams, "unknown_word", "the filter has a word that is not known")
	// ErrUnknownTopic: a subscription to none of data.topics.
	ErrUnknownTopic = reason(jsonrpc.CodeInvalidParams, "unknown_topic", "there is no such topic")
	// ErrTooLong: the member data.member of a filter is longer than data.max bytes.
	ErrTooLong = reason(jsonrpc.CodeInvalidParams, "too_long", "a member of the filter is too long")
	// ErrWrongNetwork: an address of another network; data.expectedPrefix is the node's.
	ErrWrongNetwork = reason(jsonrpc.CodeInvalidParams, "wrong_network", "the address belongs to another network")
	// ErrAboveHead: a block above the head was asked; data.max is the head's height. data.member of a filter names the end
	// of a range.
	ErrAboveHead = reason(jsonrpc.CodeInvalidParams, "above_head", "the chain has no such block yet")
	// ErrOutOfRange: a limit, count or end of a range outside data.min and data.max.
	ErrOutOfRange = reason(jsonrpc.CodeInvalidParams, "out_of_range", "a number is out of its range")
	// ErrBadCursor: a cursor that no answer of this method has given.
	ErrBadCursor = reason(jsonrpc.CodeInvalidParams, "bad_cursor", "the cursor is not one that this method gave")
	// ErrNoSnapshot: dev_revert of an id that is not a snapshot, or no longer.
	ErrNoSnapshot = reason(jsonrpc.CodeInvalidParams, "no_snapshot", "there is no such snapshot")
)

// Errors of a transaction that is sent, called or estimated.
var (
	// ErrUndecodable: the bytes are not the canonical encoding of a transaction, or too many.
	ErrUndecodable = reason(CodeUndecodable, "undecodable", "the transaction does not decode")
	// ErrBadSignature: the signature is not the sender's.
	ErrBadSignature = reason(CodeNotAuthentic, "bad_signature", "the signature is not valid for the sender")
	// ErrWrongChain: signed for another chain; data.chainId is this one's.
	ErrWrongChain = reason(CodeNotAuthentic, "wrong_chain", "the transaction is for another chain")
	// ErrNonceTooLow: the nonce is used already.
	ErrNonceTooLow = reason(CodeNonce, "nonce_too_low", "the nonce is used already")
	// ErrNonceTooHigh: the nonce is further ahead than the pool holds transactions for: data.limit nonces.
	ErrNonceTooHigh = reason(CodeNonce, "nonce_too_high", "the nonce is too far ahead")
	// ErrHeld: of the sender's transactions as many wait for an earlier nonce already as may, data.limit.
	ErrHeld = reason(CodeNonce, "held", "too many of the sender's transactions wait for an earlier nonce")
	// ErrDisplaced: the transaction that is waited for, data.hash, will never be in a block, as a block has data.by with its
	// sender and nonce.
	ErrDisplaced = reason(CodeNonce, "displaced", "another transaction has used the nonce: this one will never be in a block")
	// ErrDropped: the transaction that is waited for, data.hash, has left the pool without a block, as data.cause says with
	// a word of [TransactionStatus]. It may be sent again, as it is.
	ErrDropped = reason(CodeMempoolFull, "dropped", "the transaction has left the mempool, and no block has it")
	// ErrCannotPay: the balance is under value + gas limit × max fee, or what the sender's earlier pending transactions
	// leave of it is. data.balance is the balance after the latest block, and data.reserved what data.pending earlier
	// transactions may take of it. This transaction may take data.needed, and so needed − (balance − reserved) is missing.
	ErrCannotPay = reason(CodeCannotPay, "cannot_pay", "the sender's balance is under value + gas limit × max fee")
	// ErrFeeTooLow: the max fee is under the lowest base fee that the parameters allow, data.minBaseFee.
	ErrFeeTooLow = reason(CodeFeeTooLow, "fee_too_low", "the max fee is under the lowest base fee")
	// ErrReplacementUnderpriced: a pending transaction is replaced only by one whose fees are both 10 % higher.
	ErrReplacementUnderpriced = reason(CodeFeeTooLow, "replacement_underpriced",
		"a replacement must raise both fees by a tenth")
	// ErrAlreadyKnown: the very transaction is pending or included.
	ErrAlreadyKnown = reason(CodeAlreadyKnown, "already_known", "the transaction is known already")
	// ErrMempoolFull: the pool has no room for the transaction's class, which data.class names as [MempoolClass] does;
	// data.retryAfterSeconds says when to try again.
	ErrMempoolFull = reason(CodeMempoolFull, "mempool_full", "the mempool is full")
	// ErrNotWritten: the pool takes nothing at present, as it cannot write down what it takes; data.retryAfterSeconds says
	// when to try again.
	ErrNotWritten = jsonrpc.NewError(CodeMempoolFull, "the node cannot write transactions down: its disk is full or fails",
		"reason", "storage", "retryAfterSeconds", 10)
	// ErrIntrinsicGas: the gas limit is under what the transaction costs before it runs.
	ErrIntrinsicGas = reason(CodeGasLimit, "intrinsic_gas", "the gas limit is under the transaction's intrinsic gas")
	// ErrGasOverBlock: the gas limit is over a block's.
	ErrGasOverBlock = reason(CodeGasLimit, "gas_over_block", "the gas limit is over the block's")
	// ErrPriorityOverMax: the priority fee is over the max fee.
	ErrPriorityOverMax = reason(CodeNotAllowed, "priority_over_max", "the priority fee is over the max fee")
	// ErrSenderIsContract: the sender has code.
	ErrSenderIsContract = reason(CodeNotAllowed, "sender_is_contract", "a contract cannot send transactions")
	// ErrBadVersion: an unknown version of the transaction's layout.
	ErrBadVersion = reason(CodeNotAllowed, "bad_version", "the transaction's version is unknown")
	// ErrNotProducer: only the producer changes the parameters.
	ErrNotProducer = reason(CodeNotAllowed, "not_producer", "only the producer may change the parameters")
	// ErrBadParameters: the new parameters break a rule.
	ErrBadParameters = reason(CodeNotAllowed, "bad_parameters", "the new parameters are not valid")
	// ErrFieldTooLong: data.member, the name, function or arguments, is over data.limit bytes.
	ErrFieldTooLong = reason(CodeNotAllowed, "field_too_long", "the name, the function or the arguments are too long")
	// ErrCodeTooLong: a deploy's code is over its limit.
	ErrCodeTooLong = reason(CodeModuleRefused, "code_too_long", "the contract's code is too long")
	// ErrReadOnly: this node does not take transactions; data.primary is where one may be sent to. A producer that has
	// handed over and follows no other does not know where.
	ErrReadOnly = reason(CodeReadOnly, "read_only", "this node is read-only")
	// ErrNoPrimary: this node hands transactions to data.primary, which does not answer. The transaction may have arrived
	// there: sending it again is safe.
	ErrNoPrimary = reason(CodeReadOnly, "primary_unreachable", "this node is read-only, and the primary cannot be reached")
	// ErrExecutionFailed: the transaction ran and failed. data.reason says how, data.gasUsed and data.revertData what
	// it left. This sentinel matches every reason.
	ErrExecutionFailed = jsonrpc.NewError(CodeExecutionFailed, "the execution failed")
	// ErrInsufficientBalance: the sender of a call or an estimate cannot cover its value.
	ErrInsufficientBalance = reason(CodeExecutionFailed, "insufficient_balance", "the sender's balance is under the value")
)

// Errors of the node's state.
var (
	// ErrPruned: the node no longer keeps the blocks and states that what is asked may be in; data.oldestHeight is the
	// oldest height that it has.
	ErrPruned = reason(CodePruned, "pruned", "this node does not keep that height any more")
	// ErrNoState: the node keeps no state of any height, because it verifies blocks by their proofs.
	ErrNoState = reason(CodePruned, "stateless", "this node keeps no state: it verifies blocks by their proofs")
	// ErrProofNotReady: the block waits for its proof; data.status is queued or proving, data.position how many blocks
	// come before it.
	ErrProofNotReady = jsonrpc.NewError(CodeProofNotReady, "the proof is not ready", "reason", "proof_not_ready")
	// ErrProofNotStored: the node has no proof of the block and will not have one; data.oldest and data.newest are the
	// blocks that it has proofs of, if any.
	ErrProofNotStored = jsonrpc.NewError(
		CodeProofNotReady, "the proof is not stored here", "reason", "proof_not_stored", "status", "not_stored",
	)
	// ErrHalted: the node takes no more blocks, because of what data.cause names; data.height is the last verified
	// block's. State at that height and those before is served where the call names the height. A producer that has halted
	// refuses transactions with it.
	ErrHalted = reason(CodeHalted, "halted", "the node has halted: its latest state is not the chain's any more")
	// ErrProofWindow: too much was written since that height to prove it; data.oldestHeight is the oldest that can be
	// proved.
	ErrProofWindow = reason(CodePruned, "proof_window", "too much was written since that height to prove its state")
	// ErrTimeUp: the answer did not come in time; data.hash of a transaction that was accepted.
	ErrTimeUp = reason(jsonrpc.CodeLimit, "time", "the time for the call is up")
)

// Errors of calls to contracts.
var (
	// ErrNoContract: there is no contract of that ID.
	ErrNoContract = reason(CodeNoContract, "no_such_contract", "there is no such contract")
	// ErrNoCode: this node has no code of that hash.
	ErrNoCode = reason(CodeNoContract, "no_such_code", "there is no such code here")
	// ErrModuleRefused: the code of a deploy breaks a rule, which data.detail names.
	ErrModuleRefused = reason(CodeModuleRefused, "module_refused", "the contract's code is refused")
	// ErrQuarantined: this node does not run the contract's code, because its engine failed on it. Others may.
	ErrQuarantined = reason(
		CodeSetAside, "quarantined", "this node does not run the contract's code: its engine failed on it",
	)
	// ErrOverran: a transaction of the sender, or to the code that is called, took far longer than its gas says;
	// data.retryAfterSeconds says when others are taken.
	ErrOverran = reason(
		CodeSetAside, "overran", "a transaction of this sender or to this code took far too long: others are taken later",
	)
	// ErrEngineFailed: the node's engine failed while it ran a contract, which is a fault of the node.
	ErrEngineFailed = reason(CodeSetAside, "engine_failed", "the node's engine failed while it ran the contract")
	// ErrNoToken: the contract does not answer as a NEP-20 token does; data.function is what it was asked.
	ErrNoToken = reason(CodeExecutionFailed, "no_token", "the contract does not answer as a NEP-20 token")
	// ErrViewCalls: more calls in one than data.limit.
	ErrViewCalls = jsonrpc.NewError(
		jsonrpc.CodeLimit, "too many view calls in one", "reason", "view_calls", "limit", MaxViewCalls,
	)
	// ErrViewSize: a view call reads or runs more than can be sent with its proof: 1,024 keys, 1 MiB of values and of
	// witness, 8 codes.
	ErrViewSize = reason(jsonrpc.CodeLimit, "view_size", "the view call reads or runs too much for a proof")
	// ErrBusy: the node has no room for the work at present.
	ErrBusy = reason(jsonrpc.CodeLimit, "busy", "the node is busy with other calls")
)

// Bounds of the gas of calls that are not sent.
var (
	// ErrViewGas: a call that is not sent needs more gas than it may use, data.limit.
	ErrViewGas = reason(jsonrpc.CodeLimit, "view_gas", "the call needs more gas than a call may use")
	// ErrRequestGas: the other calls of the same request left too little of its gas, data.limit. The call did not run, or
	// not to its end: it may be asked again in a request with fewer calls.
	ErrRequestGas = reason(jsonrpc.CodeLimit, "request_gas",
		"the calls of one request need more gas than a request may use: ask in smaller requests")
)

// admissionErrors are those of a transaction that is offered to the pool.
var admissionErrors = []*jsonrpc.Error{
	ErrUndecodable, ErrBadSignature, ErrWrongChain, ErrNonceTooLow, ErrNonceTooHigh, ErrHeld, ErrCannotPay, ErrFeeTooLow,
	ErrReplacementUnderpriced, ErrAlreadyKnown, ErrMempoolFull, ErrNotWritten, ErrIntrinsicGas, ErrGasOverBlock,
	ErrPriorityOverMax,
	ErrSenderIsContract, ErrBadVersion, ErrNotProducer, ErrBadParameters, ErrFieldTooLong, ErrCodeTooLong, ErrReadOnly,
	ErrNoPrimary, ErrHalted, ErrBusy, ErrQuarantined, ErrOverran,
}

// with returns errors and one more in a slice of their own.
func with(errors []*jsonrpc.Error, more ...*jsonrpc.Error) []*jsonrpc.Error {
	return append(slices.Clone(errors), more...)
}

// callErrors are those of a transaction that is run without being sent.
var callErrors = []*jsonrpc.Error{
	ErrUndecodable, ErrBadSignature, ErrWrongChain, ErrIntrinsicGas, ErrGasOverBlock, ErrSenderIsContract,
	ErrBadVersion, ErrNotProducer, ErrBadParameters, ErrFieldTooLong, ErrCodeTooLong, ErrExecutionFailed,
	ErrInsufficientBalance, ErrNoContract, ErrModuleRefused, ErrViewGas, ErrRequestGas, ErrTimeUp, ErrHalted,
	ErrNoState, ErrQuarantined, ErrEngineFailed,
}

// proofErrors are those of a proof.
var proofErrors = []*jsonrpc.Error{ErrAboveHead, ErrPruned, ErrProofWindow, ErrTimeUp, ErrHalted, ErrNoState}

// viewErrors are those of a view call.
var viewErrors = []*jsonrpc.Error{
	ErrNoContract, ErrExecutionFailed, ErrFieldTooLong, ErrViewGas, ErrRequestGas, ErrTimeUp, ErrAboveHead, ErrPruned,
	ErrHalted, ErrNoState, ErrQuarantined, ErrEngineFailed,
}

// commonErrors are those that any method may fail with: package jsonrpc gives them, or what stands before it.
var commonErrors = []*jsonrpc.Error{
	reason(jsonrpc.CodeInvalidParams, "missing", "a parameter or a member of one is missing"),
	reason(jsonrpc.CodeInvalidParams, "malformed", "a parameter is malformed"),
	reason(jsonrpc.CodeInvalidParams, "wrong_type", "a parameter or a member of one has the wrong type"),
	reason(jsonrpc.CodeInvalidParams, "unknown", "there is no such parameter or member"),
	reason(jsonrpc.CodeInvalidParams, "duplicate", "a parameter or a member of one is there twice"),
	reason(jsonrpc.CodeInvalidParams, "too_many", "there are more parameters, or more items in one, than are taken"),
	jsonrpc.NewError(jsonrpc.CodeInternal, "the call failed unexpectedly"),
	ErrTimeUp, ErrBusy,
	reason(jsonrpc.CodeLimit, "rate", "too many calls"),
	reason(jsonrpc.CodeLimit, "response_size", "the response is too large"),
}

// CommonErrors are those that any method may fail with.
func CommonErrors() []*jsonrpc.Error { return slices.Clone(commonErrors) }

// withCommon is a method's own errors and those of all methods, each once.
func withCommon(own []*jsonrpc.Error) []*jsonrpc.Error {
	all := slices.Clone(own)
	for _, e := range commonErrors {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}
