package api

import "github.com/cairn-chain/cairn/types"

// Methods on snapshots of the state.
var (
	GetStateSnapshot = define[GetStateSnapshotParams, StateSnapshot]("svc_getStateSnapshot",
		"The state after a block: its root, its size, and the files of its snapshot if the node has them. A "+
			"development chain on disk makes a snapshot of the latest block on request.",
		ErrAboveHead, ErrPruned, ErrNoState)
)

// GetStateSnapshotParams are the parameters of [GetStateSnapshot].
type GetStateSnapshotParams struct {
	Block BlockRef `json:"block" jsonrpc:"optional" doc:"the height; the latest by default"`
}

// StateSnapshot describes a state and the files of its snapshot (docs/protocol.md, "Snapshots"). It is the result of
// [GetStateSnapshot], and the manifest of a snapshot, without the last field.
type StateSnapshot struct {
	Height         types.Height    `json:"height" doc:"the height of the block after which the state is"`
	BlockHash      types.BlockHash `json:"block_hash" doc:"that block's hash"`
	StateRoot      types.StateRoot `json:"state_root" doc:"that block's state root"`
	Format         string          `json:"format" doc:"how chunks are written: cairn-snapshot-1"`
	Accounts       uint64          `json:"accounts" doc:"accounts in the state"`
	Contracts      uint64          `json:"contracts" doc:"contracts in the state"`
	StorageEntries uint64          `json:"storage_entries" doc:"keys of contracts' storage"`
	SizeBytes      uint64          `json:"size_bytes" doc:"the total size of all chunks"`
	ChunkCount     uint64          `json:"chunk_count" doc:"how many chunks there are"`
	Chunks         []SnapshotChunk `json:"chunks" doc:"the files, in the order in which they are read; none if the node has no files of this state"`
	CreatedAt      uint64          `json:"created_at" doc:"when the files were made, in Unix seconds; 0 if there are none"`
	ChainID        uint64          `json:"chainId" doc:"the chain id"`
	GenesisHash    types.BlockHash `json:"genesisHash" doc:"the hash of block 0, which names the chain"`
	Header         Data            `json:"header" doc:"bincode(SignedHeader) of the block: the root's signature"`

	NewestFiles *types.Height `json:"newest_files" doc:"the newest height up to this one that the node has files of"`
}

// SnapshotChunk is a file of a snapshot.
type SnapshotChunk struct {
	Index     uint64       `json:"index" doc:"its place in the list"`
	SHA256    types.Digest `json:"sha256" doc:"SHA-256 of the file"`
	SizeBytes uint64       `json:"size_bytes" doc:"the size of the file, which is compressed with zstd"`
	URL       string       `json:"url" doc:"the chunk's URL, relative to the node's public address; ranges are served"`
	Kind      SnapshotKind `json:"kind" doc:"its content: genesis, block, state, code, policies, contracts or holders"`
}

// SnapshotKind is the kind of a snapshot's chunk.
type SnapshotKind string

// The kinds of chunks, in the order of a snapshot.
const (
	SnapshotGenesis   SnapshotKind = "genesis"   // the chain's genesis
	SnapshotBlock     SnapshotKind = "block"     // the block of the state, with the results of its execution
	SnapshotState     SnapshotKind = "state"     // state keys and values
	SnapshotCode      SnapshotKind = "code"      // contracts' codes
	SnapshotPolicies  SnapshotKind = "policies"  // policies of accounts that transactions have shown
	SnapshotContracts SnapshotKind = "contracts" // the contracts, in order of deployment
	SnapshotHolders   SnapshotKind = "holders"   // token holders, according to Transfer events
)
