package api

import "github.com/cairn-chain/cairn/types"

// Methods that send and try transactions.
var (
	SendRawTransaction = define[RawTransactionParams, types.TxID]("svc_sendRawTransaction",
		"Submits a signed transaction to the mempool and returns its hash.", admissionErrors...)
	SendRawTransactionSync = define[RawTransactionParams, Receipt]("svc_sendRawTransactionSync",
		"Submits a signed transaction, or finds a known one, and waits up to 30 s for its receipt.",
		with(admissionErrors, ErrDisplaced, ErrDropped, ErrTimeUp)...)
	Call = define[RawTransactionParams, Data]("svc_call",
		"Runs a transaction on the latest state without sending it, and returns its output. Nonce and fees are not "+
			"checked.",
		callErrors...)
	EstimateGas = define[RawTransactionParams, Quantity]("svc_estimateGas",
		"The gas limit that a transaction needs on the latest state, inner calls included, with room for one "+
			"more new account and storage entry, and 5 %.", callErrors...)
)

// RawTransactionParams are the parameters of the methods that take an encoded transaction.
type RawTransactionParams struct {
	Transaction LooseData `json:"transaction" doc:"bincode(SignedTransaction)"`
}
