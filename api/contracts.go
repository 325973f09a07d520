package api

import (
	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/types"
)

// Methods on contracts, their code and their storage.
var (
	GetStorageAt = define[GetStorageAtParams, Data]("svc_getStorageAt",
		"The value under a key of a contract's storage; 0x if there is none.", ErrNoContract, ErrAboveHead, ErrPruned,
		ErrHalted, ErrNoState, ErrOutOfRange)
	GetStorageProof = define[GetStorageProofParams, AccountProof]("svc_getStorageProof",
		"A Merkle proof of a value in a contract's storage, or of its absence, under the state root of a block within the "+
			"proof window.",
		with(proofErrors, ErrOutOfRange)...)
	ListContracts = define[ListContractsParams, []Contract]("svc_listContracts",
		"The contracts in the order of their deployment.", ErrOutOfRange, ErrBadCursor, ErrNoState)
	GetContract = define[ContractParams, *Contract]("svc_getContract",
		"A contract's record; null if there is no contract of that ID.", ErrNoState)
	GetContractABI = define[ContractParams, *abi.ABI]("svc_getContractAbi",
		"The ABI that a contract declares; null if it declares none that can be read.", ErrNoContract,
		ErrNoState)
	GetContractCode = define[ContractParams, Data]("svc_getContractCode",
		"A contract's code as it was deployed.", ErrNoContract, ErrNoState)
	GetCode = define[CodeParams, Data]("svc_getCode",
		"The code with a hash; check it. A node without state has the codes that its blocks deployed and called.",
		ErrNoCode)
)

// Bounds of [ListContracts].
const (
	DefaultContracts = 100
	MaxContracts     = 1000
)

// GetStorageAtParams are the parameters of [GetStorageAt].
type GetStorageAtParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
	Key      LooseData        `json:"key" doc:"the storage key in hex"`
	Block    BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// GetStorageProofParams are the parameters of [GetStorageProof].
type GetStorageProofParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
	Key      LooseData        `json:"key" doc:"the storage key in hex"`
	Block    BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// ListContractsParams are the parameters of [ListContracts].
type ListContractsParams struct {
	Limit  *uint64 `json:"limit" jsonrpc:"optional" doc:"maximum number of items, 1 to 1,000; 100 by default"`
	Cursor string  `json:"cursor" jsonrpc:"optional" doc:"the cursor of the last item seen"`
}

// ContractParams are the parameters of the methods on one contract.
type ContractParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
}

// CodeParams are the parameters of [GetCode].
type CodeParams struct {
	CodeHash types.CodeHash `json:"code_hash" doc:"the SHA-256 of the code"`
}

// Contract is the record of a contract: the result of [GetContract].
type Contract struct {
	ID         types.ContractID `json:"contract_id" doc:"the contract"`
	Name       string           `json:"name" doc:"the name that its deployer gave it; not unique"`
	Deployer   types.Account    `json:"deployer" doc:"who deployed it"`
	DeployedAt types.Height     `json:"deployed_at" doc:"the height of the block that deployed it"`
	CodeHash   types.CodeHash   `json:"code_hash" doc:"the SHA-256 of its code"`
	CodeSize   uint64           `json:"code_size" doc:"the length of its code in bytes"`
	Cursor     string           `json:"cursor,omitempty" doc:"in a list: where what comes after it begins"`
}
