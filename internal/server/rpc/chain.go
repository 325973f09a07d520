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

func (s *Server) blockNumber(context.Context, api.NoParams) (api.Quantity, error) {
	return api.Quantity(s.chain.Head().Header.Height), nil
}

func (s *Server) getBalance(_ context.Context, p api.GetBalanceParams) (api.Quantity, error) {
	record, err := s.accountAt(p.Account, p.Block)
	return api.Quantity(record.Balance), err
}

func (s *Server) getTransactionCount(_ context.Context, p api.GetTransactionCountParams) (api.Quantity, error) {
	if !p.Block.Pending {
		record, err := s.accountAt(p.Account, p.Block.Block)
		return api.Quantity(record.Nonce), err
	}
	account, err := s.account(p.Account)
	if err != nil {
		return 0, err
	}
	nonce, err := s.pool.NextNonce(account)
	return api.Quantity(nonce), err
}

// account reads an account parameter: an address of this network or a public key in hex.
func (s *Server) account(text string) (types.Account, error) {
	account, err := s.network.ParseAccount(text)
	switch {
	case err == nil:
		return account, nil
	case errors.Is(err, types.ErrWrongNetwork):
		return account, withData(api.ErrWrongNetwork, "param", "account", "expectedPrefix", s.network.Prefix())
	default:
		return account, jsonrpc.InvalidParam("account", "an account is a taproot address or a public key in hex",
			"reason", "bad_account", "expectedPrefix", s.network.Prefix())
	}
}

// accountAt reads an account's record after a block.
func (s *Server) accountAt(text string, block api.BlockRef) (record state.Account, err error) {
	account, err := s.account(text)
	if err != nil {
		return record, err
	}
	if err := s.live(block); err != nil {
		return record, err
	}
	head := s.chain.Head().Header.Height
	record, err = s.chain.Account(block.Resolve(head), account)
	return record, aboveHead(err, head)
}

func (s *Server) resolveAddress(_ context.Context, p api.ResolveAddressParams) (api.ResolvedAddress, error) {
	_, account, err := types.ParseAddress(p.Address)
	if err != nil {
		return api.ResolvedAddress{}, jsonrpc.InvalidParam("address",
			"an address is bech32m of witness version 1 with the prefix bcrt, bc or tb", "reason", "bad_address")
	}
	return api.ResolvedAddress{PublicKey: account}, nil
}

func (s *Server) getChainID(context.Context, api.NoParams) (api.Quantity, error) {
	return api.Quantity(s.chainID), nil
}

func (s *Server) getGenesis(context.Context, api.NoParams) (api.GenesisInfo, error) {
	genesis := s.chain.Genesis()
	hash, err := s.genesisHash()
	return api.GenesisInfo{Genesis: genesis, Raw: genesis.Encode(), Hash: hash}, err
}

func (s *Server) genesisHash() (types.BlockHash, error) {
	header, err := s.chain.Header(0)
	return header.Header.Hash(), err
}

func (s *Server) getParameters(ctx context.Context, p api.ParametersParams) (info api.ParametersInfo, err error) {
	key := state.ParametersKey()
	proof, err := s.prove(ctx, key, p.Block)
	var tooFar *chain.UndoError
	switch {
	case errors.As(err, &tooFar):
		proof.Height = tooFar.Height
		if proof.Value, err = s.valueAt(key, tooFar.Height); err != nil {
			return info, err
		}
	case err != nil:
		return info, err
	default:
		rendered := newProof(proof)
		info.Proof = &rendered
	}
	// The proof's value and not the tip's parameters: the head may have moved on.
	parameters, err := types.DecodeParameters(proof.Value)
	info.Height, info.Version, info.GasLimit, info.TargetBPS = proof.Height, parameters.Version, parameters.GasLimit, parameters.TargetBPS
	info.MinBaseFee, info.MaxBaseFee = parameters.MinBaseFee, parameters.MaxBaseFee
	info.Producer, info.FeeRecipient = parameters.Producer, parameters.FeeRecipient
	return info, err
}

// valueAt is the value under a state key after a block.
func (s *Server) valueAt(key []byte, h types.Height) ([]byte, error) {
	st, err := s.chain.StateAt(h)
	if err != nil {
		return nil, err
	}
	value, err := st.Get(key)
	return value, errors.Join(err, st.Close())
}

func (s *Server) getAccountProof(ctx context.Context, p api.AccountProofParams) (api.AccountProof, error) {
	account, err := s.account(p.Account)
	if err != nil {
		return api.AccountProof{}, err
	}
	proof, err := s.prove(ctx, state.AccountKey(account), p.Block)
	if err != nil {
		return api.AccountProof{}, err
	}
	return newProof(proof), nil
}

// live refuses the latest state of a node that has halted: the chain's is another one. A block that is named by its height
// was verified, and so is the state after it.
func (s *Server) live(block api.BlockRef) error {
	following := s.node.Following()
	if following == nil || block != api.Latest() {
		return nil
	}
	if cause := following.Halted(); cause != "" {
		return withData(api.ErrHalted, "cause", cause, "height", s.chain.Head().Header.Height)
	}
	return nil
}

func (s *Server) getNodeInfo(context.Context, api.NoParams) (api.NodeInfo, error) {
	tip := s.ledger.Tip()
	hash, err := s.genesisHash()
	if err != nil {
		return api.NodeInfo{}, err
	}
	var proofs *api.ProofRange
	stored, err := s.chain.Proofs()
	switch {
	case err == nil:
		proofs = &api.ProofRange{Oldest: stored.Oldest, Newest: stored.Newest}
	case !errors.Is(err, chain.ErrNotFound):
		return api.NodeInfo{}, err
	}
	info := api.NodeInfo{
		Version: s.build.Version, Build: api.Build{Commit: s.build.Commit, Date: s.build.Date, Modified: s.build.Modified, Go: s.build.Go, OS: s.build.OS, Arch: s.build.Arch},
		Network: s.network, Mode: s.node.Mode(), BlockHeight: s.chain.Head().Header.Height,
		ProtocolPublicKey: hex.EncodeToString(tip.Parameters.Producer[:]), PeerCount: s.node.PeerCount() + s.followers.count(time.Now()),
		ChainID: s.chainID, GenesisHash: hash, ProtocolVersion: tip.Parameters.Version,
		ScheduleDigest: params.Schedule1.Digest(), Verification: s.verification, OldestHeight: s.chain.OldestHeight(),
		Override: s.override, Proofs: proofs,
	}
	if following := s.node.Following(); following != nil {
		primary := following.Primary()
		info.Primary = &primary
	}
	if key, ok := s.node.ProducerKey(); ok {
		text := hex.EncodeToString(key[:])
		info.ProducerKey = &text
	}
	return info, nil
}

func (s *Server) getSyncStatus(context.Context, api.NoParams) (api.SyncStatus, error) {
	return s.SyncStatus(), nil
}

// SyncStatus tells how far the node is. A primary has every block that there is.
func (s *Server) SyncStatus() api.SyncStatus {
	if following := s.node.Following(); following != nil {
		status := following.SyncStatus()
		status.Mode = s.node.Mode()
		return status
	}
	head := s.chain.Head().Header.Height
	status := api.SyncStatus{Mode: s.node.Mode(), Synced: true, LocalHeight: head, PrimaryHeight: head, Upstreams: []api.Upstream{}}
	var reason string
	if status.State, reason = s.node.State(); reason != "" {
		status.Reason = &reason
	}
	return status
}
