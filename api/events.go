package api

import "github.com/cairn-chain/cairn/types"

// GetEvents finds events of contracts.
var (
	GetEvents = define[GetEventsParams, []Event]("svc_getEvents",
		"Events that match a filter, ascending by block, transaction and log index. The next page begins at the "+
			"last item's cursor; an empty page is the end.",
		ErrOutOfRange, ErrBadCursor, ErrTakenBack, ErrAboveHead, ErrPruned, ErrTimeUp)
)

// Bounds of [GetEvents].
const (
	DefaultEvents  = 1000
	MaxEvents      = 10_000
	MaxEventTopics = 1 + types.MaxLogTopics
)

// GetEventsParams are the parameters of [GetEvents].
type GetEventsParams struct {
	Filter EventFilter `json:"filter" doc:"selects events; an empty filter selects all"`
}

// EventFilter selects events. An event matches if it matches every given member.
type EventFilter struct {
	ContractID *types.ContractID `json:"contract_id,omitempty" doc:"only of this contract"`
	EventName  *string           `json:"event_name,omitempty" doc:"only of this name"`
	FromBlock  *types.Height     `json:"from_block,omitempty" doc:"the first height, at most one above the head; by default the first that is kept"`
	ToBlock    *types.Height     `json:"to_block,omitempty" doc:"the last height, which the chain must have; by default the latest"`
	Topics     []*types.Digest   `json:"topics,omitempty" doc:"the topics that they begin with, the first the SHA-256 of the name; null stands for any"`
	Limit      *uint64           `json:"limit,omitempty" doc:"maximum number of items, 1 to 10,000; 1,000 by default"`
	Cursor     string            `json:"cursor,omitempty" doc:"the cursor of the last item seen: only what comes after it"`
}
