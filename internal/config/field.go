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

// fieldsOf returns the settings of the struct that settings points to. It panics when that is none or has fields of
// kinds that the package does not know: the struct is part of the program.
func fieldsOf(settings any) []field {
	pointer := reflect.ValueOf(settings)
	if pointer.Kind() != reflect.Pointer || pointer.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: settings are a pointer to a struct, not %T", settings))
	}
	return fieldsIn(pointer.Elem())
}

// fieldsIn returns the settings of a struct, those of embedded structs included.
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
		f.expects() // panics here rather than when a user errs
		f.bounds = f.parseBounds(declared.Tag.Get("bounds"))
		fields = append(fields, f)
	}
	return fields
}

// expects says in words what a value of the field looks like.
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

// Register declares the flags of the named settings, or of all when no name is given, bound to the struct that
// settings points to and with its values as defaults. It panics when the struct has no such setting.
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
	_ = flags.SetAnnotation(f.name, isSetting, annotation) // it is there
}
