package chain

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/types"
)

// feesView is the result of cairn fees.
type feesView struct {
	Price   api.GasPriceInfo `json:"price"`
	Market  api.FeeMarket    `json:"market"`
	History api.FeeHistory   `json:"history"`
}

func newFees(a *session.App) *cobra.Command {
	var blocks uint64
	command := a.LookUp(&cobra.Command{
		Use:     "fees",
		Short:   "Show current gas fees, and those of the latest blocks",
		Example: "  cairn fees --blocks 20",
		Args:    invoke.Exactly(),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		var view feesView
		var err error
		if view.Price, err = s.Client.GasPrice(ctx); err != nil {
			return err
		}
		if view.Market, err = s.Client.FeeMarket(ctx); err != nil {
			return err
		}
		if view.History, err = s.Client.FeeHistory(ctx, blocks); err != nil {
			return err
		}
		return s.Result(view, view.people)
	})
	command.Flags().Uint64Var(&blocks, "blocks", api.DefaultFeeBlocks, "number of latest blocks to list, 1 to 1024")
	return command
}

func (v feesView) people(t *output.Text) {
	t.Fields(
		output.Field{Name: "Base fee of the next block", Value: show.PerGas(v.Price.BaseFee)},
		output.Field{Name: "Suggested priority fee", Value: show.PerGas(v.Price.SuggestedPriorityFee)},
		output.Field{Name: "Suggested max fee", Value: show.PerGas(v.Price.SuggestedMaxFee)},
		output.Field{
			Name: "Base fee's bounds", Value: fmt.Sprintf("%d to %d units per gas", v.Market.MinBaseFee, v.Market.MaxBaseFee),
		},
		output.Field{Name: "Use of the latest block", Value: percent(v.Market.Utilization)},
		output.Field{Name: "Use that keeps the base fee", Value: percent(v.Market.TargetUtilization)},
	)
	var rows [][]any
	// There is one base fee more than ratios, for the next block.
	for i := range min(len(v.History.GasUsedRatio), len(v.History.BaseFeePerGas)) {
		rows = append(rows, []any{
			v.History.OldestBlock + types.Height(i), uint64(v.History.BaseFeePerGas[i]), percent(v.History.GasUsedRatio[i]),
		})
	}
	t.Line("")
	t.Table([]string{"Block", "Base fee", "Gas used"}, rows)
}

func percent(f api.Fraction) string { return fmt.Sprintf("%.2f %%", 100*f.Float()) }

func newMempool(a *session.App) *cobra.Command {
	return a.LookUp(&cobra.Command{
		Use:     "mempool",
		Short:   "Show how full the mempool is",
		Example: "  cairn mempool --json",
		Args:    invoke.Exactly(),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		stats, err := s.Client.MempoolStats(ctx)
		if err != nil {
			return err
		}
		return s.Result(stats, func(t *output.Text) {
			t.Fields(
				output.Field{Name: "Transactions", Value: stats.PendingCount},
				output.Field{Name: "Held", Value: stats.HeldCount},
				output.Field{Name: "Gas limits together", Value: stats.TotalGas},
				output.Field{Name: "Oldest", Value: time.Duration(stats.OldestTxAgeSecs) * time.Second},
				output.Field{Name: "Nearly full", Value: yesNo(stats.BackpressureActive)},
			)
			var rows [][]any
			for _, class := range stats.Classes {
				rows = append(rows, []any{class.Class, class.Refused, class.Displaced, yesNo(class.Refusing)})
			}
			t.Line("")
			t.Table([]string{"No room for", "Refused", "Displaced", "Within a minute"}, rows)
		})
	})
}

// statusView is the result of cairn status.
type statusView struct {
	Node api.NodeInfo   `json:"node"`
	Sync api.SyncStatus `json:"sync"`
}

func newStatus(a *session.App) *cobra.Command {
	return a.LookUp(&cobra.Command{
		Use:     "status",
		Short:   "Show the node's role, version and sync status",
		Example: "  cairn status --rpc-url http://127.0.0.1:8777",
		Args:    invoke.Exactly(),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		var view statusView
		var err error
		if view.Node, err = s.Client.NodeInfo(ctx); err != nil {
			return err
		}
		if view.Sync, err = s.Client.SyncStatus(ctx); err != nil {
			return err
		}
		return s.Result(view, view.people)
	})
}

func (v statusView) people(t *output.Text) {
	fields := []output.Field{
		{Name: "Version", Value: v.Node.Version}, {Name: "Network", Value: v.Node.Network},
		{Name: "Chain id", Value: v.Node.ChainID},
		{Name: "Genesis", Value: v.Node.GenesisHash}, {Name: "Mode", Value: v.Node.Mode},
		{Name: "State", Value: v.Sync.State},
		{Name: "Height", Value: v.Sync.LocalHeight}, {Name: "Synced", Value: yesNo(v.Sync.Synced)},
		{Name: "Blocks behind", Value: orUnknown(v.Sync.BlocksBehind)}, {Name: "Peers", Value: v.Node.PeerCount},
		{Name: "Oldest state", Value: v.Node.OldestHeight}, {Name: "Protocol version", Value: v.Node.ProtocolVersion},
		{Name: "Producer", Value: "0x" +
			v.Node.ProtocolPublicKey}, {Name: "Verification", Value: v.Node.Verification}, {Name: "Proofs", Value: v.proofs()},
	}
	if v.Sync.Reason != nil {
		fields = append(fields, output.Field{Name: "Reason", Value: *v.Sync.Reason})
	}
	if v.Sync.ETASecs != nil {
		fields = append(fields, output.Field{Name: "Synced in", Value: time.Duration(*v.Sync.ETASecs) * time.Second})
	}
	t.Fields(fields...)
}

// proofs describes the blocks with proofs on the node, and the number of newer blocks without.
func (v statusView) proofs() string {
	p := v.Node.Proofs
	if p == nil {
		return "none"
	}
	text := fmt.Sprintf("blocks %d to %d", p.Oldest, p.Newest)
	if lag := v.Node.BlockHeight - min(p.Newest, v.Node.BlockHeight); lag > 0 {
		text += fmt.Sprintf(", %d behind", lag)
	}
	return text
}

// orUnknown formats a number, or returns "unknown" for nil.
func orUnknown[N ~uint64](number *N) string {
	if number == nil {
		return "unknown"
	}
	return strconv.FormatUint(uint64(*number), 10)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
