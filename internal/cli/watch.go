package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newWatch() *cobra.Command {
	group := NewGroup(&cobra.Command{
		Use:     "watch",
		Short:   "Follow blocks, new transactions or the sync status",
		Long:    "Follow what the node pushes until interrupted. A connection that breaks is made anew; of blocks none is missed. With --json each line is a document.",
		Example: "  cairn watch blocks\n  cairn watch transactions --json",
	})
	var count uint64
	var from int64
	blocks := a.define(&cobra.Command{
		Use:     "blocks",
		Short:   "Print each block as it is made",
		Example: "  cairn watch blocks --from 0 --count 10 --json",
		Args:    exactly(),
	}, nodeSettings, func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
		var first *types.Height
		if from >= 0 {
			first = new(types.Height(from))
		}
		return watchAll(ctx, s, s.client.SubscribeBlocks(ctx, first), count, func(t *output.Text, b api.Block) {
			t.Line("%d  %s  %s  %d transactions, gas %d of %d", b.Height, blockTime(b.Timestamp),
				b.Hash, b.TxCount, uint64(b.GasUsed), uint64(b.GasLimit))
		})
	})
	blocks.Flags().Int64Var(&from, "from", -1, "the first height to print; -1: the next block")
	transactions := a.define(&cobra.Command{
		Use:     "transactions",
		Short:   "Print the hash of each transaction that the mempool accepts",
		Example: "  cairn watch transactions",
		Args:    exactly(),
	}, nodeSettings, func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
		return watchAll(ctx, s, s.client.SubscribePending(ctx), count, func(t *output.Text, id types.TxID) { t.Line("%s", id) })
	})
	sync := a.define(&cobra.Command{
		Use:     "sync",
		Short:   "Print the sync status when it changes",
		Example: "  cairn watch sync --count 1",
		Args:    exactly(),
	}, nodeSettings, func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
		return watchAll(ctx, s, s.client.SubscribeSyncStatus(ctx), count, func(t *output.Text, status api.SyncStatus) {
			reason := ""
			if status.Reason != nil {
				reason = fmt.Sprintf(" (%s)", *status.Reason)
			}
			t.Line("%s%s  block %d of %d, %d behind", status.State, reason, status.LocalHeight, status.PrimaryHeight, status.BlocksBehind)
		})
	})
	for _, command := range []*cobra.Command{blocks, transactions, sync} {
		command.Flags().Uint64Var(&count, "count", 0, "how many to print; 0: until interrupted")
		group.AddCommand(command)
	}
	return group
}

// watchAll prints results until there were count of them, or ctx ends: that is how a user ends it.
func watchAll[R any](ctx context.Context, s *session, results iter.Seq2[R, error], count uint64, people func(*output.Text, R)) error {
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
