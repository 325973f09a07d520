package keys

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

func newSend(a *session.App) *cobra.Command {
	var flags submit.Flags
	var anyRecipient bool
	var memo string
	command := a.CompleteNames(a.Define(&cobra.Command{
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
		Args: invoke.Exactly("TO", "AMOUNT"),
	}, session.SenderSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		var amount types.Amount
		all, err := args[1] == "all", error(nil)
		if !all {
			amount, err = argument.ParseAmount(args[1])
		} else {
			err = sweepFlags(command)
		}
		if err == nil {
			err = flags.Check()
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
		to, err := s.Account(args[0])
		if err != nil {
			return err
		}
		from, err := submit.Sender(s, flags.Unsigned())
		if err != nil {
			return err
		}
		if err := submit.OnChain(ctx, s, from, to); err != nil {
			return err
		}
		if to.IsHex() && !anyRecipient {
			if err := checkRecipient(ctx, s, to.ID); err != nil {
				return err
			}
		}
		if all {
			return flags.Sweep(ctx, s, to.ID, from)
		}
		action.Target = to.ID
		return flags.Submit(ctx, s, command, from, action)
	}))
	flags.Register(a, command)
	flags.RegisterGasLimit(command)
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
func checkRecipient(ctx context.Context, s *session.Session, to types.Account) error {
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	err := s.Client.CheckRecipient(ctx, to)
	if errors.Is(err, client.ErrNobody) {
		return output.Usage(fmt.Errorf("%w; use an address, which has a checksum, or send anyway with --any-recipient", err))
	}
	return err
}

// sweepFlags refuses flags that make no sense for a sweep.
func sweepFlags(command *cobra.Command) error {
	for _, name := range []string{submit.NonceFlag, submit.GasLimitFlag, submit.PriorityFeeFlag, "dry-run",
		submit.DraftFlag, "memo"} {
		if command.Flags().Changed(name) {
			return fmt.Errorf("--%s cannot be combined with \"all\": amount, gas and fee depend on each other", name)
		}
	}
	return nil
}
