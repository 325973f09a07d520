package config

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// field is one setting within a struct of settings.
type field struct {
	name   string
	usage  string
	value  any // a pointer to the struct's field
	bounds bounds
}

// fieldsOf returns the settings of the struct that settings points to. It panics if settings is not such a pointer or a
// field has an unsupported kind, because the struct is part of the program.
func fieldsOf(settings any) []field {
	pointer := reflect.ValueOf(settings)
	if pointer.Kind() != reflect.Pointer || pointer.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: settings are a pointer to a struct, not %T", settings))
	}
	return fieldsIn(pointer.Elem())
}

// fieldsIn returns the settings of a struct and its embedded structs.
func fieldsIn(structure reflect.Value) []field {
	var fields []field
	for i := range structure.NumField() {
		declared := structure.Type().Field(i)
		if declared.Anonymous {
			fields = append(fields, fieldsIn(structure.Field(i))...)
			continue
		}
		name, ok := declared.Tag.Lookup("setting")
		if !ok {
			continue
		}
		f := field{name: name, usage: declared.Tag.Get("usage"), value: structure.Field(i).Addr().Interface()}
		f.expects() // panics now for an unsupported kind, and not at a user's mistake
		f.bounds = f.parseBounds(declared.Tag.Get("bounds"))
		fields = append(fields, f)
	}
	return fields
}

// expects describes a valid value of the field.
func (f field) expects() string {
	switch f.value.(type) {
	case *string:
		return "a text"
	case *[]string:
		return "a list of texts"
	case *bool:
		return "true or false"
	case *int:
		return "a whole number"
	case *uint64:
		return "a whole number of at least 0"
	case *time.Duration:
		return `a duration such as "1s"`
	default:
		panic(fmt.Sprintf("config: setting %s is a %T", f.name, f.value))
	}
}

// Register declares flags for the named settings, or for all if no name is given. The flags set the struct that
// settings points to, and its values are their defaults. Register panics if the struct has no setting of a name.
func Register(flags *pflag.FlagSet, settings any, names ...string) {
	fields := fieldsOf(settings)
	for _, name := range names {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			panic("config: there is no setting " + name)
		}
	}
	for _, f := range fields {
		if len(names) == 0 || slices.Contains(names, f.name) {
			f.register(flags)
		}
	}
}

func (f field) register(flags *pflag.FlagSet) {
	switch value := f.value.(type) {
	case *string:
		flags.StringVar(value, f.name, *value, f.usage)
	case *[]string:
		flags.StringSliceVar(value, f.name, *value, f.usage)
	case *bool:
		flags.BoolVar(value, f.name, *value, f.usage)
	case *int:
		flags.IntVar(value, f.name, *value, f.usage)
	case *uint64:
		flags.Uint64Var(value, f.name, *value, f.usage)
	case *time.Duration:
		flags.DurationVar(value, f.name, *value, f.usage)
	}
	var annotation []string
	if len(f.bounds) > 0 {
		annotation = []string{f.bounds.String()}
	}
	_ = flags.SetAnnotation(f.name, isSetting, annotation) // the flag exists
}
