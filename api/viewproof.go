package api

import "github.com/cairn-chain/cairn/types"

// GetViewProof returns the state read by a view call, so that a client can repeat the call without trusting a node
// (docs/protocol.md, "Proofs of views").
var GetViewProof = define[GetViewProofParams, ViewProof]("svc_getViewProof",
	"The state that a view call reads, with a Merkle witness under the block's header, and the codes that it "+
		"runs: enough to make the call without trusting a node. Failing calls too.",
	with(viewErrors, ErrProofWindow, ErrViewSize, ErrOutOfRange)...)

// Limits of [GetViewProof]. A larger result is invalid.
const (
	MaxViewKeys         = 1024
	MaxViewValueBytes   = 1 << 20 // all values together
	MaxViewWitnessBytes = 1 << 20
	MaxViewCodes        = 8
	MaxKnownCodes       = 64
)

// GetViewProofParams are the parameters of [GetViewProof].
type GetViewProofParams struct {
	Contract   types.ContractID `json:"contract" doc:"the contract"`
	Function   string           `json:"function_name" doc:"the function's name"`
	Args       LooseData        `json:"args" jsonrpc:"optional" doc:"the arguments: JSON in hex, none for a function without"`
	Block      BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
	KnownCodes []types.CodeHash `json:"known_codes" jsonrpc:"optional" doc:"hashes of codes that are not to be sent, 64 at most; none by default"`
}

// ViewProof is the result of [GetViewProof].
type ViewProof struct {
	Header  Data        `json:"header" doc:"the block's header with its seal, encoded: 280 bytes"`
	Values  []ViewValue `json:"values" doc:"the state keys that are read, ascending, and no others"`
	Witness Data        `json:"witness" doc:"shapes and digests of the state tree around these keys, encoded"`
	Codes   []Data      `json:"codes" doc:"the codes that are run, in the order of loading, each once, except those known"`
}

// ViewValue is a key of a [ViewProof].
type ViewValue struct {
	Key   Data  `json:"key" doc:"the state key"`
	Value *Data `json:"value" doc:"the value under the key; null for none"`
}
