package cli

import (
	"encoding/json"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// The JSON output of commands, as far as tests read it.
type (
	printedKey struct {
		Account                     types.Account
		Network                     types.Network
		Address, Kind, Policy, Path string
	}
	printedPolicy struct {
		Account types.Account
		Address string
		Policy  types.Policy
		Encoded api.Data
	}
	printedDraft struct {
		Hash     types.TxID
		Text     []string
		Missing  []struct{ Count int }
		Complete bool
	}
	printedCall struct {
		Result json.RawMessage
		Trace  *struct{ GasUsed api.Quantity }
	}
	printedPromotion struct {
		Producer           types.PublicKey
		TransactionHash    types.TxID
		Height, FirstBlock types.Height
		Setting            string
	}
	printedArguments struct {
		Args, Value json.RawMessage
		Binary      *api.Data
	}
	printedTest struct {
		Calls     int
		Functions map[string]*struct{ Succeeded int }
		Coverage  *printedCoverage
	}
	printedCoverage struct {
		Functions, Blocks, Lines struct{ Ran, Of int }
	}
)
