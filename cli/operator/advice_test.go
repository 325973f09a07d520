package operator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// repository is the path from this package to the root of the sources.
const repository = "../.."

// allCommands are the program's commands, groups among them.
func allCommands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, child := range root.Commands() {
		list = append(list, allCommands(child)...)
	}
	return list
}

// advice is a text in the repository that people read, with the file that contains it.
type advice struct{ file, text string }

// advised returns all texts that may name commands: pages, the explorer's sources, and the program's messages.
func advised(t *testing.T) (found []advice) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(repository), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := entry.Name(); entry.IsDir() {
			if name != "." && (base[0] == '.' || slices.Contains([]string{"node_modules", "dist", "build", "testdata"}, base)) {
				return fs.SkipDir
			}
			return nil
		}
		source, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			return err
		}
		switch ext := path.Ext(name); {
		case name == "CHANGELOG.md": // it also names pages of older versions
		case ext == ".md", ext == ".tsx", ext == ".yml":
			found = append(found, advice{name, string(source)})
		case ext == ".go" && !strings.HasSuffix(name, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						found = append(found, advice{name, text})
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	// named is a command in a text, up to the end of the code span, line or shell command.
	named = regexp.MustCompile("(?:^|[^/=.:a-z-])cairn ([a-z][^\n`<>|;&\"'”#]*)")
	word  = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flags = regexp.MustCompile(`^--([a-z][a-z0-9-]*)`)
)

// notCommands are words after the program's name in texts that name no command: the first words of files and
// certificates.
var notCommands = []string{"journal", "machine", "member", "key’s"}

// prose are words that continue a sentence after a command.
var prose = []string{"that", "and", "or", "is", "has", "with", "as", "again"}

// TestAdviceIsTrue: every command that a page, the explorer or a message of the program names exists and has the flags
// given there.
func TestAdviceIsTrue(t *testing.T) {
	root := NewRoot(func() error { return nil })
	root.InitDefaultHelpCmd()
	seen := 0
	for _, a := range advised(t) {
		for _, match := range named.FindAllStringSubmatch(a.text, -1) {
			words := strings.Fields(match[1])
			for i := range words {
				words[i] = strings.TrimRight(words[i], ".,:)")
			}
			command, rest, err := root.Find(words)
			if err != nil || command == root {
				if !slices.Contains(notCommands, words[0]) {
					t.Errorf("%s: got %q, want a command of the program", a.file, match[1])
				}
				continue
			}
			seen++
			takesMore := !command.HasSubCommands() || command.Name() == "account" // of any name
			if !takesMore && len(rest) > 0 && word.MatchString(rest[0]) && !slices.Contains(prose, rest[0]) {
				t.Errorf("%s: got %q, want a command of %s", a.file, match[1], command.CommandPath())
			}
			if command.Name() == "call" || command.Name() == "encode" {
				continue // flags are the parameters of a function
			}
			for _, one := range rest {
				flag := flags.FindStringSubmatch(one)
				if flag != nil && command.Flags().Lookup(flag[1]) == nil && command.InheritedFlags().Lookup(flag[1]) == nil {
					t.Errorf("%s: got %q, want flags of %s", a.file, match[1], command.CommandPath())
				}
			}
		}
	}
	if seen < 300 {
		t.Errorf("got %d commands, want more: they were not found", seen)
	}
}

// TestFlagsAreOne: flags with one meaning have one name in all commands, and flags of one name take one kind of value.
func TestFlagsAreOne(t *testing.T) {
	type of struct{ command, value string }
	byName, byShort, byUsage := map[string]of{}, map[string]string{}, map[string]string{}
	// An account, a height or a directory, depending on the command; the version of the program or of the parameters.
	other := map[string]bool{"from": true, "to": true, "version": true}
	for _, command := range allCommands(NewRoot(func() error { return nil })) {
		command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			kind := strings.TrimSuffix(flag.Value.Type(), "Array") // one or several arguments
			where := command.CommandPath() + " --" + flag.Name
			if first, ok := byName[flag.Name]; ok && first.value != kind && !other[flag.Name] {
				t.Errorf("%s: got a value of type %s, want %s as of %s", where, kind, first.value, first.command)
			} else if !ok {
				byName[flag.Name] = of{command.CommandPath(), kind}
			}
			if first, ok := byShort[flag.Shorthand]; ok && first != flag.Name {
				t.Errorf("%s: got -%s, which is --%s elsewhere", where, flag.Shorthand, first)
			} else if flag.Shorthand != "" {
				byShort[flag.Shorthand] = flag.Name
			}
			if first, ok := byUsage[flag.Usage]; ok && first != flag.Name && !other[first] && !other[flag.Name] {
				t.Errorf("%s: got %q, which is --%s elsewhere", where, flag.Usage, first)
			}
			byUsage[flag.Usage] = flag.Name
			if (flag.Name == "out") != (flag.Shorthand == "o") || strings.HasPrefix(flag.Name, "output") {
				t.Errorf("%s: got -%q, want --out and -o for what is written", where, flag.Shorthand)
			}
		})
	}
}

// arguments has values for the arguments of commands that only query a node, by their names in the usage.
var arguments = map[string]string{
	"ACCOUNT": strings.Repeat("ab", 32), "OWNER": strings.Repeat("ab", 32), "SPENDER": strings.Repeat("ab", 32),
	"TOKEN": strings.Repeat("cd", 32), "CONTRACT": strings.Repeat("cd", 32), "HASH": strings.Repeat("ef", 32),
	"HEIGHT": "1", "METHOD": "svc_blockNumber", "FUNCTION": "get", "DATA": "0x", "TO": "1",
}

// TestAskingNeedsNoHome: a command that asks a node and signs nothing runs without a home directory, and writes no
// file.
func TestAskingNeedsNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	dir := t.TempDir()
	t.Chdir(dir)
	asked := 0
	for _, command := range allCommands(NewRoot(func() error { return nil })) {
		signs := command.Flags().Lookup("password-file") != nil || command.Flags().Lookup("protocol-key") != nil
		runs := slices.Contains([]string{"bench", "prove", "publish"}, command.Name()) ||
			command.CommandPath() == "cairn tx send"
		asks := !command.HasSubCommands() || command.Name() == "tx" || command.Name() == "account"
		if command.Flags().Lookup("rpc-url") == nil || signs || runs || !asks {
			continue
		}
		args := strings.Fields(command.CommandPath())[1:]
		for _, name := range strings.Fields(command.Use)[1:] {
			if name, _, _ = strings.Cut(name, "|"); arguments[name] != "" {
				args = append(args, arguments[name])
			}
		}
		if command.Flags().Lookup("lang") != nil {
			args = append(args, "--lang", "go")
		}
		if command.Flags().Lookup("trusted-header") != nil {
			args = append(args, "--trusted-header", "0:0x"+strings.Repeat("ab", 32))
		}
		asked++
		exit, out, prose := runProgram(t, append(args, "--rpc-url", "http://127.0.0.1:1")...)
		if exit != 3 || !strings.Contains(prose, "cannot reach a node") {
			t.Errorf("%v: got exit code %d, %q, %q, want 3: cannot reach a node", args, exit, out, prose)
		}
	}
	if asked < 20 {
		t.Errorf("got %d commands that ask a node, want more", asked)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want no files", left, err)
	}
}

// TestPagesLeaveTheCheckout: the commands of the first pages, typed in a clone, leave nothing there that makes the next
// build modified.
func TestPagesLeaveTheCheckout(t *testing.T) {
	var page []byte
	for _, name := range []string{"README.md", "docs/contracts.md", "docs/tutorials/chain.md", "docs/verifiers.md"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		page = append(page, text...)
	}
	ignored, err := os.ReadFile(filepath.Join(repository, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	for _, made := range []struct{ pattern, name string }{
		{`cairn proof get (\d+)`, "block$1.proof"}, {`cairn contract new (\w+)`, "$1/"}, {`cairn init \./(\w+)`, "$1/"},
		{`--data-dir \./(\w+)`, "$1/"}, {`(?:--out|-o) (\w+)/`, "$1/"}, {`(?:--out|-o) ([\w.]+)\s`, "$1"},
	} {
		pattern := regexp.MustCompile(made.pattern)
		for _, match := range pattern.FindAllSubmatchIndex(page, -1) {
			written = append(written, string(pattern.Expand(nil, []byte(made.name), page, match)))
		}
	}
	for _, name := range written {
		found := slices.ContainsFunc(strings.Fields(string(ignored)), func(line string) bool {
			matched, err := path.Match(strings.TrimPrefix(line, "/"), name)
			return err == nil && matched
		})
		if !found {
			t.Errorf("got %s from the commands of the first pages, want a line of .gitignore for it", name)
		}
	}
	if len(written) < 4 {
		t.Errorf("got %v, want what the commands of the first pages write", written)
	}
}
