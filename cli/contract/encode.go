package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// encodedArguments is the result of cairn encode.
type encodedArguments struct {
	Function string          `json:"function"`
	Args     json.RawMessage `json:"args"`             // the object
	Binary   *api.Data       `json:"binary,omitempty"` // the binary form, if the contract takes it
}

// decodedData is the result of cairn decode.
type decodedData struct {
	As    string          `json:"as"`
	Value json.RawMessage `json:"value"`
}

// proxied are the parameters that the example proxy fills in, for each function of its logic: who called, and the coins.
const proxied = 2

// encoding holds the flags of cairn encode, except those for the function's parameters.
type encoding struct {
	args  string
	proxy bool
}

func newEncode(a *session.App) *cobra.Command {
	var flags encoding
	command := &cobra.Command{
		Use:   "encode CONTRACT|FILE.wasm|ABI.json FUNCTION",
		Short: "Encode the arguments of a function, without calling it",
		Long: `Encode the arguments of a contract's function by its ABI: as JSON, and in binary form if
the contract accepts it. The function's parameters are flags, as with cairn call. With a
file no node is needed.

--proxy prints the value of args for the example proxy's function forward: the binary
form without its first byte and without the first two parameters, by and coins, which
the proxy fills in.`,
		Example: "  cairn encode gold transfer --to dev1 --amount 5\n  cairn encode contracts/wasm/savings.wasm withdraw --amount 5 --proxy",
	}
	a.Register(command, session.NodeSettings)
	set := command.Flags()
	set.StringVar(&flags.args, "args", "", "arguments as one JSON object, instead of flags")
	set.BoolVar(&flags.proxy, "proxy", false, "print the arguments that the example proxy forwards")
	command.DisableFlagParsing, command.Args = true, cobra.ArbitraryArgs
	command.RunE = func(command *cobra.Command, words []string) error { return flags.run(a, command, words) }
	return command
}

func (e *encoding) run(a *session.App, command *cobra.Command, words []string) error {
	args, err := parseKnown(command, words)
	if err != nil {
		return output.Usage(err)
	}
	if help, err := command.Flags().GetBool("help"); err != nil || help {
		return errors.Join(err, invoke.PrintHelp(invoke.PrinterOf(command), command))
	}
	if err := invoke.Exactly("CONTRACT", "FUNCTION")(command, args); err != nil {
		return output.Usage(err)
	}
	s, err := a.Start(command)
	if err != nil {
		return output.Usage(err)
	}
	defer s.Client.Close()
	ctx := command.Context()
	t, resolve, err := described(ctx, s, args[0], args[1])
	if err != nil {
		return s.Explain(ctx, err)
	}
	if e.proxy {
		if len(t.function.Args) < proxied {
			return output.Usage(fmt.Errorf("%s is not a function for a proxy: its first parameters must be by and "+
				"coins", t.function))
		}
		t.function.Args = t.function.Args[proxied:]
	}
	given, err := parseParameters(command, t.parameters(command), words)
	if err != nil {
		return output.Usage(fmt.Errorf("%w; the function is %s", err, t.function))
	}
	encoded, err := e.encode(t, given, resolve)
	if err != nil {
		return output.Usage(fmt.Errorf("%w; the function is %s", err, t.function))
	}
	return s.Result(encoded, func(text *output.Text) {
		fields := []output.Field{{Name: "JSON", Value: string(encoded.Args)}}
		if encoded.Binary != nil {
			fields = append(fields, output.Field{Name: "Binary", Value: encoded.Binary.String()})
		}
		text.Fields(fields...)
	})
}

func (e *encoding) encode(t target, given map[string]string, resolve abi.Resolve) (r encodedArguments, err error) {
	if e.args != "" && len(given) > 0 {
		return r, errors.New("give the arguments either as flags or with --args, not both")
	}
	object, err := t.abi.EncodeText(t.function.Args, given, resolve)
	if e.args != "" {
		object, err = t.abi.EncodeJSON(t.function.Args, []byte(e.args), resolve)
	}
	if err != nil {
		return r, err
	}
	if object == nil {
		object = []byte("{}")
	}
	r = encodedArguments{Function: t.function.Name, Args: object}
	if !t.abi.TakesBinary {
		return r, nil
	}
	binary, err := t.abi.Binary(t.function.Args, object)
	if err != nil {
		return r, err
	}
	if e.proxy {
		binary = binary[1:] // the byte that marks the form
	}
	r.Binary = (*api.Data)(&binary)
	return r, nil
}

// described is a function of a contract, on the chain or in a file, with the names of accounts there.
func described(ctx context.Context, s *session.Session, contract, function string) (target, abi.Resolve, error) {
	declared, err := declared(ctx, s, contract)
	if err != nil {
		return target{}, nil, err
	}
	f, ok := declared.Function(function)
	if !ok {
		var names []string
		for _, f := range declared.Functions {
			names = append(names, f.Name)
		}
		return target{}, nil, output.Usage(fmt.Errorf("there is no function %q: the functions are %s", function, strings.Join(names, ", ")))
	}
	resolve := func(text string) (types.Account, error) {
		account, err := s.Account(text)
		return account.ID, err
	}
	return target{function: f, abi: declared, declared: true}, resolve, nil
}

func newDecode(a *session.App) *cobra.Command {
	var as string
	kinds := []string{"args", "result", "event", "error", "transaction"}
	command := a.Define(&cobra.Command{
		Use:   "decode CONTRACT|FILE.wasm|ABI.json FUNCTION|EVENT DATA",
		Short: "Decode arguments, a result, an event or an error by an ABI",
		Long: `Decode hex data by a contract's ABI, in JSON or binary form: a function's arguments, its
result (--as result), the error it reverted with (--as error), or an event (--as event).
With a file no node is needed. --as transaction decodes the bytes of a transaction, and
needs no contract.`,
		Example: "  cairn decode gold transfer 0x01a0…\n  cairn decode abi.json Transfer 0x7b22… --as event\n" +
			"  cairn decode --as transaction 0x02…",
		Args: cobra.RangeArgs(1, 3),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		if alone := as == "transaction"; alone && len(args) != 1 || !alone && len(args) != 3 {
			return output.Usage(errors.New("the arguments are CONTRACT, then FUNCTION or EVENT, then DATA; with --as " +
				"transaction only DATA"))
		}
		var data api.Data
		if err := data.UnmarshalText([]byte(args[len(args)-1])); err != nil {
			return output.Usage(fmt.Errorf("the data: %w", err))
		}
		value, err := decoded(ctx, s, as, args, data)
		if err != nil {
			return err
		}
		return s.Result(decodedData{as, value}, func(t *output.Text) { t.Line("%s", value) })
	})
	command.Flags().StringVar(&as, "as", kinds[0], strings.Join(kinds, ", "))
	invoke.CompleteChoice(command, "as", kinds...)
	return command
}

// decoded returns data as JSON.
func decoded(ctx context.Context, s *session.Session, as string, args []string, data []byte) (json.RawMessage, error) {
	if as == "transaction" {
		tx, err := types.DecodeUnsigned(data)
		if err != nil {
			var signed *types.Tx
			if signed, err = types.DecodeTx(data); err != nil {
				return nil, output.Usage(fmt.Errorf("not a transaction: %w", err))
			}
			tx = signed.Signed().Transaction
		}
		plan, err := submit.PlanOf(tx, nil)
		if err != nil {
			return nil, err
		}
		return json.Marshal(plan)
	}
	declared, err := declared(ctx, s, args[0])
	if err != nil {
		return nil, err
	}
	if as == "event" {
		if event, ok := declared.Event(args[1]); ok {
			return declared.DecodeArguments(event.Args, data)
		}
		return nil, output.Usage(fmt.Errorf("there is no event %q", args[1]))
	}
	f, ok := declared.Function(args[1])
	if !ok {
		return nil, output.Usage(fmt.Errorf("there is no function %q", args[1]))
	}
	switch as {
	case "args":
		return declared.DecodeArguments(f.Args, data)
	case "result":
		return declared.Result(f, data)
	case "error":
		return json.Marshal(declared.Revert(data))
	}
	return nil, output.Usage(fmt.Errorf("--as must be args, result, event, error or transaction, not %s", as))
}

// result returns the function's output as JSON, or nil if it is not JSON.
func (t target) result(output []byte) json.RawMessage {
	if !t.declared {
		return returned(output)
	}
	value, err := t.abi.Result(t.function, output)
	if err != nil {
		return returned(output) // does not match the ABI: show it unchanged
	}
	return value
}

// shown formats the function's output for people.
func (t target) shown(output []byte) string {
	if value := t.result(output); value != nil {
		return show.Readable(value)
	}
	return show.Readable(output)
}

// reverted adds the revert, as decoded by the contract's ABI, to the error of a reverted call.
func (t target) reverted(err error) error {
	var answer *client.Error
	if !t.declared || !errors.As(err, &answer) || answer.Code != api.CodeExecutionFailed {
		return err
	}
	outcome, failed := failed(err)
	if failed != nil {
		return err
	}
	revert := t.abi.Revert(outcome.Output)
	if revert.Name == "" && revert.By == nil {
		return err
	}
	data := map[string]any{"error": revert}
	maps.Copy(data, answer.Data)
	return &client.Error{Code: answer.Code, Message: withReason(answer.Message, revert), Data: data}
}

// withReason replaces the end of a message after "reverted" by a description of the revert.
func withReason(message string, revert abi.Revert) string {
	const words = "reverted"
	if at := strings.LastIndex(message, words); at >= 0 {
		message = message[:at+len(words)]
	}
	return message + ": " + revert.String()
}
