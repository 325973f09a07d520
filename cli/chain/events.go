package chain

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

func newEvents(a *session.App) *cobra.Command {
	var filter api.EventFilter
	var contract, name string
	var from, to, limit uint64
	command := a.LookUp(&cobra.Command{
		Use:   "events",
		Short: "List contract events",
		Example: `  cairn events --contract gold
  cairn events --event Transfer --from-block 100 --limit 20
  cairn events --contract gold --after CURSOR --json`,
		Args: invoke.Exactly(),
	}, func(ctx context.Context, s *session.Session, command *cobra.Command, _ []string) error {
		id, event, err := eventSource(ctx, s, command, contract, name)
		if err != nil {
			return err
		}
		filter.ContractID, filter.EventName = id, event
		given := command.Flags().Changed
		if given("from-block") {
			filter.FromBlock = new(types.Height(from))
		}
		if given("to-block") {
			filter.ToBlock = new(types.Height(to))
		}
		filter.Limit = &limit
		events, err := s.Client.Events(ctx, filter)
		if err != nil {
			return err
		}
		return s.Result(events, func(t *output.Text) {
			known := s.Known()
			rows := make([][]any, len(events))
			for i, e := range events {
				data := show.EventData(e.ContractID, e.EventName, e.Topics, e.Data)
				rows[i] = []any{
					e.BlockHeight, show.OneLine(e.EventName), known.Replace(e.ContractID.String()), known.Replace(data),
				}
			}
			t.Table([]string{"Block", "Event", "Contract", "Data"}, rows)
			invoke.More(t, uint64(len(events)), limit, func() string { return events[len(events)-1].Cursor })
		})
	})
	eventFlags(a, command, &contract, &name)
	flags := command.Flags()
	flags.Uint64Var(&from, "from-block", 0, "height of the first block (default: the oldest block of the node)")
	flags.Uint64Var(&to, "to-block", 0, "height of the last block (default: the latest)")
	invoke.PageFlags(command, &limit, &filter.Cursor, 100, api.MaxEvents)
	return command
}

// eventFlags declares the flags that filter events.
func eventFlags(a *session.App, command *cobra.Command, contract, name *string) {
	command.Flags().StringVar(contract, "contract", "", "only events of this contract")
	a.CompleteAccount(command, "contract")
	command.Flags().StringVar(name, "event", "", "only events of this name")
}

// eventSource returns the contract and event name selected by the flags of [eventFlags]; nil matches any.
func eventSource(
	ctx context.Context, s *session.Session, command *cobra.Command, contract, name string,
) (*types.ContractID, *string, error) {
	var event *string
	if command.Flags().Changed("event") {
		event = &name
	}
	if contract == "" {
		return nil, event, nil
	}
	id, _, err := s.Contract(ctx, contract)
	return &id, event, err
}
