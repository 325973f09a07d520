package api

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Methods on the chain, the node and accounts.
var (
	BlockNumber = define[NoParams, Quantity]("svc_blockNumber", "The height of the latest block.")
	GetBalance  = define[GetBalanceParams, Quantity]("svc_getBalance",
		"An account's balance in smallest units; 0x0 for an unused account.",
		ErrBadAccount, ErrWrongNetwork, ErrAboveHead, ErrPruned, ErrHalted, ErrNoState)
	GetTransactionCount = define[GetTransactionCountParams, Quantity]("svc_getTransactionCount",
		"An account's nonce: the number of its transactions that are included.",
		ErrBadAccount, ErrWrongNetwork, ErrAboveHead, ErrPruned, ErrHalted, ErrNoState)
	ResolveAddress = define[ResolveAddressParams, ResolvedAddress]("svc_resolveAddress",
		"The 32 bytes of the account in a taproot address of any network.", ErrBadAddress)
	GetNodeInfo   = define[NoParams, NodeInfo]("svc_getNodeInfo", "Information about this node and its chain.")
	GetSyncStatus = define[NoParams, SyncStatus]("svc_getSyncStatus", "How many blocks this node is behind its primary.")
	ChainID       = define[NoParams, Quantity]("svc_chainId", "The chain id that transactions are signed for.")
	GetGenesis    = define[NoParams, GenesisInfo]("svc_getGenesis", "The chain's genesis.")
	GetParameters = define[ParametersParams, ParametersInfo]("svc_getParameters",
		"The parameters in force after a block, with their Merkle proof.", proofErrors...)
	GetAccountProof = define[AccountProofParams, AccountProof]("svc_getAccountProof",
		"A Merkle proof of an account's record, or of its absence, under the state root of a block within the "+
			"proof window.",
		with(proofErrors, ErrBadAccount, ErrWrongNetwork)...)
	GetStateProof = define[StateProofParams, AccountProof]("svc_getStateProof",
		"A Merkle proof of any state key, or of its absence, under the state root of a block within the proof window. "+
			"docs/protocol.md, \"State\", has the keys.",
		with(proofErrors, ErrOutOfRange)...)
)

// GetBalanceParams are the parameters of [GetBalance].
type GetBalanceParams struct {
	Account string   `json:"account" doc:"a taproot address, or a public key in hex"`
	Block   BlockRef `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// GetTransactionCountParams are the parameters of [GetTransactionCount].
type GetTransactionCountParams struct {
	Account string   `json:"account" doc:"a taproot address, or a public key in hex"`
	Block   NonceRef `json:"block" jsonrpc:"optional" doc:"the block after which, or pending; the latest by default"`
}

// ResolveAddressParams are the parameters of [ResolveAddress].
type ResolveAddressParams struct {
	Address string `json:"address" doc:"a bech32m taproot address: bcrt1p…, bc1p… or tb1p…"`
}

// ResolvedAddress is the result of [ResolveAddress].
type ResolvedAddress struct {
	PublicKey types.Account `json:"pubkey" doc:"the account: an x-only public key, a policy hash or a contract"`
}

// Mode is a node's role for its chain.
type Mode string

// The modes of a node.
const (
	ModePrimary Mode = "primary" // produces blocks
	ModeReplica Mode = "replica" // follows the primary, read-only
	ModeArchive Mode = "archive" // follows, and keeps the whole history
)

// Values of [NodeInfo].Verification: how a node checks blocks.
const (
	VerificationExecuted  = "executed"
	VerificationStateless = "stateless:S1"
	VerificationRanges    = "stateless:S1,R1"
)

// NodeInfo is the result of [GetNodeInfo].
type NodeInfo struct {
	Version           string            `json:"version" doc:"the software's version"`
	Network           types.Network     `json:"network" doc:"mainnet, testnet or regtest; fixes the prefix of addresses"`
	Mode              Mode              `json:"mode" doc:"primary, replica or archive"`
	BlockHeight       types.Height      `json:"block_height" doc:"the height of the latest block"`
	ProtocolPublicKey string            `json:"protocol_public_key" doc:"the key whose signature blocks carry now: hex without 0x, which no other answer lacks"`
	PeerCount         uint64            `json:"peer_count" doc:"replicas that sync from here, or upstreams in use"`
	Build             Build             `json:"build" doc:"the program's commit, toolchain and platform"`
	ChainID           uint64            `json:"chain_id" doc:"the chain id"`
	GenesisHash       types.BlockHash   `json:"genesis_hash" doc:"the hash of block 0, which names the chain"`
	ProtocolVersion   uint32            `json:"protocol_version" doc:"the version of the protocol by which the next block is made, of one at the latest block's time"`
	KnownVersions     []uint32          `json:"known_versions" doc:"the versions that this program knows, ascending; it halts before the first block of another"`
	Upgrade           *AnnouncedUpgrade `json:"upgrade" doc:"the upgrade that the parameters announce; null if there is none"`
	ScheduleDigest    types.Digest      `json:"schedule_digest" doc:"the digest of the gas schedule that this node runs"`
	Verification      string            `json:"verification" doc:"how blocks are checked: executed, on this node's state; stateless:S1, on each block's proven access list; stateless:S1,R1, also by ranges, without the state roots in between"`
	OldestHeight      types.Height      `json:"oldest_height" doc:"the oldest height whose state can be read"`
	Proofs            *ProofRange       `json:"proofs" doc:"the blocks whose proofs are here; null when there are none"`
	RangeProofs       []RangeProofs     `json:"range_proofs" doc:"the ranges of blocks that have a proof together, by their length"`
	Primary           *string           `json:"primary" doc:"the primary's URL; null on a primary"`
	ProducerKey       *types.PublicKey  `json:"producer_key" doc:"the key with which this node makes blocks while it is the producer's; null if it has none"`
	Override          *Override         `json:"parameters_override" doc:"parameters set outside the chain; null when there are none"`
	Cluster           *Cluster          `json:"cluster" doc:"the cluster that this node is a member of; null of none"`
}

// AnnouncedUpgrade is a change to another version of the protocol that the parameters announce.
type AnnouncedUpgrade struct {
	Version uint32 `json:"version" doc:"the version"`
	From    uint64 `json:"from" doc:"blocks of this time or later are of that version, in milliseconds of Unix time"`
	Known   bool   `json:"known" doc:"whether this program knows the version; else install one that does before then"`
}

// Cluster describes several nodes that act as one producer, from the view of one of them.
type Cluster struct {
	Leader  string          `json:"leader" doc:"the name of the member that makes the blocks; empty if unknown"`
	Term    uint64          `json:"term" doc:"grows with each election"`
	Members []ClusterMember `json:"members" doc:"all members"`
}

// ClusterMember is a node of a cluster.
type ClusterMember struct {
	Name  string `json:"name" doc:"its name"`
	URL   string `json:"url" doc:"its JSON-RPC; empty if unknown"`
	Voter bool   `json:"voter" doc:"whether it has a vote: a new member has none before it is near"`
}

// Build describes the build of a program.
type Build struct {
	Commit   string `json:"commit" doc:"the commit in hex; empty if it is not known"`
	Date     string `json:"date" doc:"the commit's time after RFC 3339; empty if it is not known"`
	Modified bool   `json:"modified" doc:"whether the sources had changes that were not committed"`
	Go       string `json:"go" doc:"the compiler's version"`
	OS       string `json:"os" doc:"the operating system that it is for"`
	Arch     string `json:"arch" doc:"the processors that it is for"`
}

// Override is a replacement of the chain's parameters with which the node was started: a hard fork.
type Override struct {
	Height types.Height `json:"height" doc:"the block before whose first transaction they are set"`
	SHA256 types.Digest `json:"sha256" doc:"SHA-256 of the encoded parameters"`
}

// RangeProofs lists the ranges of one length that have a proof, available from GET /proof/FROM-TO.
type RangeProofs struct {
	Blocks uint64       `json:"blocks" doc:"the blocks of a range; its last one's height is a multiple of it"`
	Oldest types.Height `json:"oldest" doc:"the first block of the oldest range"`
	Newest types.Height `json:"newest" doc:"the last block of the newest range; not all ranges in between need be here"`
}

// ProofRange is a range of heights, both ends included.
type ProofRange struct {
	Oldest types.Height `json:"oldest" doc:"the first height"`
	Newest types.Height `json:"newest" doc:"the last height"`
}

// SyncStatus is the result of [GetSyncStatus].
type SyncStatus struct {
	Mode                 Mode          `json:"mode" doc:"primary, replica or archive"`
	Synced               bool          `json:"synced" doc:"whether the node has every block that the primary has"`
	LocalHeight          types.Height  `json:"local_height" doc:"the height of the latest block here"`
	PrimaryHeight        *types.Height `json:"primary_height" doc:"the height of the primary's latest block, as an upstream said last; null while none ever did"`
	BlocksBehind         *uint64       `json:"blocks_behind" doc:"how many blocks are missing here; null while no upstream says"`
	SyncRateBlocksPerSec Fraction      `json:"sync_rate_blocks_per_sec" doc:"blocks imported a second; 0 on a primary"`
	State                SyncState     `json:"state" doc:"the node's present activity"`
	Reason               *string       `json:"reason" doc:"why it is not ready, holds or halted, and what to do about it; null otherwise"`
	ETASecs              *uint64       `json:"eta_secs" doc:"seconds until synced at the present rate; null when unknown or synced"`
	Upstreams            []Upstream    `json:"upstreams" doc:"the nodes that blocks come from; empty on a primary"`
}

// Upstream is a node that another node follows.
type Upstream struct {
	URL    string        `json:"url" doc:"the upstream's URL, without a password"`
	InUse  bool          `json:"in_use" doc:"whether blocks come from it now"`
	Height *types.Height `json:"height" doc:"the height of its latest block, as it said last; null while it never did"`
	Fault  *string       `json:"fault" doc:"why it was left: unreachable, untrusted, unauthorized, pruned, stalled, behind, lied, weak, forked or other_chain; null if nothing is wrong"`
}

// SyncState is a node's activity regarding new blocks.
type SyncState string

// The sync states of a node.
const (
	StateProducing SyncState = "producing"
	StateSyncing   SyncState = "syncing"
	StateFollowing SyncState = "following"
	StateHolding   SyncState = "holding"
	StateHalted    SyncState = "halted"
)

// GenesisInfo is the result of [GetGenesis].
type GenesisInfo struct {
	Genesis types.Genesis   `json:"genesis" doc:"the JSON rendering"`
	Raw     Data            `json:"raw" doc:"bincode(Genesis), the authoritative form"`
	Hash    types.BlockHash `json:"hash" doc:"the hash of block 0"`
}

// ParametersInfo is the result of [GetParameters].
type ParametersInfo struct {
	Height       types.Height    `json:"height" doc:"the block after which these are in force"`
	Version      uint32          `json:"version" doc:"the version of protocol rules and gas schedule"`
	GasLimit     types.Gas       `json:"gas_limit" doc:"the gas limit of a block"`
	BlockBytes   uint32          `json:"block_bytes" doc:"the most bytes that a block's transactions may have together"`
	TargetBPS    uint16          `json:"target_bps" doc:"the share of gas_limit at which the base fee stays, in 1/10000"`
	MinBaseFee   types.Amount    `json:"min_base_fee" doc:"the base fee's lower bound"`
	MaxBaseFee   types.Amount    `json:"max_base_fee" doc:"the base fee's upper bound"`
	Producer     types.PublicKey `json:"producer" doc:"the key that signs blocks"`
	FeeRecipient types.Account   `json:"fee_recipient" doc:"the account that receives priority fees"`
	Admin        types.Account   `json:"admin" doc:"the account that may change the parameters"`
	Notice       uint64          `json:"notice" doc:"how long ahead an upgrade must be announced, in milliseconds"`
	Upgrade      *Upgrade        `json:"upgrade" doc:"the announced upgrade; null if there is none"`
	Proof        *AccountProof   `json:"proof" doc:"the Merkle proof of the parameters' state key; null for a block outside the window of proofs"`
}

// Upgrade is an announced change to another version of the protocol.
type Upgrade struct {
	Version uint32 `json:"version" doc:"the version"`
	From    uint64 `json:"from" doc:"blocks of this time or later are of that version, in milliseconds of Unix time"`
}

// ParametersParams are the parameters of [GetParameters].
type ParametersParams struct {
	Block BlockRef `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// AccountProofParams are the parameters of [GetAccountProof].
type AccountProofParams struct {
	Account string   `json:"account" doc:"a taproot address, or a public key in hex"`
	Block   BlockRef `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// MaxStateKeyBytes bounds a state key. The longest keys are for values in a contract's storage.
const MaxStateKeyBytes = 1 + 32 + types.MaxStorageKeyBytes

// StateProofParams are the parameters of [GetStateProof].
type StateProofParams struct {
	Key   LooseData `json:"key" doc:"the state key in hex: a byte for the kind, and what follows it"`
	Block BlockRef  `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// AccountProof is a Merkle proof of one state key (docs/protocol.md, "State tree and proofs"): the result of
// [GetAccountProof], [GetStorageProof] and [GetStateProof].
type AccountProof struct {
	Height    types.Height      `json:"height" doc:"the block after which the proof holds"`
	StateRoot types.StateRoot   `json:"stateRoot" doc:"that block's state root"`
	Key       Data              `json:"key" doc:"the state key"`
	Value     *Data             `json:"value" doc:"the value under the key; null if there is none"`
	Siblings  []types.StateRoot `json:"siblings" doc:"the digests beside the path, the root's child first"`
	End       ProofEnd          `json:"end" doc:"the kind of node at the end of the path"`
}

// ProofEndType is the type of the end of a proof's path.
type ProofEndType string

// The types of the end of a path.
const (
	EndLeaf  ProofEndType = "leaf"  // the key's own leaf
	EndEmpty ProofEndType = "empty" // nothing: the key is absent
	EndOther ProofEndType = "other" // another key's leaf: the key is absent
)

// ProofEnd is the node at the end of a proof's path.
type ProofEnd struct {
	Type      ProofEndType `json:"type" doc:"leaf: the key's own; empty: nothing; other: another key's leaf"`
	Path      *Data        `json:"path,omitempty" doc:"the path of another key's leaf"`
	ValueHash *Data        `json:"valueHash,omitempty" doc:"the hash of the value of another key's leaf"`
}

// Merkle returns the proof in the form that package proof verifies. It fails for an end of an unknown kind, or one that
// lacks its kind's fields.
func (p AccountProof) Merkle() (types.MerkleProof, error) {
	proof := types.MerkleProof{Key: p.Key, Siblings: make([][32]byte, len(p.Siblings))}
	if p.Value != nil {
		proof.Value = *p.Value
	}
	for i, sibling := range p.Siblings {
		proof.Siblings[i] = sibling
	}
	switch end := p.End; {
	case end.Type == EndLeaf:
		proof.End.Kind = types.EndLeaf
	case end.Type == EndEmpty:
		proof.End.Kind = types.EndEmpty
	case end.Type == EndOther && end.Path != nil && end.ValueHash != nil && len(*end.Path) == 32 && len(*end.ValueHash) == 32:
		proof.End = types.ProofEnd{
			Kind: types.EndOther, Path: [32]byte(*end.Path), ValueHash: [32]byte(*end.ValueHash),
		}
	default:
		return types.MerkleProof{}, fmt.Errorf("the end of a Merkle proof is %q, or is incomplete", end.Type)
	}
	return proof, nil
}
