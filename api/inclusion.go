package api

import "github.com/cairn-chain/cairn/types"

// Methods for clients that follow headers only (docs/protocol.md, "Blocks" and "Inclusion proofs").
var (
	GetHeaders = define[GetHeadersParams, []HeaderItem]("svc_getHeaders",
		"The headers of a range with their seals, ascending, for a client that follows nothing else: at most 1,000, or 64 "+
			"with a proof for each. A header whose successor has another producer or version comes with a Merkle proof of the "+
			"parameters after it.",
		ErrPruned, ErrOutOfRange, ErrProofWindow, ErrTimeUp, ErrNoState)
	GetInclusionProof = define[TransactionParams, *Inclusion]("svc_getInclusionProof",
		"A transaction and its receipt with what shows, under the header of their block, that both are in it; null while it is "+
			"pending, and where it is in no block since genesis. A node that does not have all blocks and finds nothing cannot "+
			"know: it answers pruned.", ErrPruned)
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
	Proven bool         `json:"proven,omitempty" doc:"whether each header comes with a Merkle proof of the parameters after it; false by default. They can be had of blocks within the window of proofs"`
}

// HeaderItem is an item of the result of [GetHeaders].
type HeaderItem struct {
	Height     types.Height    `json:"height" doc:"the block's height"`
	Hash       types.BlockHash `json:"hash" doc:"the block's hash"`
	Header     Data            `json:"header" doc:"bincode(SignedHeader): 280 bytes"`
	Parameters *AccountProof   `json:"parameters" doc:"the Merkle proof of key 00 01 under the header's state root: the parameters of the next block; null if it was not asked for and the next block has the same producer and version, or if the block is outside the window of proofs"`
}

// Inclusion is the result of [GetInclusionProof].
type Inclusion struct {
	Header         Data                 `json:"header" doc:"bincode(SignedHeader) of the block: 280 bytes"`
	Transaction    types.InclusionProof `json:"transaction" doc:"shows the transaction's leaf under transactions_root"`
	Receipt        types.InclusionProof `json:"receipt" doc:"shows the receipt's leaf under receipts_root, with the same number"`
	RawTransaction Data                 `json:"rawTransaction" doc:"bincode(SignedTransaction), of which the leaf is made"`
	RawReceipt     Data                 `json:"rawReceipt" doc:"bincode(Receipt), of which the leaf is made"`
}
