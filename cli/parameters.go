package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newParameters() *cobra.Command {
	return a.lookUp(&cobra.Command{
		Use:     "parameters",
		Short:   "Show the chain's parameters, and any announced upgrade",
		Example: "  cairn parameters\n  cairn parameters --json",
		Args:    exactly(),
	}, func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
		info, err := s.client.Parameters(ctx)
		if err != nil {
			return err
		}
		return s.Result(info, func(t *output.Text) {
			t.Fields(append([]output.Field{{Name: "After block", Value: info.Height}}, parameterFields(parametersOf(info))...)...)
		})
	})
}

// parameterFields describes parameters for people.
func parameterFields(p types.Parameters) []output.Field {
	upgrade := "none"
	if p.Upgrade != nil {
		upgrade = fmt.Sprintf("version %d from %s on", p.Upgrade.Version, millisecondTime(p.Upgrade.From))
	}
	return []output.Field{
		{Name: "Version", Value: p.Version},
		{Name: "Upgrade", Value: upgrade},
		{Name: "Notice of upgrades", Value: (time.Duration(min(p.Notice, 1<<40)) * time.Millisecond).String()},
		{Name: "Gas limit", Value: p.GasLimit},
		{Name: "Block bytes", Value: p.BlockBytes},
		{Name: "Target", Value: fmt.Sprintf("%d bps", p.TargetBPS)},
		{Name: "Base fee's bounds", Value: fmt.Sprintf("%d to %d units per gas", p.MinBaseFee, p.MaxBaseFee)},
		{Name: "Producer", Value: p.Producer},
		{Name: "Fee recipient", Value: p.FeeRecipient},
		{Name: "Admin", Value: p.Admin},
	}
}

func parametersOf(info api.ParametersInfo) types.Parameters {
	return types.Parameters{
		Version:      info.Version,
		GasLimit:     info.GasLimit,
		BlockBytes:   info.BlockBytes,
		TargetBPS:    info.TargetBPS,
		MinBaseFee:   info.MinBaseFee,
		MaxBaseFee:   info.MaxBaseFee,
		Producer:     info.Producer,
		FeeRecipient: info.FeeRecipient,
		Admin:        info.Admin,
		Notice:       info.Notice,
		Upgrade:      (*types.Upgrade)(info.Upgrade),
	}
}
