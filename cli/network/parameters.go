// Package network has the commands of those who govern or measure a network.
package network

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/types"
)

// Commands returns the commands that govern or measure a network.
func Commands(a *session.App) []*cobra.Command {
	return []*cobra.Command{
		newParameters(a), newConfigure(a), newUpgrade(a), newPromote(a), newBench(a),
	}
}

func newParameters(a *session.App) *cobra.Command {
	return a.LookUp(&cobra.Command{
		Use:     "parameters",
		Short:   "Show the chain's parameters, and any announced upgrade",
		Example: "  cairn parameters\n  cairn parameters --json",
		Args:    invoke.Exactly(),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		info, err := s.Client.Parameters(ctx)
		if err != nil {
			return err
		}
		return s.Result(info, func(t *output.Text) {
			t.Fields(append([]output.Field{{Name: "After block", Value: info.Height}},
				show.ParameterFields(parametersOf(info))...)...)
		})
	})
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
