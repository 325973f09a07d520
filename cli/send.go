package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newSend() *cobra.Command {
	var flags submission
	var anyRecipient bool
	var memo string
	command := a.completeNames(a.define(&cobra.Command{
		Use:   "send TO AMOUNT",
		Short: "Send coins to an account",
		Long: `Send coins to an account, and wait until the transfer is in a block.

An account is a taproot address, a public key in hex, a name in the keystore or, on a
development chain, dev0 to dev9. An amount is "1.5" in coins or "150000000u" in smallest
units; "all" sends the whole balance minus the fee.

A memo for the recipient's records is at most 32 bytes of text, or 0x and 64 hex digits.
With --payer another account pays the fee. If the sender's account has a policy, its
signers' keys in the keystore sign; for signers elsewhere, --draft writes the
transaction to a file.`,
		Example: `  cairn send bob 1.5 --from alice
  cairn send dev1 150000000u --from dev0 --json
  cairn send bob 1 --from alice --dry-run
  cairn send bob all --from alice
  cairn send shop 20 --from alice --memo "invoice 1001" --payer company --valid-for 2m
  cairn send bob 5 --from treasury --draft payment.json`,
		Args: exactly("TO", "AMOUNT"),
	}, senderSettings, func(ctx context.Context, s *session, command *cobra.Command, args []string) error {
		var amount types.Amount
		all, err := args[1] == "all", error(nil)
		if !all {
			amount, err = argument.ParseAmount(args[1])
		} else {
			err = sweepFlags(command)
		}
		if err == nil {
			err = flags.check()
		}
		if err != nil {
			return output.Usage(err)
		}
		action := client.Transfer(types.Account{}, amount)
		if memo != "" {
			parsed, err := parseMemo(memo)
			if err != nil {
				return output.Usage(err)
			}
			action = client.TransferWithMemo(types.Account{}, amount, parsed)
		}
		to, err := s.account(args[0])
		if err != nil {
			return err
		}
		from, err := s.sender(flags.unsigned())
		if err != nil {
			return err
		}
		if err := s.onChain(ctx, from, to); err != nil {
			return err
		}
		if to.IsHex() && !anyRecipient {
			if err := s.checkRecipient(ctx, to.ID); err != nil {
				return err
			}
		}
		if all {
			return flags.sweep(ctx, s, to.ID, from)
		}
		action.Target = to.ID
		return flags.submit(ctx, s, command, from, action)
	}))
	flags.register(a, command)
	flags.registerGasLimit(command)
	command.Flags().BoolVar(&anyRecipient, "any-recipient", false,
		"also accept as recipient 32 bytes in hex that are neither a valid key nor a known account: after a typing "+
			"error the coins are lost")
	command.Flags().StringVar(&memo, "memo", "", "memo of the payment: text of at most 32 bytes, or 0x and 64 hex "+
		"digits")
	return command
}

// parseMemo reads a memo: text, or 32 bytes in hex.
func parseMemo(text string) ([32]byte, error) {
	if digits, is := strings.CutPrefix(text, "0x"); is {
		if raw, err := hex.DecodeString(digits); err == nil && len(raw) == 32 {
			return [32]byte(raw), nil
		}
	}
	return client.Memo(text)
}

// checkRecipient refuses an account in hex that looks like a typing error.
func (s *session) checkRecipient(ctx context.Context, to types.Account) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	err := s.client.CheckRecipient(ctx, to)
	if errors.Is(err, client.ErrNobody) {
		return output.Usage(fmt.Errorf("%w; use an address, which has a checksum, or send anyway with --any-recipient", err))
	}
	return err
}

// sweepFlags refuses flags that make no sense for a sweep.
func sweepFlags(command *cobra.Command) error {
	for _, name := range []string{nonceFlag, gasLimitFlag, priorityFeeFlag, "dry-run", draftFlag, "memo"} {
		if command.Flags().Changed(name) {
			return fmt.Errorf("--%s cannot be combined with \"all\": amount, gas and fee depend on each other", name)
		}
	}
	return nil
}

// sweepPoll is the polling interval of a sweep.
const sweepPoll = 100 * time.Millisecond

// sweep sends the sender's whole balance, and waits for inclusion if the flags say so.
func (f *submission) sweep(ctx context.Context, s *session, to types.Account, from argument.Account) error {
	keys, err := f.unlock(ctx, s, from, types.Transfer{})
	if err != nil {
		return err
	}
	sending, cancel := s.patience(ctx)
	defer cancel()
	all, err := sender.Open(sending, s.client, keys.sender, sender.Options{
		MaxFee: types.Amount(f.maxFee), Poll: sweepPoll, Payer: keys.payer, ValidFor: f.validFor,
	})
	if err != nil {
		return err
	}
	receipt, err := f.awaitSweep(sending, s, all, to)
	err = errors.Join(err, all.Close())
	if err != nil || receipt == nil {
		return err
	}
	return s.included(ctx, *receipt)
}

// awaitSweep sends the sweep. The receipt is nil if the flags say not to wait.
func (f *submission) awaitSweep(
	ctx context.Context, s *session, all *sender.Sender, to types.Account,
) (*api.Receipt, error) {
	sent, err := all.SendAll(ctx, to, sender.Job{})
	if err != nil {
		return nil, err
	}
	id, err := sent.Accepted(ctx)
	var poor *sender.InsufficientForFee
	switch {
	case errors.As(err, &poor):
		return nil, fmt.Errorf("insufficient balance: the sender has %s, and the fee is %s", coins(poor.Balance), coins(poor.Needed))
	case err != nil:
		return nil, err
	case f.noWait:
		s.Note("If somebody else creates the recipient's account first, the gas reserved for that stays in this " +
			"account: send all once more")
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
		return argument.Account{}, output.Usage(errors.New("no sender given: use --from"))
	}
	from, err := s.account(s.settings.From)
	if err != nil || unsigned {
		return from, err
	}
	return from, output.Usage(from.CanSign())
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
