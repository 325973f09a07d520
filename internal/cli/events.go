package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newEvents() *cobra.Command {
	var filter api.EventFilter
	var contract, name string
	var from, to, limit uint64
	command := a.lookUp(&cobra.Command{
		Use:   "events",
		Short: "List events of contracts",
		Example: `  cairn events --contract gold
  cairn events --event Transfer --from-block 100 --limit 20
  cairn events --contract gold --after CURSOR --json`,
		Args: exactly(),
	}, func(ctx context.Context, s *session, command *cobra.Command, _ []string) error {
		given := command.Flags().Changed
		if contract != "" {
			id, _, err := s.contract(ctx, contract)
			if err != nil {
				return err
			}
			filter.ContractID = &id
		}
		if given("event") {
			filter.EventName = &name
		}
		if given("from-block") {
			filter.FromBlock = new(types.Height(from))
		}
		if given("to-block") {
			filter.ToBlock = new(types.Height(to))
		}
		filter.Limit = &limit
		events, err := s.client.Events(ctx, filter)
		if err != nil {
			return err
		}
		return s.Result(events, func(t *output.Text) {
			known := s.known()
			rows := make([][]any, len(events))
			for i, e := range events {
				rows[i] = []any{e.BlockHeight, e.EventName, known.Replace(e.ContractID.String()), known.Replace(readable(e.Data))}
			}
			t.Table([]string{"Block", "Event", "Contract", "Data"}, rows)
			more(t, uint64(len(events)), limit, func() string { return events[len(events)-1].Cursor })
		})
	})
	flags := command.Flags()
	flags.StringVar(&contract, "contract", "", "only of this contract")
	flags.StringVar(&name, "event", "", "only of this name")
	flags.Uint64Var(&from, "from-block", 0, "the first block's height (default: the first that the node keeps)")
	flags.Uint64Var(&to, "to-block", 0, "the last block's height (default: the latest)")
	pageFlags(command, &limit, &filter.Cursor, 100, api.MaxEvents)
	return command
}
