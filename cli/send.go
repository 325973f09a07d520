package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newSend() *cobra.Command {
	var flags submission
	var anyRecipient bool
	command := a.completeNames(a.define(&cobra.Command{
		Use:   "send TO AMOUNT",
		Short: "Send coins to an account",
		Long: `Send coins to an account and wait until the transfer is in a block.

An account is a taproot address, a public key in hex, a name of the keystore, or, on a development chain, dev0 to dev9.
An amount is "1.5" in coins or "150000000u" in smallest units. "all" leaves the sender nothing: it is the balance
without the fee.`,
		Example: `  cairn send bob 1.5 --from alice
  cairn send dev1 150000000u --from dev0 --json
  cairn send bob 1 --from alice --dry-run
  cairn send bob all --from alice`,
		Args: exactly("TO", "AMOUNT"),
	}, senderSettings, func(ctx context.Context, s *session, command *cobra.Command, args []string) error {
		var amount types.Amount
		all, err := args[1] == "all", error(nil)
		if !all {
			amount, err = argument.ParseAmount(args[1])
		} else {
			err = sweepFlags(command)
		}
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
		if !anyRecipient {
			if err := s.checkRecipient(ctx, to.ID); err != nil {
				return err
			}
		}
		if all {
			return flags.sweep(ctx, s, to.ID, s.keyOf(ctx, from))
		}
		return flags.submit(ctx, s, command, from.ID, client.Transfer(to.ID, amount), s.keyOf(ctx, from))
	}))
	flags.register(command)
	flags.registerGasLimit(command)
	command.Flags().BoolVar(&anyRecipient, "any-recipient", false,
		"send also to a key in hex that nobody can have and that is no contract: the coins are lost")
	return command
}

// checkRecipient refuses an account that nobody can own.
func (s *session) checkRecipient(ctx context.Context, to types.Account) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	err := s.client.CheckRecipient(ctx, to)
	if errors.Is(err, client.ErrNobody) {
		return output.Usage(fmt.Errorf("%w; an address has a checksum, prefer it. --any-recipient sends all the same", err))
	}
	return err
}

// sweepFlags refuses flags that make no sense for a sweep.
func sweepFlags(command *cobra.Command) error {
	for _, name := range []string{nonceFlag, gasLimitFlag, priorityFeeFlag, "dry-run"} {
		if command.Flags().Changed(name) {
			return fmt.Errorf("--%s does not go with all: amount, gas and fee depend on each other", name)
		}
	}
	return nil
}

// sweepPoll is the polling interval of a sweep.
const sweepPoll = 100 * time.Millisecond

// sweep sends the sender's whole balance, and waits for inclusion if the flags say so.
func (f *submission) sweep(
	ctx context.Context, s *session, to types.Account, key func() (crypto.PrivateKey, error),
) error {
	private, err := key()
	if err != nil {
		return err
	}
	sending, cancel := s.patience(ctx)
	defer cancel()
	all, err := sender.Open(sending, s.client, client.NewSigner(private), sender.Options{
		MaxFee: types.Amount(f.maxFee), Poll: sweepPoll,
	})
	if err != nil {
		return err
	}
	receipt, err := f.await(sending, s, all, to)
	err = errors.Join(err, all.Close())
	if err != nil || receipt == nil {
		return err
	}
	return s.included(ctx, *receipt)
}

// await sends the sweep. The receipt is nil if the flags say not to wait.
func (f *submission) await(
	ctx context.Context, s *session, all *sender.Sender, to types.Account,
) (*api.Receipt, error) {
	sent, err := all.SendAll(ctx, to, sender.Job{AnyRecipient: true}) // invalid recipients were refused before
	if err != nil {
		return nil, err
	}
	id, err := sent.Accepted(ctx)
	var poor *sender.InsufficientForFee
	switch {
	case errors.As(err, &poor):
		return nil, fmt.Errorf("the sender has %s, and the fee is %s", coins(poor.Balance), coins(poor.Needed))
	case err != nil:
		return nil, err
	case f.noWait:
		s.Note("If another creates the recipient's account first, the gas for that stays here: then send all once more, or wait")
		return nil, s.accepted(id)
	}
	s.Note("Sent transaction %s", id)
	stop := s.Spin(s.terminal, "Waiting for a block")
	receipt, err := sent.Receipt(ctx)
	stop()
	return &receipt, err
}

// sender returns the sending account. Its key must be available unless nothing is signed.
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

// keyOf returns a function that returns an account's private key.
func (s *session) keyOf(ctx context.Context, from argument.Account) func() (crypto.PrivateKey, error) {
	return func() (crypto.PrivateKey, error) {
		return from.Key(s.store, func(name string) (string, error) { return s.password(ctx, name) })
	}
}

// onChain checks that accounts are valid on the node's chain; otherwise the error is a usage error.
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
