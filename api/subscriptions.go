package api

import (
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Methods on WebSocket connections. They are not available over HTTP.
var (
	Subscribe = define[SubscribeParams, Quantity]("svc_subscribe",
		"Over WebSocket (/ws): subscribes to a topic and gives the connection's id of the subscription. Items "+
			"come as notifications svc_subscription with params {subscription, result}. The results are, by topic: "+
			"newBlocks, a Block with hashes; newPendingTransactions, a hash; events, an Event (with progress also an "+
			"EventProgress); syncStatus, a SyncStatus; proofs, a ProofNotice; payments, a PaymentPage; rangeProofs, an "+
			"array of RangeProofs.",
		ErrSubscriptions, ErrAboveHead, ErrBadCursor, ErrTakenBack, ErrPruned, ErrOutOfRange, ErrBadAccount, ErrWrongNetwork,
		ErrUnknownTopic, ErrUnknownWord, ErrTooLong)
	Unsubscribe = define[UnsubscribeParams, bool]("svc_unsubscribe",
		"Over WebSocket (/ws): ends a subscription of the connection; false if none has that id.")
)

// Notification is the method of a subscription's messages, whose parameters are [NotificationParams].
const Notification = "svc_subscription"

// MaxSubscriptions bounds the subscriptions of one connection.
const MaxSubscriptions = 16

// Topic is the topic of a subscription.
type Topic string

// The topics.
const (
	TopicBlocks     Topic = "newBlocks"              // *[Block] with hashes, each height once and in order
	TopicPending    Topic = "newPendingTransactions" // types.TxID of each transaction that the mempool accepts
	TopicEvents     Topic = "events"                 // [Event], in the chain's order
	TopicSyncStatus Topic = "syncStatus"             // [SyncStatus], now and when it changes, once a second at most
	TopicProofs     Topic = "proofs"                 // [ProofNotice] of each block that gets a proof, in order
	TopicRanges     Topic = "rangeProofs"            // [][RangeProofs], now and when they change, once a second at most
	TopicPayments   Topic = "payments"               // [PaymentPage], in the chain's order
)

// Topics lists the topics.
func Topics() []Topic {
	return []Topic{
		TopicBlocks, TopicPending, TopicEvents, TopicSyncStatus, TopicProofs, TopicRanges, TopicPayments,
	}
}

// SubscribeParams are the parameters of [Subscribe].
type SubscribeParams struct {
	Topic  Topic              `json:"topic" doc:"the topic to subscribe to"`
	Filter SubscriptionFilter `json:"filter" jsonrpc:"optional" doc:"selects items and the starting point"`
}

// SubscriptionFilter restricts a subscription. Only events, newBlocks, proofs and payments support from_block.
type SubscriptionFilter struct {
	FromBlock   *types.Height     `json:"from_block,omitempty" doc:"for newBlocks, events, proofs and payments: the first height, at most one above the head; by default the next"`
	HeadersOnly bool              `json:"headers_only,omitempty" doc:"for newBlocks: omit transactions' hashes (an empty array); txCount still counts them; false by default"`
	ContractID  *types.ContractID `json:"contract_id,omitempty" doc:"for events: only events of this contract"`
	EventName   *string           `json:"event_name,omitempty" doc:"for events: only events with this name"`
	Topics      []*types.Digest   `json:"topics,omitempty" doc:"for events: their first topics; null matches any topic"`
	Cursor      string            `json:"cursor,omitempty" doc:"instead of from_block: the cursor of the last event or EventProgress, or of the last page or payment"`
	Progress    bool              `json:"progress,omitempty" doc:"for events: whether to send an EventProgress now and then while no event matches; false by default"`
	Accounts    []string          `json:"accounts,omitempty" doc:"for payments: the accounts that pay or are paid, at most 1,000; by default all"`
	Direction   Direction         `json:"direction,omitempty" doc:"for payments: only payments to the accounts (in) or by them (out); by default both"`
	Kinds       []PaymentKind     `json:"kinds,omitempty" doc:"for payments: only payments of these kinds; by default all"`
}

// Matches reports whether an event matches the contract, name and topics of the filter.
func (f *SubscriptionFilter) Matches(e *Event) bool {
	if f.ContractID != nil && *f.ContractID != e.ContractID || f.EventName != nil && *f.EventName != e.EventName ||
		len(f.Topics) > len(e.Topics) {
		return false
	}
	for i, want := range f.Topics {
		if want != nil && string(want[:]) != string(e.Topics[i]) {
			return false
		}
	}
	return true
}

// UnsubscribeParams are the parameters of [Unsubscribe].
type UnsubscribeParams struct {
	ID LooseQuantity `json:"id" doc:"the subscription's id"`
}

// NotificationParams are the parameters of a [Notification]. R is the type of the topic's results.
type NotificationParams[R any] struct {
	Subscription Quantity `json:"subscription"`
	Result       R        `json:"result"`
}

// Event is a log of an included transaction: the notification of [TopicEvents].
type Event struct {
	ContractID       types.ContractID `json:"contract_id" doc:"the contract that emitted it; zero for a log of the protocol"`
	EventName        string           `json:"event_name" doc:"the event's name"`
	Data             Data             `json:"data" doc:"the event's data"`
	BlockHeight      types.Height     `json:"block_height" doc:"the height of its block"`
	TransactionHash  types.TxID       `json:"tx_hash" doc:"the transaction's hash"`
	LogIndex         uint32           `json:"log_index" doc:"its place among the block's events"`
	Topics           []Data           `json:"topics" doc:"SHA-256 of the event's name, then its own topics"`
	TransactionIndex uint32           `json:"transaction_index" doc:"the transaction's place in the block"`
	Cursor           string           `json:"cursor" doc:"the cursor of the next item"`
	BlockHash        types.BlockHash  `json:"block_hash" doc:"the hash of its block"`
	Timestamp        uint64           `json:"timestamp" doc:"the time of its block, in seconds of Unix time"`
}

// EventProgress reports that a subscription to [TopicEvents] has reached the end of a block and has sent all matching
// events.
type EventProgress struct {
	BlockHeight types.Height `json:"block_height" doc:"the height of the block"`
	Cursor      string       `json:"cursor" doc:"the cursor of the next item"`
}

// ErrSubscriptions is returned if the connection already has data.limit subscriptions.
var ErrSubscriptions = jsonrpc.NewError(jsonrpc.CodeLimit, "the connection has too many subscriptions",
	"reason", "subscriptions", "limit", MaxSubscriptions)
