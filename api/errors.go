package api

import (
	"slices"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// The node's error codes. Package jsonrpc has those defined by JSON-RPC 2.0 and the code for exceeded limits.
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

// Errors of a parameter. All have code -32602, with the parameter's name in data.param.
var (
	// ErrBadAccount is returned for a text that is neither an address nor a public key. data.expectedPrefix is the
	// prefix of the node's addresses.
	ErrBadAccount = reason(jsonrpc.CodeInvalidParams, "bad_account",
		"an account must be a taproot address or a public key in hex")
	// ErrBadAddress is returned for a text that is not an address of any network.
	ErrBadAddress = reason(jsonrpc.CodeInvalidParams, "bad_address",
		"an address must be bech32m of witness version 1 with the prefix bcrt, bc or tb")
	// ErrUnknownWord is returned for an unknown word in the member data.member of a filter.
	ErrUnknownWord = reason(jsonrpc.CodeInvalidParams, "unknown_word", "the filter contains an unknown word")
	// ErrUnknownTopic is returned for a topic that is not in data.topics.
	ErrUnknownTopic = reason(jsonrpc.CodeInvalidParams, "unknown_topic", "unknown topic")
	// ErrTooLong is returned if the member data.member of a filter exceeds data.max bytes.
	ErrTooLong = reason(jsonrpc.CodeInvalidParams, "too_long", "a member of the filter is too long")
	// ErrWrongNetwork is returned for an address of another network. data.expectedPrefix is the prefix of the node's
	// addresses.
	ErrWrongNetwork = reason(jsonrpc.CodeInvalidParams, "wrong_network", "the address belongs to another network")
	// ErrAboveHead is returned for a block above the head. data.max is the height of the head. data.member, for a
	// filter, names the end of the range that is above it.
	ErrAboveHead = reason(jsonrpc.CodeInvalidParams, "above_head", "the chain has no such block yet")
	// ErrOutOfRange is returned for a limit, count or end of a range that is not between data.min and data.max.
	ErrOutOfRange = reason(jsonrpc.CodeInvalidParams, "out_of_range", "a number is out of range")
	// ErrBadCursor is returned for a cursor that this method did not return.
	ErrBadCursor = reason(jsonrpc.CodeInvalidParams, "bad_cursor", "the cursor was not returned by this method")
	// ErrNoSnapshot is returned by dev_revert for an id that is not, or no longer, a snapshot.
	ErrNoSnapshot = reason(jsonrpc.CodeInvalidParams, "no_snapshot", "there is no such snapshot")
)

// Errors of a transaction to send, call or estimate.
var (
	// ErrUndecodable is returned for bytes that are not the canonical encoding of a transaction, or that are too long.
	ErrUndecodable = reason(CodeUndecodable, "undecodable", "cannot decode the transaction")
	// ErrBadSignature is returned if a witness does not show that the sender, or the payer, signed: a signature is false,
	// or there are more or fewer of them than the policy asks for.
	ErrBadSignature = reason(CodeNotAuthentic, "bad_signature", "a signature of the sender or the payer is invalid")
	// ErrWrongPolicy is returned for a witness by a policy or key other than data.authority, the authority of
	// data.account, which is the sender or the payer.
	ErrWrongPolicy = reason(CodeNotAuthentic, "wrong_policy",
		"the witness uses a policy or key that does not, or no longer, control the account")
	// ErrWrongChain is returned for a transaction signed for another chain. data.chainId is the ID of this chain.
	ErrWrongChain = reason(CodeNotAuthentic, "wrong_chain", "the transaction is for another chain")
	// ErrNonceTooLow is returned for a nonce that is already used.
	ErrNonceTooLow = reason(CodeNonce, "nonce_too_low", "the nonce is too low: it is already used")
	// ErrNonceTooHigh is returned for a nonce further ahead than the pool accepts: data.limit nonces.
	ErrNonceTooHigh = reason(CodeNonce, "nonce_too_high", "the nonce is too high: it is too far ahead of the "+
		"sender's next nonce")
	// ErrHeld is returned if data.limit transactions of the sender already wait for an earlier nonce.
	ErrHeld = reason(CodeNonce, "held", "nonce gap: too many of the sender's transactions are queued behind an "+
		"earlier nonce")
	// ErrDisplaced is returned while waiting for a transaction, data.hash, that can never be in a block, as a block has
	// data.by with the same sender and nonce.
	ErrDisplaced = reason(CodeNonce, "displaced", "another transaction has used the nonce: this one can never be "+
		"included")
	// ErrDropped is returned while waiting for a transaction, data.hash, that left the pool without a block. data.cause
	// is the cause, in a word of [TransactionStatus]. The transaction may be sent again unchanged.
	ErrDropped = reason(CodeMempoolFull, "dropped", "the transaction was dropped from the mempool without being "+
		"included in a block")
	// ErrCannotPay is returned if the balance, less the reserve for the sender's earlier pending transactions, does not
	// cover value + gas limit × max fee, or the value alone if another account pays the fee. data.balance is the balance after the latest block, data.reserved the reserve
	// for data.pending earlier transactions, and data.needed the maximum cost of this transaction. The missing amount
	// is needed − (balance − reserved).
	ErrCannotPay = reason(CodeCannotPay, "cannot_pay", "insufficient balance: the sender has less than value + gas "+
		"limit × max fee, or less than the value if another account pays the fee")
	// ErrPayerCannotPay is returned if the payer's balance does not cover gas limit × max fee in addition to its
	// reserve for other transactions in the pool. Its data has the members of ErrCannotPay's data, for the payer.
	ErrPayerCannotPay = reason(CodeCannotPay, "payer_cannot_pay", "insufficient balance: the payer has less than gas "+
		"limit × max fee")
	// ErrFeeTooLow is returned for a max fee below data.minBaseFee, the lowest base fee that the parameters allow.
	ErrFeeTooLow = reason(CodeFeeTooLow, "fee_too_low", "the max fee is below the minimum base fee")
	// ErrReplacementUnderpriced is returned for a replacement of a pending transaction that does not raise both fees by
	// 10 %.
	ErrReplacementUnderpriced = reason(CodeFeeTooLow, "replacement_underpriced",
		"replacement underpriced: it must raise both fees by at least 10 %")
	// ErrAlreadyKnown is returned for a transaction that is already pending or included.
	ErrAlreadyKnown = reason(CodeAlreadyKnown, "already_known", "the transaction is already known")
	// ErrMempoolFull is returned if the pool has no room for transactions of the class data.class, as named in
	// [MempoolClass]. data.retryAfterSeconds is the time to wait before a retry.
	ErrMempoolFull = reason(CodeMempoolFull, "mempool_full", "the mempool is full")
	// ErrNotWritten is returned while the pool refuses transactions because it cannot write them to disk.
	// data.retryAfterSeconds is the time to wait before a retry.
	ErrNotWritten = jsonrpc.NewError(CodeMempoolFull, "the node cannot store transactions: its disk is full or failing",
		"reason", "storage", "retryAfterSeconds", 10)
	// ErrIntrinsicGas is returned for a gas limit below the transaction's intrinsic gas.
	ErrIntrinsicGas = reason(CodeGasLimit, "intrinsic_gas", "the gas limit is below the transaction's intrinsic gas")
	// ErrGasOverBlock is returned for a gas limit above the block gas limit.
	ErrGasOverBlock = reason(CodeGasLimit, "gas_over_block", "the gas limit exceeds the block gas limit")
	// ErrPriorityOverMax is returned for a priority fee above the max fee.
	ErrPriorityOverMax = reason(CodeNotAllowed, "priority_over_max", "the priority fee exceeds the max fee")
	// ErrExpired is returned for a transaction whose valid_until, data.validUntil, has passed. Unless a block has it
	// already, none ever will.
	ErrExpired = reason(CodeNotAllowed, "expired", "the transaction's valid_until has passed")
	// ErrBadPolicy is returned for a policy, of a witness or a SetPolicy, that is not valid, and for a recovery by a
	// witness whose policy has none.
	ErrBadPolicy = reason(CodeNotAllowed, "bad_policy", "a policy is invalid, or has no recovery")
	// ErrBadPayer is returned for a payer that is the sender, for a payer without a witness or the reverse, and for a
	// recovery without a payer.
	ErrBadPayer = reason(CodeNotAllowed, "bad_payer",
		"the payer is the sender, the payer or its witness is missing, or a recovery has no payer")
	// ErrBadValidUntil is returned for a valid_until after the year 9999.
	ErrBadValidUntil = reason(CodeNotAllowed, "bad_valid_until", "valid_until is after the year 9999")
	// ErrNotZero is returned for a target or value where the payload has none.
	ErrNotZero = reason(CodeNotAllowed, "not_zero", "the target or value must be zero for this payload")
	// ErrOverflow is returned if the fee cap, or the sum of a batch, does not fit in 64 bits.
	ErrOverflow = reason(CodeNotAllowed, "overflow", "the fee or the sum of the values does not fit in 64 bits")
	// ErrNotAdmin is returned for a change of the parameters by an account other than the admin, data.admin.
	ErrNotAdmin = reason(CodeNotAllowed, "not_admin", "only the admin may change the parameters")
	// ErrTextTooLong is returned if a witness signs a text of more than data.limit bytes, as of a batch with many steps.
	ErrTextTooLong = reason(CodeNotAllowed, "text_too_long", "the text is too long for a wallet to sign: sign with a "+
		"key, or split the transaction")
	// ErrBadParameters is returned for new parameters that break a rule.
	ErrBadParameters = reason(CodeNotAllowed, "bad_parameters", "the new parameters are invalid")
	// ErrFieldTooLong is returned if data.member, which is the name, function, arguments or witness, exceeds data.limit bytes.
	ErrFieldTooLong = reason(CodeNotAllowed, "field_too_long", "the name, the function, the arguments or a witness is too long")
	// ErrCodeTooLong is returned for a deploy whose code exceeds its limit.
	ErrCodeTooLong = reason(CodeModuleRefused, "code_too_long", "the contract's code is too long")
	// ErrReadOnly is returned by a node that does not accept transactions. data.primary is a node that does; it is
	// unknown to a producer that has handed over and follows no other.
	ErrReadOnly = reason(CodeReadOnly, "read_only", "this node is read-only")
	// ErrNoPrimary is returned if this node forwards transactions to data.primary, which does not respond. The
	// transaction may have arrived there; sending it again is safe.
	ErrNoPrimary = reason(CodeReadOnly, "primary_unreachable", "this node is read-only, and cannot reach the primary")
	// ErrExecutionFailed is returned for a transaction that ran and failed. data.reason is the reason, data.gasUsed the
	// gas used, and data.revertData the revert data. It matches every reason.
	ErrExecutionFailed = jsonrpc.NewError(CodeExecutionFailed, "the execution failed")
	// ErrInsufficientBalance is returned if the sender of a call or an estimate cannot cover its value.
	ErrInsufficientBalance = reason(CodeExecutionFailed, "insufficient_balance", "insufficient balance: the sender "+
		"has less than the value")
)

// Errors of the node's state.
var (
	// ErrPruned is returned if the request may concern blocks or states that the node no longer keeps.
	// data.oldestHeight is the oldest height that it has.
	ErrPruned = reason(CodePruned, "pruned", "this node has pruned that height")
	// ErrNoState is returned by a node that keeps no state, as it verifies blocks by their proofs.
	ErrNoState = reason(CodePruned, "stateless", "this node is stateless: it verifies blocks by their proofs, and "+
		"stores no state")
	// ErrProofNotReady is returned for a block that waits for its proof. data.status is queued or proving, and
	// data.position the number of blocks ahead of it.
	ErrProofNotReady = jsonrpc.NewError(CodeProofNotReady, "the proof is not ready yet", "reason", "proof_not_ready")
	// ErrProofNotStored is returned if the node does not have a proof of the block and will not get one. data.oldest
	// and data.newest are the range of blocks that have proofs, if any.
	ErrProofNotStored = jsonrpc.NewError(
		CodeProofNotReady, "the proof is not stored on this node", "reason", "proof_not_stored", "status", "not_stored",
	)
	// ErrHalted is returned by a node that accepts no more blocks, for the reason data.cause. data.height is the height
	// of the last verified block. State up to that height is served to calls that specify the height. A halted producer
	// refuses transactions with this error.
	ErrHalted = reason(CodeHalted, "halted", "the node has halted: its latest state is out of date")
	// ErrProofWindow is returned if too much was written since a height to prove its state. data.oldestHeight is the
	// oldest provable height.
	ErrProofWindow = reason(CodePruned, "proof_window", "too much state has changed since that height to prove its "+
		"state")
	// ErrResponseSize is returned if the answer would be too large: ask for less, or for the pages of another method.
	ErrResponseSize = reason(jsonrpc.CodeLimit, "response_size", "the response is too large")
	// ErrTimeUp is returned if the time limit is exceeded. data.hash is the hash of an accepted transaction.
	ErrTimeUp = reason(jsonrpc.CodeLimit, "time", "the call exceeded its time limit")
)

// Errors of calls to contracts.
var (
	// ErrNoContract is returned if no contract has the ID.
	ErrNoContract = reason(CodeNoContract, "no_such_contract", "there is no such contract")
	// ErrNoCode is returned if this node has no code with the hash.
	ErrNoCode = reason(CodeNoContract, "no_such_code", "this node has no such code")
	// ErrModuleRefused is returned for a deploy of code that breaks the rule data.detail.
	ErrModuleRefused = reason(CodeModuleRefused, "module_refused", "the contract's code was refused")
	// ErrQuarantined is returned if this node does not run a contract's code because its engine failed on it. Other
	// nodes may run it.
	ErrQuarantined = reason(
		CodeSetAside, "quarantined", "the contract's code is in quarantine on this node, because the engine failed "+
			"on it",
	)
	// ErrOverran is returned if a recent transaction of the sender, or to the called code, took far longer than its gas
	// allows for. data.retryAfterSeconds is the time to wait before a retry.
	ErrOverran = reason(
		CodeSetAside, "overran", "a transaction of this sender or to this code took far too long: this node accepts "+
			"others later",
	)
	// ErrEngineFailed is returned if the node's engine failed while running a contract, which is a fault of the node.
	ErrEngineFailed = reason(CodeSetAside, "engine_failed", "the node's engine failed while running the contract")
	// ErrNoToken is returned if the contract does not respond as a NEP-20 token does to the function data.function.
	ErrNoToken = reason(CodeExecutionFailed, "no_token", "the contract does not answer as a NEP-20 token")
	// ErrViewCalls is returned for more than data.limit view calls in one call.
	ErrViewCalls = jsonrpc.NewError(
		jsonrpc.CodeLimit, "too many view calls in one request", "reason", "view_calls", "limit", MaxViewCalls,
	)
	// ErrViewSize is returned for a view call that exceeds the limits of a proof: 1,024 keys, 1 MiB of values, 1 MiB of
	// witness, or 8 codes.
	ErrViewSize = reason(jsonrpc.CodeLimit, "view_size", "the view call reads or executes too much for a proof")
	// ErrBusy is returned if the node temporarily has no capacity for the call.
	ErrBusy = reason(jsonrpc.CodeLimit, "busy", "the node is busy with other calls")
)

// Gas limits of calls that are not sent.
var (
	// ErrViewGas is returned if a call that is not sent needs more than data.limit gas.
	ErrViewGas = reason(jsonrpc.CodeLimit, "view_gas", "the call exceeds the gas limit for calls")
	// ErrRequestGas is returned if the other calls of the request left too little of its gas, data.limit. The call did
	// not run to its end; it may be repeated in a request with fewer calls.
	ErrRequestGas = reason(jsonrpc.CodeLimit, "request_gas",
		"the calls of one request exceed the gas limit of a request: split the request")
)

// admissionErrors are the errors of offering a transaction to the pool.
var admissionErrors = []*jsonrpc.Error{
	ErrUndecodable, ErrBadSignature, ErrWrongChain, ErrNonceTooLow, ErrNonceTooHigh, ErrHeld, ErrCannotPay, ErrFeeTooLow,
	ErrReplacementUnderpriced, ErrAlreadyKnown, ErrMempoolFull, ErrNotWritten, ErrIntrinsicGas, ErrGasOverBlock,
	ErrPriorityOverMax, ErrWrongPolicy, ErrPayerCannotPay, ErrExpired, ErrBadPolicy, ErrBadPayer, ErrBadValidUntil,
	ErrNotZero, ErrOverflow, ErrNotAdmin, ErrTextTooLong, ErrBadParameters, ErrFieldTooLong, ErrCodeTooLong, ErrReadOnly,
	ErrNoPrimary, ErrHalted, ErrBusy, ErrQuarantined, ErrOverran,
}

// with returns a new slice of errors and more.
func with(errors []*jsonrpc.Error, more ...*jsonrpc.Error) []*jsonrpc.Error {
	return append(slices.Clone(errors), more...)
}

// callErrors are the errors of running a transaction without sending it.
var callErrors = []*jsonrpc.Error{
	ErrUndecodable, ErrWrongChain, ErrIntrinsicGas, ErrGasOverBlock, ErrExpired, ErrBadPolicy, ErrBadPayer,
	ErrBadValidUntil, ErrNotZero, ErrOverflow, ErrNotAdmin, ErrBadParameters, ErrFieldTooLong, ErrCodeTooLong, ErrExecutionFailed,
	ErrInsufficientBalance, ErrNoContract, ErrModuleRefused, ErrViewGas, ErrRequestGas, ErrTimeUp, ErrHalted,
	ErrNoState, ErrQuarantined, ErrEngineFailed,
}

// proofErrors are the errors of requesting a state proof.
var proofErrors = []*jsonrpc.Error{ErrAboveHead, ErrPruned, ErrProofWindow, ErrTimeUp, ErrHalted, ErrNoState}

// viewErrors are the errors of a view call.
var viewErrors = []*jsonrpc.Error{
	ErrNoContract, ErrExecutionFailed, ErrFieldTooLong, ErrViewGas, ErrRequestGas, ErrTimeUp, ErrAboveHead, ErrPruned,
	ErrHalted, ErrNoState, ErrQuarantined, ErrEngineFailed,
}

// commonErrors are the errors that any method may return. They come from package jsonrpc or the layers in front of it.
var commonErrors = []*jsonrpc.Error{
	reason(jsonrpc.CodeInvalidParams, "missing", "a parameter, or a member of one, is missing"),
	reason(jsonrpc.CodeInvalidParams, "malformed", "a parameter is malformed"),
	reason(jsonrpc.CodeInvalidParams, "wrong_type", "a parameter, or a member of one, has the wrong type"),
	reason(jsonrpc.CodeInvalidParams, "unknown", "there is no such parameter or member"),
	reason(jsonrpc.CodeInvalidParams, "duplicate", "a parameter, or a member of one, is duplicated"),
	reason(jsonrpc.CodeInvalidParams, "too_many", "there are too many parameters, or too many items in one"),
	jsonrpc.NewError(jsonrpc.CodeInternal, "the call failed unexpectedly"),
	ErrTimeUp, ErrBusy,
	reason(jsonrpc.CodeLimit, "rate", "too many calls"),
	ErrResponseSize,
}

// CommonErrors returns the errors that any method may return.
func CommonErrors() []*jsonrpc.Error { return slices.Clone(commonErrors) }

// withCommon returns a method's own errors followed by the common errors, without duplicates.
func withCommon(own []*jsonrpc.Error) []*jsonrpc.Error {
	all := slices.Clone(own)
	for _, e := range commonErrors {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}
