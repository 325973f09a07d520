package session

import (
	"context"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/types"
)

// Contract parses a contract argument, which has the form of an account, and asks the node for its chain.
func (s *Session) Contract(ctx context.Context, text string) (types.ContractID, argument.Chain, error) {
	account, err := s.Account(text)
	if err != nil {
		return types.ContractID{}, argument.Chain{}, err
	}
	chain, err := s.Chain(ctx)
	if err != nil {
		return types.ContractID{}, argument.Chain{}, err
	}
	return types.ContractID(account.ID), chain, output.Usage(account.On(chain))
}
