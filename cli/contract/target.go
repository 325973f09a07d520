package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/types"
)

// argumentPrefix prefixes the flag of a parameter whose name is taken by another flag.
const argumentPrefix = "arg-"

// parseKnown parses the command's own flags, and returns the arguments. It skips other flags, each with the next word
// unless that begins with a dash: they belong to the function, whose flags all take a value.
func parseKnown(command *cobra.Command, words []string) ([]string, error) {
	command.InheritedFlags() // adds them to the command's flags
	set := command.Flags()
	set.ParseErrorsAllowlist.UnknownFlags = true
	err := set.Parse(words)
	return set.Args(), err
}

// target is the called function.
type target struct {
	contract types.ContractID
	chain    argument.Chain
	function abi.Function
	abi      abi.ABI
	declared bool // whether the contract has an ABI
}

// findTarget asks the node about a function. For a contract without an ABI, declared is false.
func findTarget(ctx context.Context, s *session.Session, contract, function string) (target, error) {
	id, chain, err := s.Contract(ctx, contract)
	if err != nil {
		return target{}, err
	}
	t := target{contract: id, chain: chain, function: abi.Function{Name: function, Mode: abi.Write}}
	declared, err := s.Client.ContractABI(ctx, id)
	if err == nil && function == "" && declared == nil {
		err = output.Usage(errors.New("no function given, and the contract's code contains no ABI that lists them"))
	}
	if declared == nil || err != nil {
		return t, err
	}
	f, ok := declared.Function(function)
	if !ok || f.Mode == abi.Init {
		var names []string
		for _, f := range declared.Functions {
			if f.Mode != abi.Init {
				names = append(names, f.Name)
			}
		}
		if function == "" {
			return target{}, output.Usage(fmt.Errorf("no function given: the contract has %s", strings.Join(names, ", ")))
		}
		return target{}, output.Usage(fmt.Errorf(
			"the contract has no function %q: it has %s", function, strings.Join(names, ", "),
		))
	}
	t.function, t.abi, t.declared = f, *declared, true
	return t, nil
}

// parameters returns flags for the function's parameters.
func (t target) parameters(command *cobra.Command) *pflag.FlagSet {
	set := pflag.NewFlagSet(t.function.Name, pflag.ContinueOnError)
	for _, p := range t.function.Args {
		name := p.Name
		if command.Flags().Lookup(name) != nil {
			name = argumentPrefix + name
		}
		set.String(name, "", "`"+p.Type.String()+"`")
		// Fails only for a flag that does not exist.
		_ = set.SetAnnotation(name, parameterName, []string{p.Name})
	}
	return set
}

// parameterName is the annotation of a flag with the name of its parameter.
const parameterName = "parameter"

// explained returns a command whose help describes the function of the contract.
func (t target) explained(command *cobra.Command, contract string, parameters *pflag.FlagSet) *cobra.Command {
	does := "It changes the state, and is called by a transaction."
	if t.function.Mode == abi.Read {
		does = "It only reads, and is called by a view call."
	}
	if t.function.Payable {
		does += " It accepts coins: --value."
	}
	c := &cobra.Command{
		Use: t.function.Name, Long: fmt.Sprintf("%s\n\n%s \"cairn call --help\" lists the other flags.", t.function, does),
		RunE: func(*cobra.Command, []string) error { return nil }, DisableFlagsInUseLine: true,
	}
	c.Use = command.CommandPath() + " " + contract + " " + t.function.Name + " [flags]"
	c.Flags().AddFlagSet(parameters)
	return c
}

// parseParameters parses the command line again, strictly, with the function's parameters. The command's own flags go
// to a separate set, as they already have their values.
func parseParameters(command *cobra.Command, parameters *pflag.FlagSet, words []string) (map[string]string, error) {
	set := pflag.NewFlagSet(command.Name(), pflag.ContinueOnError)
	command.Flags().VisitAll(func(known *pflag.Flag) {
		set.StringP(known.Name, known.Shorthand, "", "")
		set.Lookup(known.Name).NoOptDefVal = known.NoOptDefVal
	})
	parameters.VisitAll(invoke.RefuseTwice)
	set.AddFlagSet(parameters)
	if err := set.Parse(words); err != nil {
		return nil, invoke.ExplainFlag(command, err)
	}
	given := map[string]string{}
	parameters.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			given[flag.Annotations[parameterName][0]] = flag.Value.String()
		}
	})
	return given, nil
}
