package operator

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/testkit/nextstep"
)

// emergencies are all messages of the package, by their names there.
var emergencies = map[string]any{
	"Abandoned":          emergency.Abandoned,
	"BadKey":             emergency.BadKey,
	"BadGenesis":         emergency.BadGenesis,
	"BadOverride":        emergency.BadOverride,
	"BadSettings":        emergency.BadSettings,
	"BlockReplaced":      emergency.BlockReplaced,
	"BlocksAwaited":      emergency.BlocksAwaited,
	"BlocksMissing":      emergency.BlocksMissing,
	"CopiedMember":       emergency.CopiedMember,
	"DamagedQuarantine":  emergency.DamagedQuarantine,
	"DamagedBackup":      emergency.DamagedBackup,
	"DamagedDatabase":    emergency.DamagedDatabase,
	"DamagedEvidence":    emergency.DamagedEvidence,
	"DamagedExport":      emergency.DamagedExport,
	"DamagedJournal":     emergency.DamagedJournal,
	"DamagedSignState":   emergency.DamagedSignState,
	"DamagedLink":        emergency.DamagedLink,
	"DamagedPlace":       emergency.DamagedPlace,
	"DamagedPromises":    emergency.DamagedPromises,
	"DamagedTable":       emergency.DamagedTable,
	"DamagedUnsigned":    emergency.DamagedUnsigned,
	"Disagreed":          emergency.Disagreed,
	"DiskFails":          emergency.DiskFails,
	"DiskFull":           emergency.DiskFull,
	"Diverged":           emergency.Diverged,
	"EndedMember":        emergency.EndedMember,
	"EngineFailed":       emergency.EngineFailed,
	"Equivocated":        emergency.Equivocated,
	"Exposed":            emergency.Exposed,
	"ForgottenMember":    emergency.ForgottenMember,
	"MissingJournal":     emergency.MissingJournal,
	"MoveUnfinished":     emergency.MoveUnfinished,
	"Moved":              emergency.Moved,
	"NoLeader":           emergency.NoLeader,
	"OldProtocol":        emergency.OldProtocol,
	"OtherChain":         emergency.OtherChain,
	"OtherCluster":       emergency.OtherCluster,
	"OtherFormat":        emergency.OtherFormat,
	"OtherGenesis":       emergency.OtherGenesis,
	"OtherJournal":       emergency.OtherJournal,
	"OtherPin":           emergency.OtherPin,
	"OtherProducer":      emergency.OtherProducer,
	"OtherSchedule":      emergency.OtherSchedule,
	"OtherUser":          emergency.OtherUser,
	"Problems":           emergency.Problems,
	"PrunedMove":         emergency.PrunedMove,
	"RecoveredWithout":   emergency.RecoveredWithout,
	"RemovedMember":      emergency.RemovedMember,
	"SignedElsewhere":    emergency.SignedElsewhere,
	"SignerAway":         emergency.SignerAway,
	"SignerFailed":       emergency.SignerFailed,
	"SignerLockLost":     emergency.SignerLockLost,
	"SignerOfOtherChain": emergency.SignerOfOtherChain,
	"SignerOfOtherKey":   emergency.SignerOfOtherKey,
	"SignerOfOtherPin":   emergency.SignerOfOtherPin,
	"SignerSigned":       emergency.SignerSigned,
	"StillHalted":        emergency.StillHalted,
	"TornJournal":        emergency.TornJournal,
	"UnknownVersion":     emergency.UnknownVersion,
	"Unreadable":         emergency.Unreadable,
	"Unrecorded":         emergency.Unrecorded,
	"WrongProducerKey":   emergency.WrongProducerKey,
}

// Every emergency says what happened, whether anything was lost, and the one next step, with existing commands.
func TestEmergencies(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(emergencies)), emergencyNames(t); !slices.Equal(got, want) {
		t.Fatalf("tested are %q, the package has %q", got, want)
	}
	for name, message := range emergencies {
		for _, e := range sayAll(message) {
			checkEmergency(t, name, e)
		}
	}
}

// A restart does not repair one of the node's own files, so every message about damage that ends a node is final. The
// other messages are lines of the log, or of commands that no service manager restarts.
func TestDamageIsFinal(t *testing.T) {
	logged := []string{"DamagedTable", "DamagedJournal", "DamagedExport", "DamagedBackup"}
	for name, message := range emergencies {
		if !strings.HasPrefix(name, "Damaged") || slices.Contains(logged, name) {
			continue
		}
		for _, e := range sayAll(message) {
			if !e.Final {
				t.Errorf("%s: got %q, not final, so that a service is started for ever", name, e)
			}
		}
	}
}

// checkEmergency checks the form of a message.
func checkEmergency(t *testing.T, name string, e *emergency.Emergency) {
	t.Helper()
	first, _ := utf8.DecodeRuneInString(e.Next)
	switch {
	case e.What == "" || e.Lost == "" || e.Next == "":
		t.Errorf("%s: what happened, what is lost or what is next is not said: error %+v", name, e)
	case !strings.Contains(e.Lost, "lost"):
		t.Errorf("%s: %q does not say whether anything was lost", name, e.Lost)
	case !unicode.IsUpper(first) || strings.HasSuffix(e.Next, "."):
		t.Errorf("%s: the next step is no sentence without its full stop: %q", name, e.Next)
	case strings.Contains(e.Error(), "%!"):
		t.Errorf("%s: an argument is of the wrong kind: error %q", name, e)
	case e.Final != (output.ExitCode(e) == output.ExitUsage):
		t.Errorf("%s: exit code %d, final %t", name, output.ExitCode(e), e.Final)
	}
	commands, pages := nextstep.Commands(e.Next), nextstep.Pages(e.Next)
	if len(commands)+len(pages) == 0 {
		t.Errorf("%s: the next step is neither a command nor a page's section: %q", name, e.Next)
	}
	for _, line := range commands {
		if err := thereIs(line); err != nil {
			t.Errorf("%s: `%s`: error %v", name, line, err)
		}
	}
	for _, section := range pages {
		if err := nextstep.CheckPage("../..", section); err != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// thereIs reports whether the program has a command, with its flags.
func thereIs(line string) error {
	root := NewRoot(func() error { return nil })
	command, rest, err := root.Find(strings.Fields(line)[1:])
	if err != nil {
		return err
	}
	if command.RunE == nil && command.Run == nil {
		return errors.New("it is a group of commands")
	}
	for _, word := range rest {
		flag, is := strings.CutPrefix(word, "--")
		flag, _, _ = strings.Cut(flag, "=")
		if is && flagOf(command, flag) == nil {
			return errors.New("there is no flag --" + flag)
		}
	}
	return nil
}

func flagOf(command *cobra.Command, name string) any {
	if f := command.Flags().Lookup(name); f != nil {
		return f
	}
	if f := command.InheritedFlags().Lookup(name); f != nil {
		return f
	}
	return nil
}

// sayAll makes a message with values for its parameters: with texts and without, true and false.
func sayAll(message any) (all []*emergency.Emergency) {
	call := reflect.ValueOf(message)
	for variant := range 3 {
		in := make([]reflect.Value, call.Type().NumIn())
		for i := range in {
			in[i] = someValue(call.Type().In(i), variant, i)
		}
		all = append(all, call.Call(in)[0].Interface().(*emergency.Emergency))
	}
	return all
}

func someValue(kind reflect.Type, variant, i int) reflect.Value {
	v := reflect.New(kind).Elem()
	switch {
	case kind == reflect.TypeFor[error]():
		v.Set(reflect.ValueOf(errors.New("the cause")))
	case kind.Kind() == reflect.String && variant > 0:
		v.SetString("./x")
	case kind.Kind() == reflect.Bool:
		v.SetBool(variant == 1)
	case v.CanUint():
		v.SetUint(uint64(variant + i))
	case v.CanInt():
		v.SetInt(int64(variant + i))
	}
	return v
}

// emergencyNames are the functions of the package that make messages.
func emergencyNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../internal/emergency/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && f.Name.IsExported() {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
