package rpc

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// chainHandlers implements the methods on accounts, the chain and the node.
type chainHandlers struct {
	*liveness
	*prover
	chain interface {
		stateStore
		proofStore
	}
	ledger    Ledger
	pool      Pool
	node      Node
	about     About
	followers *followers
	genesis   types.Genesis
}

func (h *chainHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.BlockNumber, h.blockNumber),
		bind(e, api.GetBalance, h.getBalance),
		bind(e, api.GetTransactionCount, h.getTransactionCount),
		bind(e, api.ResolveAddress, h.resolveAddress),
		bind(e, api.GetNodeInfo, h.getNodeInfo),
		bind(e, api.GetSyncStatus, h.getSyncStatus),
		bind(e, api.ChainID, h.getChainID),
		bind(e, api.GetGenesis, h.getGenesis),
		bind(e, api.GetParameters, h.getParameters).waiting(),
		bind(e, api.GetAccountProof, h.getAccountProof).waiting(),
		bind(e, api.GetStateProof, h.getStateProof).waiting(),
	}
}

func (h *chainHandlers) blockNumber(context.Context, api.NoParams) (api.Quantity, error) {
	return api.Quantity(h.chain.Head().Header.Height), nil
}

func (h *chainHandlers) getBalance(_ context.Context, p api.GetBalanceParams) (api.Quantity, error) {
	record, err := h.accountAt(p.Account, p.Block)
	return api.Quantity(record.Balance), err
}

func (h *chainHandlers) getTransactionCount(_ context.Context, p api.GetTransactionCountParams) (api.Quantity, error) {
	if !p.Block.Pending {
		record, err := h.accountAt(p.Account, p.Block.Block)
		return api.Quantity(record.Nonce), err
	}
	account, err := parseAccount(h.genesis.Network, p.Account)
	if err != nil {
		return 0, err
	}
	nonce, err := h.pool.NextNonce(account)
	if err != nil {
		return 0, err
	}
	// The pool reaches a new head a moment after the chain.
	record, err := h.chain.Account(h.chain.Head().Header.Height, account)
	return api.Quantity(max(nonce, record.Nonce)), err
}

// accountAt returns an account's record after a block.
func (h *chainHandlers) accountAt(text string, block api.BlockRef) (record state.Account, err error) {
	account, err := parseAccount(h.genesis.Network, text)
	if err != nil {
		return record, err
	}
	if err := h.live(block); err != nil {
		return record, err
	}
	head := h.chain.Head().Header.Height
	record, err = h.chain.Account(block.Resolve(head), account)
	return record, aboveHead(err, head)
}

func (h *chainHandlers) resolveAddress(_ context.Context, p api.ResolveAddressParams) (api.ResolvedAddress, error) {
	_, account, err := types.ParseAddress(p.Address)
	if err != nil {
		return api.ResolvedAddress{}, withData(api.ErrBadAddress, "param", "address")
	}
	return api.ResolvedAddress{PublicKey: account}, nil
}

func (h *chainHandlers) getChainID(context.Context, api.NoParams) (api.Quantity, error) {
	return api.Quantity(h.genesis.ChainID), nil
}

func (h *chainHandlers) getGenesis(context.Context, api.NoParams) (api.GenesisInfo, error) {
	hash, err := h.genesisHash()
	return api.GenesisInfo{Genesis: h.genesis, Raw: h.genesis.Encode(), Hash: hash}, err
}

func (h *chainHandlers) genesisHash() (types.BlockHash, error) {
	header, err := h.chain.Header(0)
	return header.Header.Hash(), err
}

func (h *chainHandlers) getParameters(
	ctx context.Context, p api.ParametersParams,
) (info api.ParametersInfo, err error) {
	key := state.ParametersKey()
	proof, err := h.prove(ctx, key, p.Block)
	var tooFar *chain.UndoError
	switch {
	case errors.As(err, &tooFar):
		proof.Height = tooFar.Height
		if proof.Value, err = h.valueAt(key, tooFar.Height); err != nil {
			return info, err
		}
	case err != nil:
		return info, err
	default:
		rendered := newMerkleProof(proof)
		info.Proof = &rendered
	}
	// The parameters come from the proof, not the tip: the head may have moved on.
	parameters, err := types.DecodeParameters(proof.Value)
	info.Height, info.Version, info.GasLimit, info.TargetBPS = proof.Height, parameters.Version, parameters.GasLimit,
		parameters.TargetBPS
	info.BlockBytes, info.MinBaseFee, info.MaxBaseFee = parameters.BlockBytes, parameters.MinBaseFee, parameters.MaxBaseFee
	info.Producer, info.FeeRecipient, info.Admin = parameters.Producer, parameters.FeeRecipient, parameters.Admin
	info.Notice = parameters.Notice
	if u := parameters.Upgrade; u != nil {
		info.Upgrade = &api.Upgrade{Version: u.Version, From: u.From}
	}
	return info, err
}

// valueAt returns the value under a state key after a block.
func (h *chainHandlers) valueAt(key []byte, height types.Height) ([]byte, error) {
	st, err := h.chain.StateAt(height)
	if err != nil {
		return nil, err
	}
	value, err := st.Get(key)
	return value, errors.Join(err, st.Close())
}

func (h *chainHandlers) getAccountProof(ctx context.Context, p api.AccountProofParams) (api.AccountProof, error) {
	account, err := parseAccount(h.genesis.Network, p.Account)
	if err != nil {
		return api.AccountProof{}, err
	}
	return h.proof(ctx, state.AccountKey(account), p.Block)
}

func (h *chainHandlers) getStateProof(ctx context.Context, p api.StateProofParams) (api.AccountProof, error) {
	if len(p.Key) == 0 || len(p.Key) > api.MaxStateKeyBytes {
		return api.AccountProof{}, jsonrpc.InvalidParam(
			"key", "a state key must have 1 to 289 bytes", "reason", "out_of_range", "max", api.MaxStateKeyBytes,
		)
	}
	return h.proof(ctx, p.Key, p.Block)
}

func (h *chainHandlers) getNodeInfo(context.Context, api.NoParams) (api.NodeInfo, error) {
	tip, err := h.ledger.Latest()
	if err != nil {
		return api.NodeInfo{}, err
	}
	hash, err := h.genesisHash()
	if err != nil {
		return api.NodeInfo{}, err
	}
	var proofs *api.ProofRange
	stored, err := h.chain.Proofs()
	switch {
	case err == nil:
		proofs = &api.ProofRange{Oldest: stored.Oldest, Newest: stored.Newest}
	case !errors.Is(err, chain.ErrNotFound):
		return api.NodeInfo{}, err
	}
	ranges, err := h.rangeProofs()
	if err != nil {
		return api.NodeInfo{}, err
	}
	b := h.about.Build
	info := api.NodeInfo{
		Version: b.Version,
		Build: api.Build{
			Commit:   b.Commit,
			Date:     b.Date,
			Modified: b.Modified,
			Go:       b.Go,
			OS:       b.OS,
			Arch:     b.Arch,
		},
		Network:           h.genesis.Network,
		Mode:              h.node.Mode(),
		BlockHeight:       tip.Header.Header.Height,
		ProtocolPublicKey: hex.EncodeToString(tip.Parameters.Producer[:]),
		PeerCount:         h.node.PeerCount() + h.followers.count(time.Now()),
		ChainID:           h.genesis.ChainID,
		GenesisHash:       hash,
		ProtocolVersion:   tip.Parameters.VersionAt(tip.Header.Header.Timestamp),
		KnownVersions:     params.Versions(),
		Upgrade:           announced(tip.Parameters.Upgrade),
		ScheduleDigest:    params.Prices.Digest(),
		Verification:      h.about.Verification,
		OldestHeight:      h.chain.OldestHeight(),
		Override:          h.about.Override,
		Proofs:            proofs,
		RangeProofs:       ranges,
		Cluster:           h.node.Cluster(),
	}
	if len(ranges) > 0 && info.Verification == api.VerificationStateless {
		info.Verification = api.VerificationRanges
	}
	if following := h.node.Following(); following != nil {
		primary := following.Primary()
		info.Primary = &primary
	}
	if key, ok := h.node.ProducerKey(); ok {
		info.ProducerKey = &key
	}
	return info, nil
}

// announced renders an upgrade that the parameters announce; nil for none.
func announced(u *types.Upgrade) *api.AnnouncedUpgrade {
	if u == nil {
		return nil
	}
	return &api.AnnouncedUpgrade{Version: u.Version, From: u.From, Known: params.Known(u.Version)}
}

func (h *chainHandlers) getSyncStatus(context.Context, api.NoParams) (api.SyncStatus, error) {
	return h.syncStatus(), nil
}

// rangeProofs returns the ranges of blocks that have a proof.
func (h *chainHandlers) rangeProofs() ([]api.RangeProofs, error) {
	ranges, err := h.chain.Ranges()
	list := make([]api.RangeProofs, len(ranges))
	for i, r := range ranges {
		list[i] = api.RangeProofs{Blocks: uint64(r.Blocks), Oldest: r.Oldest, Newest: r.Newest}
	}
	return list, err
}

// syncStatus returns the node's sync status. A producer has all blocks that exist. One that holds or has halted cannot
// know that: another node may be producing.
func (h *chainHandlers) syncStatus() api.SyncStatus {
	if following := h.node.Following(); following != nil {
		status := following.SyncStatus()
		status.Mode = h.node.Mode()
		return status
	}
	head := h.chain.Head().Header.Height
	status := api.SyncStatus{
		Mode: h.node.Mode(), LocalHeight: head, PrimaryHeight: &head, BlocksBehind: new(uint64), Upstreams: []api.Upstream{},
	}
	var reason string
	if status.State, reason = h.node.State(); reason != "" {
		status.Reason = &reason
	}
	status.Synced = status.State == api.StateProducing
	return status
}
