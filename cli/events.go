package cli

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newEvents() *cobra.Command {
	var filter api.EventFilter
	var contract, name string
	var from, to, limit uint64
	command := a.lookUp(&cobra.Command{
		Use:   "events",
		Short: "List contract events",
		Example: `  cairn events --contract gold
  cairn events --event Transfer --from-block 100 --limit 20
  cairn events --contract gold --after CURSOR --json`,
		Args: exactly(),
	}, func(ctx context.Context, s *session, command *cobra.Command, _ []string) error {
		id, event, err := s.eventSource(ctx, command, contract, name)
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
		events, err := s.client.Events(ctx, filter)
		if err != nil {
			return err
		}
		return s.Result(events, func(t *output.Text) {
			known := s.known()
			rows := make([][]any, len(events))
			for i, e := range events {
				data := eventData(e.ContractID, e.EventName, e.Topics, e.Data)
				rows[i] = []any{
					e.BlockHeight, oneLine(e.EventName), known.Replace(e.ContractID.String()), known.Replace(data),
				}
			}
			t.Table([]string{"Block", "Event", "Contract", "Data"}, rows)
			more(t, uint64(len(events)), limit, func() string { return events[len(events)-1].Cursor })
		})
	})
	a.eventFlags(command, &contract, &name)
	flags := command.Flags()
	flags.Uint64Var(&from, "from-block", 0, "height of the first block (default: the oldest block of the node)")
	flags.Uint64Var(&to, "to-block", 0, "height of the last block (default: the latest)")
	pageFlags(command, &limit, &filter.Cursor, 100, api.MaxEvents)
	return command
}

// eventData formats an event's data. It formats those of the protocol as JSON, like events of contracts.
func eventData(contract types.ContractID, name string, topics []api.Data, data []byte) string {
	if !contract.IsZero() || len(topics) != 3 {
		return readable(data)
	}
	first, second := topics[1], topics[2]
	switch {
	case name == types.NativeTransfer && len(data) == 8:
		return fmt.Sprintf(`{"from":"%s","to":"%s","amount":%d}`, first, second, binary.LittleEndian.Uint64(data))
	case name == types.NativeTransfer && len(data) == 40:
		return fmt.Sprintf(`{"from":"%s","to":"%s","amount":%d,"memo":"%s"}`, first, second,
			binary.LittleEndian.Uint64(data), api.Data(data[8:]))
	case name == types.PolicySet && len(data) == 0:
		return fmt.Sprintf(`{"account":"%s","authority":"%s"}`, first, second)
	case name == types.RecoveryStarted && len(data) == 8:
		return fmt.Sprintf(`{"account":"%s","next":"%s","from":%d}`, first, second, binary.LittleEndian.Uint64(data))
	case name == types.CodeReplaced && len(data) == 0:
		return fmt.Sprintf(`{"contract":"%s","codeHash":"%s"}`, first, second)
	}
	return readable(data)
}

// eventFlags declares the flags that filter events.
func (a *app) eventFlags(command *cobra.Command, contract, name *string) {
	command.Flags().StringVar(contract, "contract", "", "only events of this contract")
	a.completeAccount(command, "contract")
	command.Flags().StringVar(name, "event", "", "only events of this name")
}

// eventSource returns the contract and event name selected by the flags of [app.eventFlags]; nil matches any.
func (s *session) eventSource(
	ctx context.Context, command *cobra.Command, contract, name string,
) (*types.ContractID, *string, error) {
	var event *string
	if command.Flags().Changed("event") {
		event = &name
	}
	if contract == "" {
		return nil, event, nil
	}
	id, _, err := s.contract(ctx, contract)
	return &id, event, err
}
