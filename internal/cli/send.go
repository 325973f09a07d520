package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/cli/argument"
	"github.com/cairn-chain/cairn/internal/cli/output"
)

func (a *app) newSend() *cobra.Command {
	var flags submission
	command := a.completeNames(a.define(&cobra.Command{
		Use:   "send TO AMOUNT",
		Short: "Send coins to an account",
		Long: `Send coins to an account and wait until the transfer is in a block.

An account is a taproot address, a public key in hex, a name of the keystore, or, on a development chain, dev0 to dev9.
An amount is "1.5" in coins or "150000000u" in smallest units.`,
		Example: `  cairn send bob 1.5 --from alice
  cairn send dev1 150000000u --from dev0 --json
  cairn send bob 1 --from alice --dry-run`,
		Args: exactly("TO", "AMOUNT"),
	}, senderSettings, func(ctx context.Context, s *session, command *cobra.Command, args []string) error {
		amount, err := argument.ParseAmount(args[1])
		if err != nil {
			return output.Usage(err)
		}
		to, err := s.account(args[0])
		if err != nil {
			return err
		}
		from, err := s.sender(flags.dryRun)
		if err != nil {
			return err
		}
		if err := s.onChain(ctx, from, to); err != nil {
			return err
		}
		return flags.submit(ctx, s, command, from.ID, client.Transfer(to.ID, amount), s.keyOf(ctx, from))
	}))
	flags.register(command)
	flags.registerGasLimit(command)
	return command
}

// sender is the account that sends; unless nothing is signed, its key must be here.
func (s *session) sender(unsigned bool) (argument.Account, error) {
	if s.settings.From == "" {
		return argument.Account{}, output.Usage(errors.New("who sends is not known: give --from"))
	}
	from, err := s.account(s.settings.From)
	if err != nil || unsigned {
		return from, err
	}
	return from, output.Usage(from.CanSign())
}

// keyOf tells how to get an account's private key.
func (s *session) keyOf(ctx context.Context, from argument.Account) func() (crypto.PrivateKey, error) {
	return func() (crypto.PrivateKey, error) {
		return from.Key(s.store, func(name string) (string, error) { return s.password(ctx, name) })
	}
}

// onChain checks that accounts can be used on the node's chain; one that cannot is wrong usage.
func (s *session) onChain(ctx context.Context, accounts ...argument.Account) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	chain, err := s.chain(ctx)
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
