package rpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// tokenHandlers makes the view calls of NEP-20, and the NEP-11 calls that differ from them only in a parameter's name.
type tokenHandlers struct {
	*viewHandlers
	codes   codeStore
	network types.Network
}

func (h *tokenHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetTokenBalance, h.getTokenBalance).in(h.executions.lane),
		bind(e, api.GetTokenHolders, h.getTokenHolders).in(h.executions.lane),
	}
}

func (h *tokenHandlers) getTokenBalance(
	ctx context.Context, p api.GetTokenBalanceParams,
) (balance api.TokenBalance, err error) {
	account, err := parseAccount(h.network, p.Account)
	if err != nil {
		return balance, err
	}
	v, err := h.view(p.Block)
	if err != nil {
		return balance, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	units, err := h.balance(ctx, v, p.Token, account)
	if err != nil {
		return balance, err
	}
	decimals, err := v.number(ctx, p.Token, "decimals", nil, 32)
	return api.TokenBalance{Balance: api.Quantity(units), Decimal: api.Decimal{Units: units, Places: uint32(decimals)}}, err
}

// Names of the account parameter of balanceOf in the standards.
const (
	nep20Holder = "address"
	nep11Holder = "owner"
)

// balance calls balanceOf as NEP-20 defines it, for which the code need not be read. If that fails, it calls balanceOf
// as the token's ABI declares it.
func (h *tokenHandlers) balance(
	ctx context.Context, v *viewer, token types.ContractID, account types.Account,
) (uint64, error) {
	units, err := v.number(ctx, token, "balanceOf", balanceOf(nep20Holder, account), 64)
	if err == nil || ctx.Err() != nil {
		return units, err
	}
	parameter, unknown := h.holderParameter(v.state, token)
	switch {
	case unknown != nil:
		return 0, errors.Join(err, unknown)
	case parameter == nep20Holder:
		return 0, err
	}
	return v.number(ctx, token, "balanceOf", balanceOf(parameter, account), 64)
}

// holderParameter returns a contract's name for the account parameter of balanceOf. The default is NEP-20's.
func (h *tokenHandlers) holderParameter(st *chain.State, token types.ContractID) (string, error) {
	record, err := contractRecord(st, token)
	if err != nil {
		return "", err
	}
	code, err := h.codes.Code(record.CodeHash)
	if err != nil {
		return "", err
	}
	declared, err := abi.FromCode(code)
	if err != nil {
		return nep20Holder, nil // it has no ABI
	}
	f, ok := declared.Function("balanceOf")
	if ok && len(f.Args) == 1 && f.Args[0].Name == nep11Holder {
		return nep11Holder, nil
	}
	return nep20Holder, nil
}

// balanceOf returns the arguments of a token's balanceOf.
func balanceOf(parameter string, account types.Account) []byte {
	return fmt.Appendf(nil, `{%q:%q}`, parameter, account)
}

// number calls a function of a token that returns an integer of size bits.
func (v *viewer) number(
	ctx context.Context, token types.ContractID, function string, args []byte, size int,
) (uint64, error) {
	output, err := v.call(ctx, token, function, args)
	if err != nil {
		return 0, err
	}
	return tokenNumber(output, function, size)
}

// tokenNumber parses an integer as contracts return it: a JSON number or a decimal string.
func tokenNumber(output []byte, function string, size int) (uint64, error) {
	text := string(bytes.TrimSpace(output))
	var quoted string
	if json.Unmarshal(output, &quoted) == nil {
		text = quoted
	}
	n, err := strconv.ParseUint(text, 10, size)
	if err != nil {
		return 0, withData(api.ErrNoToken, "function", function)
	}
	return n, nil
}

func (h *tokenHandlers) getTokenHolders(
	ctx context.Context, p api.GetTokenHoldersParams,
) (holders []api.TokenHolder, err error) {
	count, err := memberLimit("page", p.Page.Limit, api.DefaultHolders, api.MaxHolders)
	if err != nil {
		return nil, err
	}
	var after chain.Rank
	if text := p.Page.Cursor; text != "" {
		if len(text) != 2*len(after) {
			return nil, withData(api.ErrBadCursor, "param", "page", "member", "cursor")
		}
		if _, err := hex.Decode(after[:], []byte(text)); err != nil {
			return nil, withData(api.ErrBadCursor, "param", "page", "member", "cursor")
		}
	}
	v, err := h.view(api.Latest())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	parameter, err := h.holderParameter(v.state, p.Token)
	if err != nil {
		return nil, err
	}
	holders = []api.TokenHolder{}
	for len(holders) == 0 { // an empty page would mean the end
		found, err := v.state.Holders(p.Token, after, count)
		if err != nil || len(found) == 0 {
			return holders, err
		}
		if holders, err = v.confirm(ctx, p.Token, parameter, found); err != nil {
			return nil, err
		}
		after = found[len(found)-1].Rank
	}
	return holders, nil
}

// confirm reads the balances of holders from the token and omits holders without any.
func (v *viewer) confirm(
	ctx context.Context, token types.ContractID, parameter string, found []chain.Holder,
) ([]api.TokenHolder, error) {
	calls := make([]api.ViewCallItem, len(found))
	for i, h := range found {
		calls[i] = api.ViewCallItem{Contract: token, Function: "balanceOf", Args: balanceOf(parameter, h.Account)}
	}
	results, err := viewAll(ctx, v, calls)
	if err != nil {
		return nil, err
	}
	holders := make([]api.TokenHolder, 0, len(found))
	for i, r := range results {
		if !r.Success {
			return nil, r.Error
		}
		balance, err := tokenNumber(r.Result, "balanceOf", 64)
		if err != nil {
			return nil, err
		}
		if balance > 0 {
			holders = append(holders, api.TokenHolder{
				Address: found[i].Account, Balance: api.Quantity(balance), BlockHeight: v.state.Height(),
				Cursor: hex.EncodeToString(found[i].Rank[:]),
			})
		}
	}
	slices.SortFunc(holders, func(a, b api.TokenHolder) int {
		return cmp.Or(cmp.Compare(b.Balance, a.Balance), a.Address.Compare(b.Address))
	})
	if len(holders) > 0 { // the next page begins after the last one looked at, whatever the order of balances
		holders[len(holders)-1].Cursor = hex.EncodeToString(found[len(found)-1].Rank[:])
	}
	return holders, nil
}
