package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// accountHandlers implements the methods on who may sign for an account.
type accountHandlers struct {
	*liveness
	chain   policyStore
	genesis types.Genesis
}

func (h *accountHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetAccount, h.getAccount),
		bind(e, api.GetSigningText, h.getSigningText),
		bind(e, api.VerifyMessage, h.verifyMessage),
	}
}

// accountRecord is an account's record after a block.
type accountRecord struct {
	state.Account
	header   types.Header
	contract bool
}

// record reads an account after a block.
func (h *accountHandlers) record(account types.Account, block api.BlockRef) (record accountRecord, err error) {
	if err := h.live(block); err != nil {
		return record, err
	}
	head := h.chain.Head().Header.Height
	st, err := h.chain.StateAt(block.Resolve(head))
	if err != nil {
		return record, aboveHead(err, head)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	header, err := h.chain.Header(st.Height())
	if err != nil {
		return record, err
	}
	encoded, err := st.Get(state.AccountKey(account))
	if err != nil {
		return record, err
	}
	code, err := st.Get(state.ContractKey(types.ContractID(account)))
	if err != nil {
		return record, err
	}
	record.header, record.contract = header.Header, len(code) > 0
	record.Account, err = state.DecodeAccount(account, encoded)
	return record, err
}

func (h *accountHandlers) getAccount(_ context.Context, p api.GetAccountParams) (api.Account, error) {
	account, err := parseAccount(h.genesis.Network, p.Account)
	if err != nil {
		return api.Account{}, err
	}
	record, err := h.record(account, p.Block)
	if err != nil {
		return api.Account{}, err
	}
	now := record.At(record.header.Timestamp)
	result := api.Account{
		Account:     account,
		Address:     h.genesis.Network.Address(account),
		BlockHeight: record.header.Height,
		Balance:     api.Quantity(now.Balance),
		Nonce:       api.Quantity(now.Nonce),
		Authority:   now.AuthorityAt(account, record.header.Timestamp),
		Contract:    record.contract,
	}
	if pending := now.Pending; pending != nil {
		result.Recovery = &api.PendingRecovery{Authority: pending.Next, From: pending.From}
	}
	return result, h.addPolicies(&result)
}

// addPolicies adds the policies behind the authorities of an account, if blocks have revealed them.
func (h *accountHandlers) addPolicies(of *api.Account) (err error) {
	if of.Policy, err = h.policy(of.Authority); err == nil && of.Recovery != nil {
		of.Recovery.Policy, err = h.policy(of.Recovery.Authority)
	}
	return err
}

// policy returns the policy with a hash, or nil if no block has revealed one.
func (h *accountHandlers) policy(hash types.Account) (*types.Policy, error) {
	p, err := h.chain.Policy(hash)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	return &p, err
}

func (h *accountHandlers) getSigningText(_ context.Context, p api.SigningTextParams) (api.SigningText, error) {
	tx, err := decodeCall(p.Transaction)
	if err != nil {
		return api.SigningText{}, err
	}
	if tx.ChainID != h.genesis.ChainID {
		return api.SigningText{}, withData(api.ErrWrongChain, "chainId", api.Quantity(h.genesis.ChainID))
	}
	id := tx.Hash()
	result := api.SigningText{Role: api.RoleSender, Account: tx.Sender, Hash: types.Digest(id), ID: id}
	text, ok := tx.Text(h.genesis.Network)
	if p.Role == api.RolePayer {
		if tx.Payer == nil {
			return api.SigningText{}, withMessage(api.ErrBadPayer, "the transaction has no such field")
		}
		result.Role, result.Account, result.Hash = api.RolePayer, *tx.Payer, types.PayerHash(id)
		text, ok = tx.PayerText(h.genesis.Network)
	}
	if ok {
		result.Text, result.Signable = &text, len(text) <= types.MaxTextBytes
	}
	return result, nil
}

func (h *accountHandlers) verifyMessage(_ context.Context, p api.VerifyMessageParams) (api.MessageVerdict, error) {
	account, err := parseAccount(h.genesis.Network, p.Account)
	if err != nil {
		return api.MessageVerdict{}, err
	}
	if len(p.Message) > api.MaxMessageBytes {
		return api.MessageVerdict{}, jsonrpc.InvalidParam(
			"message", "a message must have at most 1,024 bytes", "reason", "out_of_range", "max", api.MaxMessageBytes,
		)
	}
	if len(p.Witness) > api.MaxMessageWitnessBytes {
		return api.MessageVerdict{}, jsonrpc.InvalidParam(
			"witness", "a witness for a message must have at most 8,192 bytes", "reason", "out_of_range", "max",
			api.MaxMessageWitnessBytes,
		)
	}
	witness, err := types.DecodeWitness(p.Witness)
	if err != nil {
		return api.MessageVerdict{}, withMessage(api.ErrUndecodable, "not a witness")
	}
	record, err := h.record(account, p.Block)
	if err != nil {
		return api.MessageVerdict{}, err
	}
	var contract types.ContractID
	if p.Contract != nil {
		contract = *p.Contract
	}
	network, chainID := h.genesis.Network, h.genesis.ChainID
	verdict := api.MessageVerdict{
		Authority: record.AuthorityAt(account, record.header.Timestamp),
		Hash:      types.MessageHash(chainID, contract, account, p.Message),
		Text:      types.MessageText(network, chainID, contract, account, p.Message),
	}
	policy, is := witness.(types.WitnessPolicy)
	switch {
	case is && policy.Policy.Check() != nil:
		verdict.Reason = new("bad_policy")
	case witness.Claim(account) != verdict.Authority:
		verdict.Reason = new("wrong_policy")
	case !types.VerifyMessage(network, chainID, contract, account, p.Message, witness):
		verdict.Reason = new("bad_signature")
	default:
		verdict.Valid = true
	}
	return verdict, nil
}
