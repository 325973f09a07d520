package submit

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
)

// Sender returns the sending account. Its key must be available unless nothing is signed.
func Sender(s *session.Session, unsigned bool) (argument.Account, error) {
	if s.Settings.From == "" {
		return argument.Account{}, output.Usage(errors.New("no sender given: use --from"))
	}
	from, err := s.Account(s.Settings.From)
	if err != nil || unsigned {
		return from, err
	}
	return from, output.Usage(from.CanSign())
}

// OnChain checks that accounts are valid on the node's chain; otherwise the error is a usage error.
func OnChain(ctx context.Context, s *session.Session, accounts ...argument.Account) error {
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	chain, err := s.Chain(ctx)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if err := account.On(chain); err != nil {
			return output.Usage(err)
		}
	}
	return nil
}
