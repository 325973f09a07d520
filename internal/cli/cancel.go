package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/cli/argument"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/types"
)

// cancelledTransaction is the result of cairn cancel.
type cancelledTransaction struct {
	Cancelled           types.TxID `json:"cancelled"` // what no block will have
	includedTransaction            // what took its nonce
}

func (a *app) newCancel() *cobra.Command {
	return a.define(&cobra.Command{
		Use:   "cancel HASH|NONCE",
		Short: "Cancel a pending transaction",
		Long: `Cancel a pending transaction: a transfer of nothing to its sender takes its nonce, with both fees a tenth higher at
least. Wait until that is in a block, and pay its fee. If the transaction is in a block first, nothing is cancelled.`,
		Example: `  cairn cancel 0x4f1c… --from alice
  cairn cancel 7 --from alice`,
		Args: exactly("HASH|NONCE"),
	}, senderSettings, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		which, err := parsePending(args[0])
		if err != nil {
			return output.Usage(err)
		}
		from, err := s.sender(false)
		if err != nil {
			return err
		}
		if err := s.onChain(ctx, from); err != nil {
			return err
		}
		ctx, cancel := s.patience(ctx)
		defer cancel()
		old, err := s.findPending(ctx, from.ID, which)
		if err != nil {
			return err
		}
		tx, err := s.outbid(ctx, old)
		if err != nil {
			return err
		}
		private, err := s.keyOf(ctx, from)()
		if err != nil {
			return err
		}
		signed, err := client.NewSigner(private).Sign(tx)
		if err != nil {
			return err
		}
		return s.cancel(ctx, old, signed)
	})
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

// findPending is the pending transaction of an account that a reference names.
func (s *session) findPending(
	ctx context.Context, from types.Account, which pendingRef,
) (api.PendingTransaction, error) {
	list, err := s.client.PendingTransactions(ctx, api.PendingFilter{
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
		tx, err := s.client.Transaction(ctx, which.hash)
		if err == nil && tx != nil && tx.BlockHeight != nil {
			err = fmt.Errorf("transaction %s is in block %d", tx.Hash, *tx.BlockHeight)
		}
		return api.PendingTransaction{}, errors.Join(err, errNotPending(which.hash))
	}
	return api.PendingTransaction{}, s.usedBy(ctx, from, which.nonce, errNotPending(which.nonce))
}

func errNotPending(which any) error {
	return fmt.Errorf("the mempool has no transaction %v of the account", which)
}

// usedBy says which transaction in a block has used a nonce; where none is known it is the error otherwise.
func (s *session) usedBy(ctx context.Context, from types.Account, nonce uint64, otherwise error) error {
	tx, err := s.client.TransactionByNonce(ctx, from, nonce)
	if err != nil || tx == nil || tx.BlockHeight == nil {
		return errors.Join(otherwise, err)
	}
	return fmt.Errorf("too late: transaction %s with this nonce is in block %d", tx.Hash, *tx.BlockHeight)
}

// outbid is the transfer of nothing that takes the place of a transaction.
func (s *session) outbid(ctx context.Context, old api.PendingTransaction) (types.Transaction, error) {
	price, err := s.client.GasPrice(ctx)
	if err != nil {
		return types.Transaction{}, err
	}
	maxFee, err := client.Outbid(types.Amount(old.MaxFeePerGas))
	if err != nil {
		return types.Transaction{}, err
	}
	priority, err := client.Outbid(types.Amount(old.MaxPriorityFeePerGas))
	if err != nil {
		return types.Transaction{}, err
	}
	maxFee = max(maxFee, types.Amount(price.SuggestedMaxFee))
	return s.client.Build(ctx, old.From, client.Transfer(old.From, 0), client.TxFields{
		Nonce:    new(uint64(old.Nonce)),
		MaxFee:   &maxFee,
		Priority: new(min(max(priority, types.Amount(price.SuggestedPriorityFee)), maxFee)),
	})
}

// cancel sends what takes a transaction's place, and waits until it has.
func (s *session) cancel(ctx context.Context, old api.PendingTransaction, signed types.SignedTransaction) error {
	if _, err := s.client.Send(ctx, signed); err != nil {
		if errors.Is(err, api.ErrNonceTooLow) {
			err = s.usedBy(ctx, old.From, uint64(old.Nonce), err)
		}
		return s.mayBeIn(ctx, err, signed.ID(), "the node may have taken it")
	}
	s.Note("Sent transaction %s", signed.ID())
	stop := s.Spin(s.terminal, "Waiting for a block")
	receipt, err := s.client.SendAndWait(ctx, signed)
	stop()
	if errors.Is(err, api.ErrNonceTooLow) {
		return s.usedBy(ctx, old.From, uint64(old.Nonce), err) // a block took the transaction at the same moment
	}
	if err != nil {
		return s.mayBeIn(ctx, err, signed.ID(), acceptedAlready)
	}
	included, err := s.include(ctx, receipt)
	if err != nil {
		return err
	}
	return s.Result(cancelledTransaction{old.Hash, included}, func(t *output.Text) {
		t.Fields(append([]output.Field{{Name: "Cancelled", Value: old.Hash}}, included.fields()...)...)
	})
}
