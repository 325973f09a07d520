package api

import (
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// GetPayments lists payments.
var (
	GetPayments = define[GetPaymentsParams, PaymentPage]("svc_getPayments",
		"All payments to and from accounts: transfers, steps of batches, values of deploys and calls, and "+
			"payments by contracts. The next page begins at resume; a short or empty page need not be the last.",
		ErrOutOfRange, ErrBadCursor, ErrTakenBack, ErrAboveHead, ErrPruned, ErrTimeUp, ErrBadAccount, ErrWrongNetwork,
		ErrUnknownWord)
)

// Bounds of [GetPayments].
const (
	DefaultPayments    = 100
	MaxPayments        = 1000
	MaxPaymentAccounts = 1000
)

// ErrTakenBack is returned if the block of a cursor was reverted, which happens only on development chains.
var ErrTakenBack = reason(jsonrpc.CodeInvalidParams, "taken_back", "the block of the cursor was taken back")

// GetPaymentsParams are the parameters of [GetPayments].
type GetPaymentsParams struct {
	Filter PaymentFilter `json:"filter" jsonrpc:"optional" doc:"selects payments; an empty filter selects all"`
}

// PaymentFilter selects payments and their order.
type PaymentFilter struct {
	Accounts  []string      `json:"accounts,omitempty" doc:"the accounts that pay or are paid, at most 1,000; by default all"`
	Direction Direction     `json:"direction,omitempty" doc:"only those that the accounts get, or only those that they make; by default both"`
	Kinds     []PaymentKind `json:"kinds,omitempty" doc:"only of these kinds; by default all"`
	Order     Order         `json:"order,omitempty" doc:"desc: newest first; by default asc"`
	FromBlock *types.Height `json:"from_block,omitempty" doc:"the lowest height, at most one above the head; by default the first that is kept"`
	ToBlock   *types.Height `json:"to_block,omitempty" doc:"the highest height, which the chain must have; by default the latest"`
	Limit     *uint64       `json:"limit,omitempty" doc:"maximum number of items, 1 to 1,000; 100 by default"`
	Cursor    string        `json:"cursor,omitempty" doc:"resume of a page, or the cursor of a payment: only what comes after it in the order"`
}

// PaymentKind is the kind of a payment.
type PaymentKind string

// The kinds of payments.
const (
	PaymentTransfer    PaymentKind = "transfer"    // the value of a transfer
	PaymentDeploy      PaymentKind = "deploy"      // the value of a deploy, which the new contract gets
	PaymentInstantiate PaymentKind = "instantiate" // the value of an instantiate, which the new contract gets
	PaymentCall        PaymentKind = "call"        // the value of a call, which the contract gets
	PaymentBatch       PaymentKind = "batch"       // the value of a step of a batch
	PaymentContract    PaymentKind = "contract"    // a payment by a running contract
)

// PaymentKinds lists the kinds.
func PaymentKinds() []PaymentKind {
	return []PaymentKind{
		PaymentTransfer, PaymentDeploy, PaymentInstantiate, PaymentCall, PaymentBatch, PaymentContract,
	}
}

// Direction is the direction of a payment relative to the requested accounts.
type Direction string

// The directions.
const (
	DirectionIn   Direction = "in"
	DirectionOut  Direction = "out"
	DirectionBoth Direction = "both"
)

// Order is the order of a list.
type Order string

// The orders.
const (
	OrderAscending  Order = "asc"
	OrderDescending Order = "desc"
)

// PaymentPage is the result of [GetPayments], and the notification of [TopicPayments].
type PaymentPage struct {
	Payments []Payment    `json:"payments" doc:"in the order that is asked"`
	Resume   string       `json:"resume" doc:"the cursor of all that this page covers: what comes next begins there"`
	Height   types.Height `json:"height" doc:"the height that this page has come to"`
	Complete bool         `json:"complete" doc:"there is nothing more at present"`
}

// Payment is an amount that a transaction moved from one account to another, or to itself.
type Payment struct {
	Cursor           string          `json:"cursor" doc:"the cursor of the next item"`
	BlockHeight      types.Height    `json:"block_height" doc:"the height of its block"`
	BlockHash        types.BlockHash `json:"block_hash" doc:"the hash of its block"`
	Timestamp        uint64          `json:"timestamp" doc:"the time of its block, in seconds of Unix time"`
	TransactionHash  types.TxID      `json:"tx_hash" doc:"the transaction's hash"`
	TransactionIndex uint32          `json:"transaction_index" doc:"the transaction's place in the block"`
	Log              *uint32         `json:"log" doc:"for a payment by a contract or by a step of a batch, the index of its event in the transaction, from 0; null otherwise"`
	Kind             PaymentKind     `json:"kind" doc:"transfer, deploy, instantiate, call, batch or contract"`
	From             types.Account   `json:"from" doc:"the account that paid"`
	To               types.Account   `json:"to" doc:"the account that was paid"`
	Amount           Quantity        `json:"amount" doc:"how much, in smallest units"`
	Memo             *Data           `json:"memo" doc:"the 32 bytes that came with it; null if none did"`
}
