package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// ErrBadSetting is wrapped by the errors of Load for an unknown setting or an invalid value.
var ErrBadSetting = errors.New("bad setting")

// Sources are the sources of settings, in order of precedence.
type Sources struct {
	// Flags are the command's flags. Only those given on the command line count. Nil: none.
	Flags *pflag.FlagSet
	// Env is the prefix of the environment variables, such as "CAIRN_". If it is empty, none are read.
	Env string
	// Environ lists the environment as os.Environ does. Nil: os.Environ.
	Environ func() []string
	// File is the path of a TOML file, or empty for none. An unknown key in the file is an error.
	File string
}

// layer is one source of settings.
type layer struct {
	values *koanf.Koanf
	// label returns the origin of a setting, for errors.
	label func(name string) string
}

// Load sets the fields of the struct that settings points to from the sources. Fields without a source keep their
// values as defaults. The error for an unknown setting or an invalid value is one sentence that names the setting, and
// wraps [ErrBadSetting]. A file that cannot be read or is not TOML is an error too.
func Load(settings any, sources Sources) error {
	fields := fieldsOf(settings)
	layers, err := sources.layers(fields)
	if err != nil {
		return err
	}
	merged := koanf.New(".")
	labels := make(map[string]string)
	for _, l := range layers {
		if err := merged.Merge(l.values); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		for _, name := range l.values.Keys() {
			labels[name] = l.label(name)
		}
	}
	for _, f := range fields {
		if !merged.Exists(f.name) {
			continue
		}
		if err := f.set(merged.Get(f.name)); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrBadSetting, labels[f.name], err)
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("%w: %s %w", ErrBadSetting, labels[f.name], err)
		}
	}
	return nil
}

// layers reads the sources in ascending order of precedence.
func (s Sources) layers(fields []field) ([]layer, error) {
	var layers []layer
	known := func(name string) bool {
		return slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
	}
	if s.File != "" {
		values := koanf.New(".")
		if err := values.Load(file.Provider(s.File), toml.Parser()); err != nil {
			var at interface{ Position() (row, column int) } // implemented by the error of a file that is not TOML
			if errors.As(err, &at) {
				row, _ := at.Position()
				return nil, fmt.Errorf("settings file %s: line %d: %w", s.File, row, err)
			}
			return nil, fmt.Errorf("settings file %s: %w", s.File, err)
		}
		for _, name := range values.Keys() {
			if !known(name) {
				return nil, fmt.Errorf("%w: %s: there is no setting %q", ErrBadSetting, s.File, name)
			}
		}
		layers = append(layers, layer{values, func(name string) string { return s.File + ": " + name }})
	}
	if s.Env != "" {
		values := koanf.New(".")
		transform := func(variable, value string) (string, any) {
			name := settingName(s.Env, variable)
			if !known(name) {
				return "", nil
			}
			return name, value
		}
		environ := s.Environ
		if environ == nil {
			environ = os.Environ
		}
		if err := values.Load(
			env.Provider(".", env.Opt{Prefix: s.Env, TransformFunc: transform, EnvironFunc: environ}), nil,
		); err != nil {
			return nil, fmt.Errorf("settings in the environment: %w", err)
		}
		layers = append(layers, layer{values, func(name string) string { return Variable(s.Env, name) }})
	}
	if s.Flags != nil {
		values := koanf.New(".")
		given := func(f *pflag.Flag) (string, any) {
			if !known(f.Name) {
				return "", nil
			}
			return f.Name, posflag.FlagVal(s.Flags, f)
		}
		if err := values.Load(posflag.ProviderWithFlag(s.Flags, ".", nil, given), nil); err != nil {
			return nil, fmt.Errorf("settings on the command line: %w", err)
		}
		layers = append(layers, layer{values, func(name string) string { return "--" + name }})
	}
	return layers, nil
}

// Variable returns the name of a setting's environment variable: Variable("CAIRN_", "rpc-url") returns "CAIRN_RPC_URL".
func Variable(prefix, name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func settingName(prefix, variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, prefix), "_", "-"))
}

// set parses a value from a source into the field, exactly as the field's flag does.
func (f field) set(value any) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(flags)
	target := flags.Lookup(f.name).Value
	bad := fmt.Errorf("%#v is not %s", value, f.expects())
	switch value := value.(type) {
	case []string:
		return f.setList(target, value, bad)
	case []any:
		texts := make([]string, len(value))
		for i, element := range value {
			text, ok := element.(string)
			if !ok {
				return bad
			}
			texts[i] = text
		}
		return f.setList(target, texts, bad)
	case map[string]any:
		return bad
	default:
		if target.Set(fmt.Sprint(value)) != nil {
			return bad
		}
		return nil
	}
}

func (f field) setList(target pflag.Value, texts []string, bad error) error {
	list, ok := target.(pflag.SliceValue)
	if !ok || list.Replace(texts) != nil {
		return bad
	}
	return nil
}
