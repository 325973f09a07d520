package invoke

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/output"
)

// helpWidth is the maximum width of help, in columns.
const helpWidth = 80

// helpText returns a command's help.
func helpText(command *cobra.Command) string {
	description := cmp.Or(command.Long, command.Short)
	lines := strings.Split(joined(description)+"\n\n"+strings.TrimRight(command.UsageString(), "\n"), "\n")
	example := false
	for i, line := range lines {
		if line == "Examples:" || line == "" {
			example = line != ""
		}
		lines[i] = wrap(line, example)
	}
	return strings.Join(lines, "\n")
}

// joined joins the lines of each paragraph of a text, except indented lines.
func joined(text string) string { return lineEnd.ReplaceAllString(text, "$1 $2") }

var lineEnd = regexp.MustCompile(`(\S)\n(\S)`)

// wrap breaks a line between words. The further lines begin where the first one's text does: in a list of flags or
// commands, below the description. An example is broken before flags, such that a shell joins the lines again.
func wrap(line string, example bool) string {
	if utf8.RuneCountInString(line) <= helpWidth {
		return line
	}
	head, between, end := columns.FindString(line), " ", ""
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	if example {
		head, between, end, indent = "", " --", ` \`, "    "
	}
	var text strings.Builder
	text.WriteString(head)
	width := utf8.RuneCountInString(head)
	for i, word := range strings.Split(line[len(head):], between) {
		if i > 0 {
			word = between + word
		}
		n := utf8.RuneCountInString(word)
		if i > 0 && width+n+len(end) > helpWidth {
			text.WriteString(end + "\n" + indent)
			word, width = word[1:], len(indent)-1
		}
		text.WriteString(word)
		width += n
	}
	return text.String()
}

// columns matches the indentation of a line, and the first column of a list.
var columns = regexp.MustCompile(`^( +(\S+ )*\S+  +| *)`)

// PrintHelp writes a command's help.
func PrintHelp(printer *output.Printer, explained *cobra.Command) error {
	text := helpText(explained)
	return printer.Result(map[string]string{"help": text}, func(t *output.Text) { t.Line("%s", text) })
}

// NewHelp returns the command help. Cobra's own does not support JSON.
func NewHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND…]",
		Short:   "Show help for a command",
		Example: "  cairn help send",
		RunE: func(command *cobra.Command, args []string) error {
			explained, rest, err := command.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return output.Usage(fmt.Errorf("there is no command %q", strings.Join(args, " ")))
			}
			// The explained command has parsed no flags, so the flags of this one select the output.
			return PrintHelp(PrinterOf(command), explained)
		},
	}
}

// groups are the groups of commands in the program's help.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"coins", "Keys and coins:", []string{"keys", "account", "send", "pay", "cancel", "fund", "token"}},
	{"look", "Look at the chain:", []string{
		"status", "block", "tx", "events", "proof", "fees", "mempool", "watch", "rpc",
	}},
	{"contracts", "Contracts:", []string{"contract", "deploy", "call", "encode", "decode"}},
	{"node", "Run a node:", []string{"dev", "init", "node", "prove", "doctor", "snapshot", "db", "quarantine", "bench"}},
	{"network", "Run a network:", []string{"parameters", "configure", "upgrade", "cluster", "signer", "promote"}},
	{"program", "This program:", []string{"help", "version", "completion"}},
}

// arrange assigns the commands below root to groups. Commands without a group are listed last.
func arrange(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range root.Commands() {
			if slices.Contains(group.commands, command.Name()) {
				command.GroupID = group.id
			}
		}
	}
}
