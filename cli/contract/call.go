package contract

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// calling holds the flags of cairn call, except those for the function's parameters.
type calling struct {
	submit.Flags
	args, value string
	view, trace bool
	sources     []string // whose lines the trace shows
}

// viewedFunction is the result of a view call.
type viewedFunction struct {
	Contract types.ContractID `json:"contract"`
	Function string           `json:"function"`
	Result   json.RawMessage  `json:"result"` // null if the output is empty or not JSON
	Output   api.Data         `json:"output"`
	Trace    *tracing.Trace   `json:"trace,omitempty"`
}

// calledFunction is the result of a call whose transaction was awaited.
type calledFunction struct {
	submit.Included
	Result json.RawMessage `json:"result"` // null if the output is empty or not JSON
	Trace  *tracing.Trace  `json:"trace,omitempty"`
}

func newCall(a *session.App) *cobra.Command {
	var flags calling
	command := &cobra.Command{
		Use:   "call CONTRACT FUNCTION",
		Short: "Call a contract's function",
		Long: `Call a contract's function: by a view call if the contract's ABI says that it only
reads, otherwise by a transaction. The function's parameters are flags: "cairn call
CONTRACT FUNCTION --help" lists them. Accounts may be given by name; write a list as
JSON or separated by commas. A parameter with the name of another flag, such as from,
becomes --arg-from.`,
		Example: `  cairn call counter add --amount 1 --from dev0
  cairn call gold balanceOf --address dev1
  cairn call gold transfer --to dev1 --amount 5 --from dev0 --trace
  cairn call gold transfer --args '{"to":"dev1","amount":5}' --from dev0`,
	}
	a.Register(command, session.SenderSettings)
	set := command.Flags()
	set.StringVar(&flags.args, "args", "", "arguments as one JSON object, instead of flags")
	set.StringVar(&flags.value, "value", "0u", "coins to send to the contract")
	set.BoolVar(&flags.view, "view", false, "make a view call, regardless of the ABI")
	set.BoolVar(&flags.trace, "trace", false, "trace the call and its nested calls; also works for views, dry runs "+
		"and calls that would fail")
	tracing.RegisterSources(command, &flags.sources)
	flags.Register(a, command)
	flags.RegisterGasLimit(command)
	// The flags depend on the contract, so the words are parsed when the command runs.
	command.DisableFlagParsing, command.Args = true, cobra.ArbitraryArgs
	command.RunE = func(command *cobra.Command, words []string) error { return flags.run(a, command, words) }
	command.ValidArgsFunction = func(
		command *cobra.Command, words []string, last string,
	) ([]string, cobra.ShellCompDirective) {
		return completeCall(a, command, words, last), cobra.ShellCompDirectiveNoFileComp
	}
	return command
}

// run implements cairn call.
func (f *calling) run(a *session.App, command *cobra.Command, words []string) error {
	args, err := parseKnown(command, words)
	if err != nil {
		return output.Usage(err)
	}
	help, err := command.Flags().GetBool("help")
	if err != nil {
		return err
	}
	if help && len(args) != 2 {
		return invoke.PrintHelp(invoke.PrinterOf(command), command)
	}
	if len(args) == 1 {
		args = append(args, "") // no function name: the error below lists the functions
	}
	if err := invoke.Exactly("CONTRACT", "FUNCTION")(command, args); err != nil {
		if len(args) > 2 {
			err = fmt.Errorf("%w: parameters are flags, see cairn call %s %s --help", err, args[0], args[1])
		}
		return output.Usage(err)
	}
	s, err := a.Start(command)
	if err != nil {
		return output.Usage(err)
	}
	defer s.Client.Close()
	ctx := command.Context()
	asking, cancel := s.Patience(ctx)
	defer cancel()
	target, err := findTarget(asking, s, args[0], args[1])
	if err != nil {
		return s.Explain(ctx, err)
	}
	parameters := target.parameters(command)
	if help {
		return invoke.PrintHelp(invoke.PrinterOf(command), target.explained(command, args[0], parameters))
	}
	if err := exclusive(command); err != nil {
		return output.Usage(err)
	}
	given, err := parseParameters(command, parameters, words)
	if err != nil {
		return output.Usage(fmt.Errorf("%w; the function is %s", err, target.function))
	}
	encoded, err := f.encode(s, target, given)
	if err != nil {
		return output.Usage(err)
	}
	return s.Explain(ctx, f.call(ctx, s, command, target, encoded))
}

// exclusive checks the flag groups, which cobra checks only if it parses the flags.
func exclusive(command *cobra.Command) error {
	command.DisableFlagParsing = false // they have been parsed
	if err := command.ValidateFlagGroups(); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return nil
}

// encode encodes the call's arguments.
func (f *calling) encode(s *session.Session, t target, given map[string]string) ([]byte, error) {
	if f.args != "" && len(given) > 0 {
		return nil, errors.New("give the arguments either as flags or with --args, not both")
	}
	if !t.declared {
		if f.args != "" && !json.Valid([]byte(f.args)) {
			return nil, errors.New("the arguments are not JSON")
		}
		return []byte(f.args), nil
	}
	resolve := resolver(s, t.chain)
	encoded, err := t.abi.EncodeText(t.function.Args, given, resolve)
	if f.args != "" {
		encoded, err = t.abi.EncodeJSON(t.function.Args, []byte(f.args), resolve)
	}
	if err == nil {
		encoded, err = t.abi.Arguments(t.function.Args, encoded)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; the function is %s", err, t.function)
	}
	return encoded, nil
}

// call calls the function with encoded arguments.
func (f *calling) call(ctx context.Context, s *session.Session, command *cobra.Command, t target, args []byte) error {
	sources, err := tracing.ReadSources(ctx, s, f.sources)
	if err != nil {
		return err
	}
	traced := tracing.Options{Wanted: f.isTraced(), Sources: sources, Log: command.ErrOrStderr()}
	if f.view || t.function.Mode == abi.Read {
		return t.reverted(view(ctx, s, t, args, traced))
	}
	value, err := argument.ParseAmount(f.value)
	if err != nil {
		return output.Usage(err)
	}
	from, err := submit.Sender(s, f.Unsigned())
	if err != nil {
		return err
	}
	if err := from.On(t.chain); err != nil {
		return output.Usage(err)
	}
	action := client.CallEncoded(t.contract, t.function.Name, args, value)
	f.Flags.Traced = traced
	receipt, err := f.Send(ctx, s, command, from, action)
	if f.isTraced() && f.GasLimit == 0 && errors.Is(err, api.ErrExecutionFailed) {
		tx := types.Transaction{
			ChainID: t.chain.ID, Sender: from.ID, Target: action.Target, Value: action.Value, Payload: action.Payload,
		}
		return t.reverted(failedUnsent(ctx, s, tx, false, traced, err))
	}
	if receipt == nil || err != nil {
		return t.reverted(err)
	}
	var trace *tracing.Trace
	if f.isTraced() {
		if trace, err = tracing.Transaction(ctx, s, receipt.TransactionHash, sources,
			command.ErrOrStderr()); err != nil {
			return err
		}
	}
	return t.reverted(called(ctx, s, t, *receipt, trace))
}

// isTraced reports whether to show a trace.
func (f *calling) isTraced() bool { return f.trace || len(f.sources) > 0 }

// view makes a view call and writes its result, with its trace if wanted.
func view(ctx context.Context, s *session.Session, t target, args []byte, traced tracing.Options) error {
	asking, cancel := s.Patience(ctx)
	defer cancel()
	tx := types.Transaction{
		ChainID: t.chain.ID, Target: types.Account(t.contract), Payload: types.Call{Function: t.function.Name, Args: args},
	}
	result, err := s.Client.View(asking, t.contract, t.function.Name, args, api.Latest())
	if err != nil && traced.Wanted {
		return failedUnsent(ctx, s, tx, true, traced, err)
	}
	if err != nil {
		return err
	}
	view := viewedFunction{Contract: t.contract, Function: t.function.Name, Result: t.result(result), Output: result}
	if traced.Wanted {
		if view.Trace, err = tracing.Unsent(ctx, s, tx, true, traced.Sources, traced.Log); err != nil {
			return err
		}
	}
	return s.Result(view, func(text *output.Text) {
		text.Line("%s", t.shown(result))
		if view.Trace != nil {
			text.Line("\n%s", tracing.Text(s, *view.Trace))
		}
	})
}

// failedUnsent shows the trace of a failing call that was not sent, and returns the call's error.
func failedUnsent(
	ctx context.Context, s *session.Session, tx types.Transaction, view bool, traced tracing.Options, failed error,
) error {
	trace, err := tracing.Unsent(ctx, s, tx, view, traced.Sources, traced.Log)
	var failure *client.Error
	switch {
	case err != nil:
		s.Note("The call would fail, and the node has no trace of it: %v", err)
	case s.JSON() && errors.As(failed, &failure):
		if failure.Data == nil {
			failure.Data = map[string]any{}
		}
		failure.Data["trace"] = trace
	default:
		s.Note("%s", tracing.Text(s, *trace))
	}
	return failed
}

// called writes the result of a call in a block, with its trace if not nil.
func called(ctx context.Context, s *session.Session, of target, receipt api.Receipt, trace *tracing.Trace) error {
	included, err := submit.Include(ctx, s, receipt)
	if err != nil {
		return err
	}
	result := calledFunction{Included: included, Result: of.result(receipt.ReturnData), Trace: trace}
	if err := client.Failure(receipt); err != nil {
		var failure *client.Error
		switch {
		case s.JSON() && result.Trace != nil && errors.As(err, &failure):
			failure.Data["trace"] = result.Trace
		case result.Trace != nil:
			s.Note("%s", tracing.Text(s, *result.Trace))
		default:
			pointAtTrace(s, receipt)
		}
		return err
	}
	return s.Result(result, func(t *output.Text) {
		fields := included.Fields()
		if len(receipt.ReturnData) > 0 {
			fields = append(fields, output.Field{Name: "Result", Value: of.shown(receipt.ReturnData)})
		}
		t.Fields(fields...)
		tracing.LogTable(s, t, receipt.Logs)
		if result.Trace != nil {
			t.Line("\n%s", tracing.Text(s, *result.Trace))
		}
	})
}

// pointAtTrace tells users how to trace a failed transaction.
func pointAtTrace(s *session.Session, receipt api.Receipt) {
	if !s.JSON() {
		s.Note("To see what it did: cairn tx trace %s; add --source DIR to see the line in which it failed", receipt.TransactionHash)
	}
}

// completionPatience bounds the wait for the node during shell completion.
const completionPatience = 2 * time.Second

// completeCall suggests the words that may follow: a named contract, its functions, or the flags of their parameters.
func completeCall(a *session.App, command *cobra.Command, words []string, last string) []string {
	args, err := parseKnown(command, words)
	if err != nil {
		return nil
	}
	s, err := a.Start(command)
	if err != nil {
		return nil
	}
	defer s.Client.Close()
	if len(args) == 0 {
		return session.CompletionsOf(s.Store)
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	id, _, err := s.Contract(ctx, args[0])
	if err != nil {
		return nil
	}
	declared, err := s.Client.ContractABI(ctx, id)
	if declared == nil || err != nil {
		return nil
	}
	if len(args) == 1 {
		var functions []string
		for _, f := range declared.Functions {
			if f.Mode != abi.Init {
				functions = append(functions, f.Name+"\t"+f.String())
			}
		}
		return functions
	}
	f, _ := declared.Function(args[1])
	parameters := target{function: f}.parameters(command)
	if len(words) > 0 && !strings.HasPrefix(last, "-") {
		flag := parameters.Lookup(strings.TrimPrefix(words[len(words)-1], "--"))
		if flag != nil && flag.Usage == "`"+string(abi.Account)+"`" {
			return session.CompletionsOf(s.Store)
		}
	}
	var flags []string
	for _, set := range []*pflag.FlagSet{parameters, command.Flags()} {
		set.VisitAll(func(flag *pflag.Flag) { flags = append(flags, "--"+flag.Name+"\t"+strings.Trim(flag.Usage, "`")) })
	}
	return flags
}

// stopped compiles a contract again with debug information, and returns its own source lines at which its call failed,
// innermost function first. It returns none for a module without source, or if only calls of other contracts failed.
func (g givenModule) stopped(
	ctx context.Context, o contractbuild.Options, stops []contracttest.Stop,
) (list []tracing.StoppedAt, err error) {
	var places []contracttest.Place
	for _, s := range stops {
		if s.Code == types.CodeHash(sha256.Sum256(g.module)) {
			places = s.Places
			break
		}
	}
	if g.source == nil || len(places) == 0 {
		return nil, nil
	}
	lines, err := contractbuild.Map(ctx, *g.source, o, g.module)
	if err != nil {
		return nil, err
	}
	return tracing.LinesAt(*g.source, lines, places), nil
}

// stoppedText lists the lines at which a call stopped.
func stoppedText(list []tracing.StoppedAt) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "\n  %s", s)
	}
	return b.String()
}
