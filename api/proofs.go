package api

import "github.com/cairn-chain/cairn/types"

// Methods on the proofs of blocks (docs/proofs.md).
var (
	GetProof = define[GetProofParams, BlockProof]("svc_getProof",
		"A block's STARK proof of statement S1: its access list is exactly right. With headers and list in one "+
			"file: GET /proof/HEIGHT.",
		ErrProofNotReady, ErrProofNotStored, ErrAboveHead)
	VerifyProof = define[VerifyProofParams, ProofVerdict]("svc_verifyProof",
		"Whether a proof holds for a block of this chain.",
		ErrAboveHead, ErrPruned, ErrBusy)
	GetAccessList = define[GetAccessListParams, AccessList]("svc_getAccessList",
		"A block's access list, in binary and in pages: every state key that it read or wrote, with the values "+
			"before and after. Whole: GET /accesses/HEIGHT.",
		ErrAboveHead, ErrPruned, ErrBadCursor)
)

// Constants that apply to every proof.
const (
	ProofType       = "stark"
	StatementS1     = "S1"
	StateHashBits   = 124     // binary logarithm of the work to find two states with one root, at most (docs/proofs.md)
	AccessListBytes = 4 << 20 // bytes per page of an access list: 8 MiB of hex
)

// GetProofParams are the parameters of [GetProof].
type GetProofParams struct {
	Block BlockRef `json:"block" doc:"the block's height, or latest"`
}

// BlockProof is the result of [GetProof].
type BlockProof struct {
	Height         types.Height    `json:"block_height" doc:"the block's height"`
	StateRoot      types.StateRoot `json:"state_root" doc:"the state root after the block"`
	Proof          Data            `json:"proof" doc:"the proof, without the statement that it proves"`
	Type           string          `json:"proof_type" doc:"stark: transparent, an argument of validity and not of knowledge withheld"`
	Statement      string          `json:"statement" doc:"S1: the state root follows from the one before by exactly the access list. Execute the transactions on the list to check the rest"`
	SecurityBits   uint32          `json:"security_bits" doc:"the proven security of the argument"`
	StateHashBits  uint32          `json:"state_hash_bits" doc:"the security of the state's hash, a bound of its own"`
	PreRoot        types.StateRoot `json:"pre_root" doc:"the state root before the block"`
	AccessesDigest types.Digest    `json:"accesses_digest" doc:"SHA-256 of the encoded access list"`
	Circuit        types.Digest    `json:"circuit" doc:"SHA-256 of the circuit's constraints"`
	BlockHash      types.BlockHash `json:"block_hash" doc:"the block's hash"`
}

// VerifyProofParams are the parameters of [VerifyProof].
type VerifyProofParams struct {
	Block BlockRef  `json:"block" doc:"the block's height, or latest"`
	Proof LooseData `json:"proof" doc:"the proof, as svc_getProof gives it"`
}

// ProofVerdict is the result of [VerifyProof].
type ProofVerdict struct {
	Valid        bool    `json:"valid" doc:"whether the proof is valid"`
	Statement    string  `json:"statement" doc:"the statement that a valid proof proves"`
	SecurityBits uint32  `json:"security_bits" doc:"the proof's proven security; 0 if it is invalid"`
	Reason       *string `json:"reason" doc:"why the proof is invalid; null if it is valid"`
}

// GetAccessListParams are the parameters of [GetAccessList].
type GetAccessListParams struct {
	Block  BlockRef `json:"block" doc:"the block's height, or latest"`
	Cursor string   `json:"cursor" jsonrpc:"optional" doc:"the cursor of the previous page; the first page by default"`
}

// AccessList is the result of [GetAccessList].
type AccessList struct {
	Height types.Height `json:"height" doc:"the block's height"`
	Data   Data         `json:"data" doc:"the next bytes of the encoded list"`
	Cursor *string      `json:"cursor" doc:"the cursor of the next page; null at the end"`
}

// ProofNotice announces a proof that has become available: the notification of [TopicProofs].
type ProofNotice struct {
	Height    types.Height `json:"block_height" doc:"the block's height"`
	Statement string       `json:"statement" doc:"the statement that the proof proves"`
	Size      uint64       `json:"size" doc:"the proof's size in bytes"`
}
