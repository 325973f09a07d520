package submit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

// SweepPoll is the polling interval of a sweep.
const SweepPoll = 100 * time.Millisecond

// Sweep sends the sender's whole balance, and waits for inclusion if the flags say so.
func (f *Flags) Sweep(ctx context.Context, s *session.Session, to types.Account, from argument.Account) error {
	keys, err := f.Unlock(ctx, s, from, types.Transfer{})
	if err != nil {
		return err
	}
	sending, cancel := s.Patience(ctx)
	defer cancel()
	all, err := sender.Open(sending, s.Client, keys.Sender, sender.Options{
		MaxFee: types.Amount(f.MaxFee), Poll: SweepPoll, Payer: keys.Payer, ValidFor: f.ValidFor,
	})
	if err != nil {
		return err
	}
	receipt, err := f.awaitSweep(sending, s, all, to)
	err = errors.Join(err, all.Close())
	if err != nil || receipt == nil {
		return err
	}
	return included(ctx, s, *receipt)
}

// awaitSweep sends the sweep. The receipt is nil if the flags say not to wait.
func (f *Flags) awaitSweep(
	ctx context.Context, s *session.Session, all *sender.Sender, to types.Account,
) (*api.Receipt, error) {
	sent, err := all.SendAll(ctx, to, sender.Job{})
	if err != nil {
		return nil, err
	}
	id, err := sent.Accepted(ctx)
	var poor *sender.InsufficientForFee
	switch {
	case errors.As(err, &poor):
		return nil, fmt.Errorf("insufficient balance: the sender has %s, and the fee is %s", show.Coins(poor.Balance),
			show.Coins(poor.Needed))
	case err != nil:
		return nil, err
	case f.noWait:
		s.Note("If somebody else creates the recipient's account first, the gas reserved for that stays in this " +
			"account: send all once more")
		return nil, accepted(s, id)
	}
	s.Note("Sent transaction %s", id)
	stop := s.Spin(s.Terminal, "Waiting for a block")
	receipt, err := sent.Receipt(ctx)
	stop()
	return &receipt, err
}
