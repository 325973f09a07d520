package operator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/internal/config"
	"github.com/cairn-chain/cairn/internal/datadir"
)

// numbers are the settings of a command that are numbers or durations, with their bounds as in help and errors.
func numbers(command *cobra.Command) map[string]string {
	found := make(map[string]string)
	command.Flags().VisitAll(func(f *pflag.Flag) {
		bounds, is := f.Annotations["setting"]
		if is && slices.Contains([]string{"int", "uint64", "duration"}, f.Value.Type()) {
			found[f.Name] = strings.Join(bounds, "")
		}
	})
	return found
}

// Every setting that is a number or a duration has bounds. A lower value is refused before the command begins, and the
// error states the bounds and whether a flag, a variable or a file has the value.
func TestEverySettingHasBounds(t *testing.T) {
	root := NewRoot(func() error { return nil })
	count := 0
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		for name, bounds := range numbers(command) {
			count++
			if bounds == "" {
				t.Errorf("%s: --%s has no bounds", command.CommandPath(), name)
			}
		}
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(root)
	if count < 30 {
		t.Errorf("%d settings are numbers, want some 30 at least", count)
	}
	for name, bounds := range numbers(newDoctor()) {
		for source, load := range map[string]func(*nodeSettings, string) error{
			"--" + name:                             fromFlag(name),
			config.Variable(invoke.EnvPrefix, name): fromVariable(name),
			datadir.SettingsFile + ": " + name:      fromFile(t, name),
		} {
			settings := defaultNode()
			text := outside(name)
			err := load(&settings, text)
			if !errors.Is(err, config.ErrBadSetting) || !strings.Contains(err.Error(), source+" must be "+bounds) {
				t.Errorf("%s %s: %v, want that it must be %s", source, text, err, bounds)
			}
		}
	}
	if err := config.Check(&baseSettings{BlockTime: -5 * time.Second}, "block-time"); err == nil ||
		!strings.Contains(err.Error(), "--block-time must be 0, or from 10ms to 1h, not -5s") {
		t.Errorf("init's block time: error %v", err)
	}
}

// outside returns a value outside a node setting's bounds: negative if possible, otherwise too large.
func outside(name string) string {
	settings := reflect.ValueOf(defaultNode())
	kind := reflect.Uint64
	for _, f := range reflect.VisibleFields(settings.Type()) {
		if f.Tag.Get("setting") == name {
			kind = f.Type.Kind()
			if f.Type == reflect.TypeFor[time.Duration]() {
				return "-1s"
			}
		}
	}
	if kind == reflect.Int {
		return "-1"
	}
	return "18446744073709551615"
}

func fromFlag(name string) func(*nodeSettings, string) error {
	return func(s *nodeSettings, text string) error {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		config.Register(flags, s)
		if err := flags.Parse([]string{"--" + name + "=" + text}); err != nil {
			return err
		}
		return config.Load(s, config.Sources{Flags: flags})
	}
}

func fromVariable(name string) func(*nodeSettings, string) error {
	return func(s *nodeSettings, text string) error {
		environ := func() []string { return []string{config.Variable(invoke.EnvPrefix, name) + "=" + text} }
		return config.Load(s, config.Sources{Env: invoke.EnvPrefix, Environ: environ})
	}
}

func fromFile(t *testing.T, name string) func(*nodeSettings, string) error {
	return func(s *nodeSettings, text string) error {
		path := filepath.Join(t.TempDir(), datadir.SettingsFile)
		if err := os.WriteFile(path, fmt.Appendf(nil, "%s = %q\n", name, text), 0o600); err != nil {
			return err
		}
		return config.Load(s, config.Sources{File: path})
	}
}

// The defaults of a node are within the bounds.
func TestDefaultsAreWithinBounds(t *testing.T) {
	settings := defaultNode()
	for name := range numbers(newDoctor()) {
		if err := config.Check(&settings, name); err != nil {
			t.Error(err)
		}
	}
}
