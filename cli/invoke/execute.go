// Package invoke runs a command of a tree: its flags and arguments, its help, its output, and the program's exit code.
package invoke

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/terminal"
	"github.com/cairn-chain/cairn/internal/config"
)

// EnvPrefix is the prefix of the environment variables for settings.
const EnvPrefix = "CAIRN_"

// JSONFlag is the flag that every command has.
const JSONFlag = "json"

// Streams holds standard input, output and error.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Execute runs the command given by args below root, and returns the program's exit code. Errors before a command's
// RunE is called are usage errors, as are errors of RunE marked by output.Usage.
func Execute(ctx context.Context, root *cobra.Command, args []string, streams Streams) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	arrange(root)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(ExplainFlag)
	started := false
	watch(root, &started)
	refuseRepeated(root)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return output.ExitDone
	}
	var unwritten *fs.PathError
	if errors.As(err, &unwritten) && errors.Is(err, syscall.EPIPE) && unwritten.Path == os.Stdout.Name() {
		return output.ExitDone // the reader has all that it wanted
	}
	printer := PrinterOf(command)
	if !started {
		// Flags after the invalid one are not parsed.
		printer = newPrinter(streams.Out, streams.Err, printer.JSON() || asksJSON(args))
		if logsJSON(command, args) {
			printer.Logged()
		}
		err = output.Usage(err)
	}
	return printer.Fail(err)
}

// Keys of command annotations.
const (
	serviceAnnotation = "service"
	strictAnnotation  = "strict"
)

// Service marks a command that runs until it is asked to stop. Neither a closed terminal nor a standard stream without
// a reader ends it.
func Service(command *cobra.Command) *cobra.Command { return annotate(command, serviceAnnotation) }

// Strict marks a command that fails if a variable with the program's prefix is not a setting. Other commands only warn,
// as variables are inherited and others may use the prefix.
func Strict(command *cobra.Command) *cobra.Command { return annotate(command, strictAnnotation) }

func annotate(command *cobra.Command, annotation string) *cobra.Command {
	if command.Annotations == nil {
		command.Annotations = make(map[string]string)
	}
	command.Annotations[annotation] = "true"
	return command
}

// contractTestVariables are the variables with the program's prefix that tests of contracts read.
var contractTestVariables = []string{"fuzz-seed", "fuzz-calls"}

// checkVariables reports variables with the program's prefix that are not settings of any command.
func checkVariables(command *cobra.Command) error {
	known := slices.Clone(contractTestVariables)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		known = append(known, config.Names(c.Flags())...)
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(command.Root())
	for _, sentence := range config.Unknown(EnvPrefix, known, os.Environ()) {
		if command.Annotations[strictAnnotation] != "" {
			return output.Usage(fmt.Errorf("%w: %s", config.ErrBadSetting, sentence))
		}
		PrinterOf(command).Note("Warning: %s", sentence)
	}
	return nil
}

// IsService reports whether args select a [Service] command below root.
func IsService(root *cobra.Command, args []string) bool {
	command, _, err := root.Find(args)
	return err == nil && command.Annotations[serviceAnnotation] != ""
}

// PrinterOf returns the printer of a running command.
func PrinterOf(command *cobra.Command) *output.Printer {
	asJSON, err := command.Flags().GetBool(JSONFlag)
	printer := newPrinter(command.OutOrStdout(), command.ErrOrStderr(), err == nil && asJSON)
	if logsJSON(command, nil) {
		printer.Logged()
	}
	return printer
}

// logsJSON reports whether a command logs in JSON. Before its settings are loaded, it looks at the variable and at the
// unparsed words of the command line.
func logsJSON(command *cobra.Command, args []string) bool {
	flag := command.Flags().Lookup("log-format")
	if flag == nil {
		return false
	}
	for i, word := range args {
		if word == "--log-format=json" || word == "json" && i > 0 && args[i-1] == "--log-format" {
			return true
		}
	}
	return flag.Value.String() == "json" ||
		!flag.Changed && os.Getenv(config.Variable(EnvPrefix, "log-format")) == "json"
}

// newPrinter returns a printer that uses colours on a terminal, unless disabled (no-color.org).
func newPrinter(out, err io.Writer, asJSON bool) *output.Printer {
	wanted := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return output.New(out, err, asJSON).Colour(wanted && terminal.Is(out), wanted && terminal.Is(err))
}

// watch makes all commands set started when one is run.
func watch(command *cobra.Command, started *bool) {
	if run := command.RunE; run != nil {
		command.RunE = func(command *cobra.Command, args []string) error {
			*started = true
			if err := checkVariables(command); err != nil {
				return err
			}
			return run(command, args)
		}
	}
	for _, child := range command.Commands() {
		watch(child, started)
	}
}

// errRepeated is the error for a flag given twice.
var errRepeated = errors.New("the flag is given twice")

// once is the value of a flag that may be given only once: of two values, the user may expect one and the program use
// the other.
type once struct {
	pflag.Value
	given bool
}

// Set implements [pflag.Value].
func (o *once) Set(text string) error {
	if o.given {
		return errRepeated
	}
	o.given = true
	return o.Value.Set(text)
}

// IsBoolFlag makes pflag accept a boolean flag without a value.
func (o *once) IsBoolFlag() bool { return o.Type() == "bool" }

// RefuseTwice makes a flag fail if it is given twice.
func RefuseTwice(flag *pflag.Flag) { flag.Value = &once{Value: flag.Value} }

// refuseRepeated makes commands refuse flags given twice, except flags that collect values.
func refuseRepeated(command *cobra.Command) {
	for _, set := range []*pflag.FlagSet{command.Flags(), command.PersistentFlags()} {
		set.VisitAll(func(flag *pflag.Flag) {
			kind := flag.Value.Type()
			_, done := flag.Value.(*once)
			if done || kind == "count" || strings.HasSuffix(kind, "Array") || strings.HasSuffix(kind, "Slice") {
				return
			}
			if flag.DefValue == "0s" || flag.DefValue == "0" {
				flag.DefValue = "" // help omits zero defaults, which it recognizes by the flag's type only
			}
			RefuseTwice(flag)
		})
	}
	for _, child := range command.Commands() {
		refuseRepeated(child)
	}
}

// ExplainFlag explains a flag that cannot be parsed. A wrong command is reported before a wrong flag after it.
func ExplainFlag(command *cobra.Command, err error) error {
	if args := command.Flags().Args(); command.Annotations[groupMark] != "" && len(args) > 0 {
		return wrongCommand(command, args)
	}
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid) && errors.Is(err, errRepeated):
		return fmt.Errorf("--%s is given twice", invalid.GetFlag().Name)
	case errors.As(err, &unknown) && isDigit(unknown.GetSpecifiedName()):
		return fmt.Errorf("-%s looks like a flag, and no argument can be negative", unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		if similar := similarFlag(command, unknown.GetSpecifiedName()); similar != "" {
			return fmt.Errorf("%w, did you mean --%s?", err, similar)
		}
	case errors.As(err, &invalid):
		if wants, ok := flagValues[invalid.GetFlag().Value.Type()]; ok {
			return fmt.Errorf("--%s: %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), wants)
		}
	}
	return err
}

func isDigit(name string) bool { return len(name) == 1 && name[0] >= '0' && name[0] <= '9' }

// flagValues describes the values of flag types with a special form.
var flagValues = map[string]string{
	"uint64":   "a whole number of at least 0",
	"uint":     "a whole number of at least 0",
	"uint32":   "a whole number from 0 to 4294967295",
	"uint8":    "a whole number from 0 to 255",
	"int":      "a whole number",
	"duration": `a duration such as "1s"`,
	"bool":     "true or false",
}

// similarFlag returns the flag of a command whose name is closest to the given one, at most two edits away, or "" if
// there is none.
func similarFlag(command *cobra.Command, name string) (similar string) {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
	})
	if found := names.SuggestionsFor(name); len(found) > 0 {
		similar = found[0]
	}
	return similar
}

func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--"+JSONFlag) || slices.Contains(args, "--"+JSONFlag+"=true")
}

// groupMark is the annotation of commands that only have subcommands.
const groupMark = "group"

// NewGroup returns a command that only has subcommands.
func NewGroup(command *cobra.Command) *cobra.Command {
	command.Annotations = map[string]string{groupMark: groupMark}
	command.Args = cobra.ArbitraryArgs
	command.SuggestionsMinimumDistance = 2
	command.RunE = func(command *cobra.Command, args []string) error { return output.Usage(wrongCommand(command, args)) }
	return command
}

func wrongCommand(group *cobra.Command, args []string) error {
	if len(args) > 0 {
		var hint string
		if similar := group.SuggestionsFor(args[0]); len(similar) > 0 {
			hint = ", did you mean " + strings.Join(similar, " or ") + "?"
		}
		return fmt.Errorf("%s has no command %q%s", group.CommandPath(), args[0], hint)
	}
	var names []string
	for _, child := range group.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return fmt.Errorf("%s needs a subcommand: %s", group.CommandPath(), strings.Join(names, ", "))
}

// Exactly requires the named arguments, in order.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		wants := "no arguments"
		if len(names) > 0 {
			wants = strings.Join(names, " and ")
		}
		return fmt.Errorf("%s takes %s, %d given", command.CommandPath(), wants, len(args))
	}
}

// AtLeastOne allows the argument called name, and any more.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) >= 1 {
			return nil
		}
		return fmt.Errorf("%s takes at least %s, none given", command.CommandPath(), name)
	}
}

// AtMostOne allows one argument called name, or none.
func AtMostOne(name string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return fmt.Errorf("%s takes at most one %s, %d given", command.CommandPath(), name, len(args))
	}
}
