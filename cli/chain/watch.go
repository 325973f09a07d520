package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/types"
)

func newWatch(a *session.App) *cobra.Command {
	group := invoke.NewGroup(&cobra.Command{
		Use:   "watch",
		Short: "Follow blocks, payments, events, proofs, new transactions or the sync status",
		Long: "Follow the node's notifications until interrupted. Broken connections are reopened,\nwithout missing " +
			"any block, payment, event or proof.\nWith --json each line is a JSON document.",
		Example: "  cairn watch blocks\n  cairn watch payments alice\n  cairn watch events --contract gold --json",
	})
	var count uint64
	commands := []*cobra.Command{
		newWatchBlocks(a, &count), newWatchPayments(a, &count), newWatchEvents(a, &count), newWatchProofs(a, &count),
		newWatchRanges(a, &count), newWatchTransactions(a, &count), newWatchSync(a, &count),
	}
	for _, command := range commands {
		command.Flags().Uint64Var(&count, "count", 0, "number of items to print; 0: until interrupted")
		group.AddCommand(command)
	}
	return group
}

func newWatchBlocks(a *session.App, count *uint64) *cobra.Command {
	var from int64
	command := a.Define(&cobra.Command{
		Use:     "blocks",
		Short:   "Print each block as it is made",
		Example: "  cairn watch blocks --from 0 --count 10 --json",
		Args:    invoke.Exactly(),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		return watchAll(ctx, s, s.Client.SubscribeBlocks(ctx, firstHeight(from)), *count, func(t *output.Text, b api.Block) {
			t.Line("%d  %s  %s  %d transactions, gas %d of %d", b.Height, show.BlockTime(b.Timestamp),
				b.Hash, b.TxCount, uint64(b.GasUsed), uint64(b.GasLimit))
		})
	})
	fromFlag(command, &from)
	return command
}

func newWatchEvents(a *session.App, count *uint64) *cobra.Command {
	var filter api.SubscriptionFilter
	var contract, name, about string
	var from int64
	command := a.Define(&cobra.Command{
		Use:   "events",
		Short: "Print contract events as blocks are made",
		Example: `  cairn watch events --contract gold --event Transfer
  cairn watch events --account alice
  cairn watch events --after CURSOR --json`,
		Args: invoke.Exactly(),
	}, session.NodeSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, _ []string,
	) (err error) {
		asking, cancel := s.Patience(ctx)
		defer cancel()
		if filter.ContractID, filter.EventName, err = eventSource(asking, s, command, contract, name); err != nil {
			return err
		}
		filter.FromBlock = firstHeight(from)
		events := s.Client.SubscribeEvents(ctx, filter)
		if about != "" {
			account, err := s.Account(about)
			if err != nil {
				return err
			}
			events = eventsAbout(events, account.ID)
		}
		known := s.Known()
		return watchAll(ctx, s, events, *count, func(t *output.Text, e api.Event) {
			t.Line(
				"%d  %s  %s  %s", e.BlockHeight, show.OneLine(e.EventName),
				known.Replace(e.ContractID.String()), known.Replace(show.EventData(e.ContractID, e.EventName,
					e.Topics, e.Data)),
			)
		})
	})
	eventFlags(a, command, &contract, &name)
	command.Flags().StringVar(&about, "account", "",
		"only events that have this account among their topics, such as its PolicySet and RecoveryStarted")
	a.CompleteAccount(command, "account")
	fromFlag(command, &from)
	command.Flags().StringVar(&filter.Cursor, "after", "", "cursor of the last item seen: print the items after it")
	command.MarkFlagsMutuallyExclusive("from", "after")
	return command
}

// eventsAbout yields the events that have an account among their topics, and errors.
func eventsAbout(events iter.Seq2[api.Event, error], account types.Account) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		for event, err := range events {
			names := err != nil || slices.ContainsFunc(event.Topics[1:], func(topic api.Data) bool {
				return bytes.Equal(topic, account[:])
			})
			if names && !yield(event, err) {
				return
			}
		}
	}
}

func newWatchProofs(a *session.App, count *uint64) *cobra.Command {
	var from int64
	command := a.Define(&cobra.Command{
		Use:     "proofs",
		Short:   "Print the height of each block once its proof is available",
		Example: "  cairn watch proofs --from 17 --count 1",
		Args:    invoke.Exactly(),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		return watchAll(ctx, s, s.Client.SubscribeProofs(ctx, firstHeight(from)), *count, func(
			t *output.Text, p api.ProofNotice,
		) {
			t.Line("%d  %s  %d bytes", p.Height, p.Statement, p.Size)
		})
	})
	fromFlag(command, &from)
	return command
}

func newWatchRanges(a *session.App, count *uint64) *cobra.Command {
	return a.Define(&cobra.Command{
		Use:     "ranges",
		Short:   "Print the ranges of blocks that have a joint proof, on every change",
		Example: "  cairn watch ranges",
		Args:    invoke.Exactly(),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		return watchAll(ctx, s, s.Client.SubscribeRangeProofs(ctx), *count, func(t *output.Text, all []api.RangeProofs) {
			for _, r := range all {
				t.Line("of %d blocks  %d to %d", r.Blocks, r.Oldest, r.Newest)
			}
		})
	})
}

func newWatchTransactions(a *session.App, count *uint64) *cobra.Command {
	return a.Define(&cobra.Command{
		Use:     "transactions",
		Short:   "Print the hash of each transaction that the mempool accepts",
		Example: "  cairn watch transactions",
		Args:    invoke.Exactly(),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		return watchAll(ctx, s, s.Client.SubscribePending(ctx), *count, func(t *output.Text, id types.TxID) {
			t.Line("%s", id)
		})
	})
}

func newWatchSync(a *session.App, count *uint64) *cobra.Command {
	return a.Define(&cobra.Command{
		Use:     "sync",
		Short:   "Print the sync status when it changes",
		Example: "  cairn watch sync --count 1",
		Args:    invoke.Exactly(),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		return watchAll(ctx, s, s.Client.SubscribeSyncStatus(ctx), *count, func(t *output.Text, status api.SyncStatus) {
			reason := ""
			if status.Reason != nil {
				reason = fmt.Sprintf(" (%s)", *status.Reason)
			}
			t.Line(
				"%s%s  block %d of %s, %s behind", status.State, reason, status.LocalHeight,
				orUnknown(status.PrimaryHeight), orUnknown(status.BlocksBehind),
			)
		})
	})
}

// fromFlag declares the flag for the first height to follow.
func fromFlag(command *cobra.Command, from *int64) {
	command.Flags().Int64Var(from, "from", -1, "first height to print; -1: the next block")
}

// firstHeight returns the height given by the flag, or nil for the next block.
func firstHeight(from int64) *types.Height {
	if from < 0 {
		return nil
	}
	return new(types.Height(from))
}

// watchAll prints results until it has printed count of them, or until the user's interrupt ends ctx.
func watchAll[R any](
	ctx context.Context, s *session.Session, results iter.Seq2[R, error], count uint64, people func(*output.Text, R),
) error {
	printed := uint64(0)
	for result, err := range results {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Result(result, func(t *output.Text) { people(t, result) }); err != nil {
			return err
		}
		if printed++; printed == count {
			return nil
		}
	}
	return nil
}
