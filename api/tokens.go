package api

import "github.com/cairn-chain/cairn/types"

// Methods on tokens that follow NEP-20 (docs/protocol.md, "Conventions above consensus").
var (
	GetTokenBalance = define[GetTokenBalanceParams, TokenBalance]("svc_getTokenBalance",
		"An account's balance of a token, as the token's contract answers.",
		with(viewErrors, ErrBadAccount, ErrWrongNetwork, ErrNoToken)...)
	GetTokenHolders = define[GetTokenHoldersParams, []TokenHolder]("svc_getTokenHolders",
		"A token's holders, the largest balance first, found by Transfer events and confirmed by the contract. "+
			"The next page begins at the last item's cursor; an empty page is the end.",
		with(viewErrors, ErrOutOfRange, ErrBadCursor, ErrNoToken)...)
)

// Bounds of [GetTokenHolders].
const (
	DefaultHolders = 100
	MaxHolders     = 1000
)

// GetTokenBalanceParams are the parameters of [GetTokenBalance].
type GetTokenBalanceParams struct {
	Token   types.ContractID `json:"token" doc:"the token's contract"`
	Account string           `json:"account" doc:"a taproot address, or a public key in hex"`
	Block   BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// TokenBalance is the result of [GetTokenBalance].
type TokenBalance struct {
	Balance Quantity `json:"balance" doc:"in smallest units of the token"`
	Decimal Decimal  `json:"balanceDecimal" doc:"in whole tokens: the balance by 10^decimals, with all digits; 0 for more than 255 decimals"`
}

// GetTokenHoldersParams are the parameters of [GetTokenHolders].
type GetTokenHoldersParams struct {
	Token types.ContractID `json:"token" doc:"the token's contract"`
	Page  HolderPage       `json:"page" jsonrpc:"optional" doc:"selects a part of the list"`
}

// HolderPage selects a part of a token's holders.
type HolderPage struct {
	Limit  *uint64 `json:"limit,omitempty" doc:"maximum number of items, 1 to 1,000; 100 by default"`
	Cursor string  `json:"cursor,omitempty" doc:"the cursor of the last item seen"`
}

// TokenHolder is an item of the result of [GetTokenHolders].
type TokenHolder struct {
	Address     types.Account `json:"address" doc:"the holder"`
	Balance     Quantity      `json:"balance" doc:"its balance in smallest units of the token, never 0"`
	BlockHeight types.Height  `json:"block_height" doc:"the block after which the balance holds"`
	Cursor      string        `json:"cursor" doc:"the cursor of the next item"`
}
