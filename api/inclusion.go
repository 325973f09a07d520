package api

import "github.com/cairn-chain/cairn/types"

// Methods for clients that follow headers only (docs/protocol.md, "Blocks" and "Inclusion proofs").
var (
	GetHeaders = define[GetHeadersParams, []HeaderItem]("svc_getHeaders",
		"The sealed headers of a range, ascending, for light clients: at most 1,000, or 64 with a proof for "+
			"each. Where producer or version change, the header before has a Merkle proof of the parameters after it.",
		ErrPruned, ErrOutOfRange, ErrProofWindow, ErrTimeUp, ErrNoState)
	GetInclusionProof = define[TransactionParams, *Inclusion]("svc_getInclusionProof",
		"Proofs that a transaction and its receipt are in a block, under its header; null if it is in none yet, "+
			"pruned if this node lacks blocks and cannot know.", ErrPruned)
)

// Bounds of [GetHeaders].
const (
	MaxHeaders       = 1000
	MaxHeadersProven = 64
)

// GetHeadersParams are the parameters of [GetHeaders].
type GetHeadersParams struct {
	Range HeaderRange `json:"range" doc:"which headers"`
}

// HeaderRange is a range of heights, both ends included.
type HeaderRange struct {
	From   types.Height `json:"from_height" doc:"the first height"`
	To     types.Height `json:"to_height" doc:"the last height"`
	Proven bool         `json:"proven,omitempty" doc:"whether each header comes with a Merkle proof of the parameters after it, within the proof window; false by default"`
}

// HeaderItem is an item of the result of [GetHeaders].
type HeaderItem struct {
	Height     types.Height    `json:"height" doc:"the block's height"`
	Hash       types.BlockHash `json:"hash" doc:"the block's hash"`
	Header     Data            `json:"header" doc:"bincode(SignedHeader): 280 bytes"`
	Parameters *AccountProof   `json:"parameters" doc:"the Merkle proof of key 00 01, the next block's parameters, under the header's state root; null if it was not requested and producer and version stay the same, or outside the proof window"`
}

// Inclusion is the result of [GetInclusionProof].
type Inclusion struct {
	Header         Data                 `json:"header" doc:"bincode(SignedHeader) of the block: 280 bytes"`
	Transaction    types.InclusionProof `json:"transaction" doc:"shows the transaction's leaf under transactions_root"`
	Receipt        types.InclusionProof `json:"receipt" doc:"shows the receipt's leaf under receipts_root, with the same number"`
	RawTransaction Data                 `json:"rawTransaction" doc:"bincode(SignedTransaction), of which the leaf is made"`
	RawReceipt     Data                 `json:"rawReceipt" doc:"bincode(Receipt), of which the leaf is made"`
}
