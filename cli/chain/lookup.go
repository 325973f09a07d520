// Package chain has the commands that look at a chain, and verify it by its proofs.
package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/types"
)

// transactionView is the result of cairn tx.
type transactionView struct {
	api.Transaction
	Receipt *api.Receipt `json:"receipt"` // null while pending

	payer string // the address of the payer; empty without one
}

// Commands returns the commands that look at a chain.
func Commands(a *session.App) []*cobra.Command {
	return []*cobra.Command{
		newTx(a), newBlock(a), newEvents(a), newProof(a), newFees(a), newMempool(a), newStatus(a), newWatch(a),
		newRPC(a),
	}
}

func newTx(a *session.App) *cobra.Command {
	command := a.LookUp(&cobra.Command{
		Use:     "tx HASH",
		Short:   "Show or trace a transaction, or sign and send one from a file",
		Example: "  cairn tx 0x4f1c…\n  cairn tx trace 0x4f1c…",
		Args:    invoke.Exactly("HASH"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		id, err := argument.ParseTxID(args[0])
		if err != nil {
			return output.Usage(err)
		}
		tx, err := s.Client.Transaction(ctx, id)
		if err != nil {
			return err
		}
		if tx == nil {
			return fmt.Errorf("the node does not know transaction %s", id)
		}
		view := transactionView{Transaction: *tx, payer: s.Address(ctx, tx.Payer)}
		if tx.BlockHash != nil {
			if view.Receipt, err = s.Client.Receipt(ctx, id); err != nil {
				return err
			}
		}
		return s.Result(view, func(t *output.Text) {
			t.Fields(view.fields()...)
			if view.Receipt != nil {
				tracing.LogTable(s, t, view.Receipt.Logs)
			}
		})
	})
	command.AddCommand(newTrace(a))
	command.AddCommand(submit.Drafts(a)...)
	return command
}

// fields returns the transaction and its receipt, except the events, for people.
func (v transactionView) fields() []output.Field {
	fields := []output.Field{
		{Name: "Transaction", Value: v.Hash}, {Name: "Status", Value: v.Status}, {Name: "Type", Value: v.Type},
		{Name: "From", Value: v.From}, {Name: "To", Value: v.To}, {Name: "Value", Value: show.Coins(v.Value)},
		{Name: "Nonce", Value: uint64(v.Nonce)}, {Name: "Gas limit", Value: uint64(v.GasLimit)},
		{Name: "Max fee", Value: show.PerGas(v.MaxFeePerGas)}, {Name: "Priority fee",
			Value: show.PerGas(v.MaxPriorityFeePerGas)},
	}
	fields = append(fields, v.extra()...)
	if v.Error != nil {
		fields = append(fields, output.Field{Name: "Error", Value: *v.Error})
	}
	if r := v.Receipt; r != nil {
		fields = append(fields, output.Field{Name: "Block", Value: r.BlockHeight},
			output.Field{Name: "Gas used", Value: uint64(r.GasUsed)}, output.Field{
				Name: "Gas price", Value: show.PerGas(r.EffectiveGasPrice),
			})
		fields = append(fields, show.FeeField(*r, v.payer))
		if r.ContractAddress != nil {
			fields = append(fields, output.Field{Name: "Contract", Value: *r.ContractAddress})
		}
		if len(r.ReturnData) > 0 {
			fields = append(fields, output.Field{Name: "Returned", Value: show.Readable(r.ReturnData)})
		}
	}
	return fields
}

// extra returns the fields that only some transactions have.
func (v transactionView) extra() (fields []output.Field) {
	if v.Memo != nil {
		fields = append(fields, output.Field{Name: "Memo", Value: show.MemoText(v.Memo)})
	}
	if v.Payer != nil {
		fields = append(fields, output.Field{Name: "Fee paid by", Value: v.payer})
	}
	if v.ValidUntil != nil {
		fields = append(fields, output.Field{Name: "Valid until", Value: show.MillisecondTime(*v.ValidUntil)})
	}
	for i, step := range v.Steps {
		fields = append(fields, output.Field{Name: fmt.Sprintf("Step %d", i+1), Value: show.StepText(step)})
	}
	if v.Input == nil {
		return fields
	}
	if v.Input.Function != nil {
		fields = append(fields, output.Field{Name: "Function", Value: show.OneLine(*v.Input.Function)})
	}
	if v.Input.Template != nil {
		fields = append(fields, output.Field{Name: "Template", Value: *v.Input.Template})
	}
	if v.Input.Recovery != nil {
		name := "New policy"
		if *v.Input.Recovery {
			name = "Recovery to policy"
		}
		fields = append(fields, output.Field{Name: name, Value: show.PolicyName(v.Input.Policy)})
	}
	return fields
}

func newBlock(a *session.App) *cobra.Command {
	var full bool
	command := a.LookUp(&cobra.Command{
		Use:   "block [HEIGHT|HASH|latest|earliest]",
		Short: "Show a block, the latest by default",
		Example: `  cairn block
  cairn block 17 --full
  cairn block latest --json`,
		Args: invoke.AtMostOne("block"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		text := "latest"
		if len(args) > 0 {
			text = args[0]
		}
		wanted, err := argument.ParseBlock(text)
		if err != nil {
			return output.Usage(err)
		}
		block, err := block(ctx, s, wanted, full)
		if err != nil {
			return err
		}
		if block == nil {
			return fmt.Errorf("the node has no block %s", text)
		}
		return s.Result(block, func(t *output.Text) { printBlock(t, block) })
	})
	command.Flags().BoolVar(&full, "full", false, "show whole transactions instead of hashes")
	return command
}

func block(ctx context.Context, s *session.Session, wanted argument.Block, full bool) (*api.Block, error) {
	if wanted.Hash != nil {
		return s.Client.BlockByHash(ctx, *wanted.Hash, full)
	}
	return s.Client.BlockByNumber(ctx, wanted.Ref, full)
}

func printBlock(t *output.Text, b *api.Block) {
	t.Fields(
		output.Field{Name: "Height", Value: b.Height}, output.Field{Name: "Hash", Value: b.Hash},
		output.Field{Name: "Parent", Value: b.ParentHash},
		output.Field{Name: "Time", Value: show.BlockTime(b.Timestamp)},
		output.Field{Name: "State root", Value: b.StateRoot}, output.Field{Name: "Producer", Value: b.Producer},
		output.Field{Name: "Gas used", Value: fmt.Sprintf("%d of %d", uint64(b.GasUsed), uint64(b.GasLimit))},
		output.Field{Name: "Base fee", Value: show.PerGas(b.BaseFee)}, output.Field{Name: "Size", Value: fmt.Sprintf(
			"%d bytes", b.Size,
		)},
		output.Field{Name: "Transactions", Value: b.TxCount},
	)
	if len(b.Transactions.Full) > 0 {
		t.Line("")
		show.TransactionTable(t, b.Transactions.Full)
	}
	for _, hash := range b.Transactions.Hashes {
		t.Line("%s", hash)
	}
}

func newRPC(a *session.App) *cobra.Command {
	return a.LookUp(&cobra.Command{
		Use:   "rpc METHOD [PARAM…]",
		Short: "Call any JSON-RPC method of the node",
		Long: `Call any JSON-RPC method of the node with positional parameters, and print its result as
JSON.

A parameter that is valid JSON is sent as JSON, any other as a string. Accounts and
contracts may be given by name, as in other commands. After -- parameters may begin with
a dash.`,
		Example: `  cairn rpc svc_blockNumber
  cairn rpc svc_getTransactionsByAddress dev1
  cairn rpc svc_getBlockByNumber latest true
  cairn rpc svc_getEvents '{"from_block": 10}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("cairn rpc takes METHOD, and then parameters")
			}
			return nil
		},
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		params := make([]any, len(args)-1)
		for i, text := range args[1:] {
			params[i] = rawParam(text)
			if params[i] == text && takesAccount(args[0], i) {
				id, err := named(ctx, s, text)
				if err != nil {
					return err
				}
				params[i] = id
			}
		}
		var result json.RawMessage
		if err := s.Client.Raw(ctx, args[0], params, &result); err != nil {
			if similar := similarMethod(args[0]); similar != "" && !s.JSON() {
				s.Note("%s is not a known method: did you mean %s?", args[0], similar)
			}
			return err
		}
		pretty, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return err
		}
		return s.Result(result, func(t *output.Text) { t.Line("%s", pretty) })
	})
}

// similarMethod returns the declared method that is most similar to an unknown name, or "" if none is.
func similarMethod(name string) string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, d := range api.Declarations() {
		if d.Name == name {
			return ""
		}
		_, short, _ := strings.Cut(d.Name, "_")
		names.AddCommand(&cobra.Command{Use: d.Name, SuggestFor: []string{short}, Run: func(*cobra.Command, []string) {}})
	}
	if found := names.SuggestionsFor(name); len(found) > 0 {
		return found[0]
	}
	return ""
}

// takesAccount reports whether a method's parameter is an account or a contract.
func takesAccount(method string, index int) bool {
	for _, declaration := range api.Declarations() {
		if declaration.Name == method && index < declaration.Params.NumField() {
			field := declaration.Params.Field(index)
			return field.Type == reflect.TypeFor[types.Account]() || field.Type == reflect.TypeFor[types.ContractID]() ||
				field.Name == "Account"
		}
	}
	return false
}

// named returns the key or ID of a name on the node's chain. It returns any other text unchanged, for the node to
// judge.
func named(ctx context.Context, s *session.Session, text string) (string, error) {
	if !argument.IsName(text) {
		return text, nil
	}
	account, err := s.Account(text)
	if err != nil {
		return "", err
	}
	chain, err := s.Chain(ctx)
	if err != nil {
		return "", err
	}
	return account.ID.String(), output.Usage(account.On(chain))
}

// rawParam returns a parameter as JSON: unchanged if it is valid JSON, otherwise as a string.
func rawParam(text string) any {
	if raw := json.RawMessage(strings.TrimSpace(text)); json.Valid(raw) {
		return raw
	}
	return text
}
