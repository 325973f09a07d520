package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// cancelledTransaction is the result of cairn cancel.
type cancelledTransaction struct {
	Cancelled       types.TxID `json:"cancelled"` // the transaction that no block will include
	submit.Included            // the transaction that used its nonce
}

func newCancel(a *session.App) *cobra.Command {
	var flags submit.Flags
	command := a.Define(&cobra.Command{
		Use:   "cancel HASH|NONCE",
		Short: "Cancel a pending transaction",
		Long: `Cancel a pending transaction by replacing it: a transfer of 0 coins to the sender itself
takes its nonce, with both fees at least 10 % higher. The command waits until the
replacement is in a block; you pay its fee. If the original is in a block first, nothing
is cancelled.`,
		Example: `  cairn cancel 0x4f1c… --from alice
  cairn cancel 7 --from alice
  cairn cancel 7 --from alice --dry-run`,
		Args: invoke.Exactly("HASH|NONCE"),
	}, session.SenderSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		which, err := parsePending(args[0])
		if err != nil {
			return output.Usage(err)
		}
		from, err := submit.Sender(s, flags.Unsigned())
		if err != nil {
			return err
		}
		if err := submit.OnChain(ctx, s, from); err != nil {
			return err
		}
		asking, cancel := s.Patience(ctx)
		defer cancel()
		old, err := findPending(asking, s, from.ID, which)
		if err != nil {
			return err
		}
		fields, err := outbid(asking, s, old, flags.Fields(command))
		if err != nil {
			return err
		}
		receipt, err := flags.SendWith(ctx, s, from, client.Transfer(from.ID, 0), fields)
		if errors.Is(err, api.ErrNonceTooLow) { // a block took the transaction meanwhile
			looking, cancel := s.Patience(ctx)
			defer cancel()
			return usedBy(looking, s, from.ID, uint64(old.Nonce), err)
		}
		if receipt == nil || err != nil {
			return err
		}
		return cancelled(ctx, s, old.Hash, *receipt)
	})
	flags.RegisterSending(a, command)
	return command
}

// pendingRef names a pending transaction of an account: by its hash, or else by its nonce.
type pendingRef struct {
	hash  types.TxID
	nonce uint64
}

func parsePending(text string) (pendingRef, error) {
	if nonce, err := strconv.ParseUint(text, 10, 64); err == nil {
		return pendingRef{nonce: nonce}, nil
	}
	id, err := argument.ParseTxID(text)
	return pendingRef{hash: id}, err
}

// findPending returns the pending transaction of an account that a reference names.
func findPending(
	ctx context.Context, s *session.Session, from types.Account, which pendingRef,
) (api.PendingTransaction, error) {
	list, err := s.Client.PendingTransactions(ctx, api.PendingFilter{
		Sender: from.String(), Limit: new(uint64(api.MaxPending)),
	})
	if err != nil {
		return api.PendingTransaction{}, err
	}
	at := slices.IndexFunc(list, func(tx api.PendingTransaction) bool {
		if which.hash.IsZero() {
			return uint64(tx.Nonce) == which.nonce
		}
		return tx.Hash == which.hash
	})
	if at >= 0 {
		return list[at], nil
	}
	if !which.hash.IsZero() {
		tx, err := s.Client.Transaction(ctx, which.hash)
		if err == nil && tx != nil && tx.BlockHeight != nil {
			err = fmt.Errorf("transaction %s is in block %d", tx.Hash, *tx.BlockHeight)
		}
		return api.PendingTransaction{}, errors.Join(err, errNotPending(which.hash.String()))
	}
	return api.PendingTransaction{}, usedBy(ctx, s, from, which.nonce, errNotPending(fmt.Sprintf("with nonce %d", which.nonce)))
}

func errNotPending(which string) error {
	return fmt.Errorf("this account has no pending transaction %s", which)
}

// usedBy returns an error that names the included transaction with a nonce, or the error otherwise if none is known.
func usedBy(ctx context.Context, s *session.Session, from types.Account, nonce uint64, otherwise error) error {
	tx, err := s.Client.TransactionByNonce(ctx, from, nonce)
	if err != nil || tx == nil || tx.BlockHeight == nil {
		return errors.Join(otherwise, err)
	}
	return fmt.Errorf("too late: transaction %s with this nonce is in block %d", tx.Hash, *tx.BlockHeight)
}

// outbid returns the fields of a replacement for a transaction: the same nonce, and fees that are at least a tenth
// higher. Lower fees given on the command line are a usage error.
func outbid(
	ctx context.Context, s *session.Session, old api.PendingTransaction, given client.TxFields,
) (client.TxFields, error) {
	leastMax, err := client.Outbid(types.Amount(old.MaxFeePerGas))
	if err != nil {
		return given, err
	}
	leastPriority, err := client.Outbid(types.Amount(old.MaxPriorityFeePerGas))
	if err != nil {
		return given, err
	}
	price, err := s.Client.GasPrice(ctx)
	if err != nil {
		return given, err
	}
	fields := client.TxFields{
		Nonce: new(uint64(old.Nonce)), MaxFee: given.MaxFee, Priority: given.Priority, ValidFor: given.ValidFor,
	}
	if fields.MaxFee == nil {
		fields.MaxFee = new(max(leastMax, types.Amount(price.SuggestedMaxFee)))
	}
	if fields.Priority == nil {
		fields.Priority = new(min(max(leastPriority, types.Amount(price.SuggestedPriorityFee)), *fields.MaxFee))
	}
	for _, fee := range []struct {
		flag         string
		value, least types.Amount
	}{{submit.MaxFeeFlag, *fields.MaxFee, leastMax}, {submit.PriorityFeeFlag, *fields.Priority, leastPriority}} {
		if fee.value < fee.least {
			return given, output.Usage(fmt.Errorf("--%s: the replacement must offer at least %s, 10 %% more than the "+
				"original", fee.flag, show.PerGas(fee.least)))
		}
	}
	return fields, nil
}

// cancelled writes the result once another transaction has used a transaction's nonce.
func cancelled(ctx context.Context, s *session.Session, old types.TxID, receipt api.Receipt) error {
	included, err := submit.Include(ctx, s, receipt)
	if err != nil {
		return err
	}
	return s.Result(cancelledTransaction{old, included}, func(t *output.Text) {
		t.Fields(append([]output.Field{{Name: "Cancelled", Value: old}}, included.Fields()...)...)
	})
}
