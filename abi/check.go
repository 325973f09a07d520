package abi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

func (a ABI) check() error {
	if a.Version > Version {
		return fmt.Errorf("%w: its version is %d, but this program supports versions up to %d", ErrBad, a.Version, Version)
	}
	if len(a.Functions) > maxItems || len(a.Events) > maxItems || len(a.Errors) > maxItems || len(a.Types) > maxTypes {
		return fmt.Errorf("%w: more than %d functions, events or errors, or more than %d types", ErrBad, maxItems, maxTypes)
	}
	depths := nesting{a, map[string]int{}}
	if err := a.checkTypes(depths); err != nil {
		return err
	}
	if err := a.checkFunctions(depths); err != nil {
		return err
	}
	for _, e := range a.Events {
		if err := depths.parameters(e.Name, e.Args); err != nil {
			return err
		}
	}
	if err := checkNames("events", a.Events, func(e Event) string { return e.Name }); err != nil {
		return err
	}
	codes := map[uint32]bool{}
	for _, e := range a.Errors {
		if codes[e.Code] {
			return fmt.Errorf("%w: two errors have the code %d", ErrBad, e.Code)
		}
		codes[e.Code] = true
		if err := depths.parameters(e.Name, e.Fields); err != nil {
			return err
		}
	}
	if err := checkNames("errors", a.Errors, func(e Error) string { return e.Name }); err != nil {
		return err
	}
	return a.checkStorage(depths)
}

func (a ABI) checkFunctions(depths nesting) error {
	for _, f := range a.Functions {
		if f.Mode != Read && f.Mode != Write && f.Mode != Init || (f.Mode == Init) != (f.Name == InitFunction) {
			return fmt.Errorf("%w: function %q has the mode %q", ErrBad, f.Name, f.Mode)
		}
		if f.Payable && f.Mode == Read {
			return fmt.Errorf("%w: function %q is read-only, so it cannot take coins", ErrBad, f.Name)
		}
		if err := depths.parameters(f.Name, f.Args); err != nil {
			return err
		}
		if f.Returns == (Type{}) {
			continue
		}
		if _, err := depths.of(f.Returns); err != nil {
			return err
		}
	}
	return checkNames("functions", a.Functions, func(f Function) string { return f.Name })
}

func (a ABI) checkTypes(depths nesting) error {
	if err := checkNames("types", a.Types, func(n Named) string { return n.Name }); err != nil {
		return err
	}
	for _, n := range a.Types {
		record := n.Kind == Record && len(n.Fields) > 0 && n.Variants == nil
		enum := n.Kind == Enum && len(n.Variants) > 0 && len(n.Variants) <= maxVariants && n.Fields == nil
		if !record && !enum || !(Type{n.Name}).Named() {
			return fmt.Errorf("%w: the type %q is neither a record with fields nor an enum with variants", ErrBad, n.Name)
		}
		if err := checkNames("variants of "+n.Name, n.Variants, func(v Variant) string { return v.Name }); err != nil {
			return err
		}
		if err := depths.parameters(n.Name, n.Fields); err != nil {
			return err
		}
		for _, v := range n.Variants {
			if err := depths.parameters(n.Name+"."+v.Name, v.Fields); err != nil {
				return err
			}
		}
	}
	return nil
}

func (depths nesting) parameters(of string, parameters []Parameter) error {
	if len(parameters) > maxItems {
		return fmt.Errorf("%w: %q has more than %d parameters", ErrBad, of, maxItems)
	}
	for _, p := range parameters {
		if p.Type == (Type{}) {
			return fmt.Errorf("%w: parameter %q of %q has no type", ErrBad, p.Name, of)
		}
		if _, err := depths.of(p.Type); err != nil {
			return err
		}
	}
	return checkNames("parameters of "+of, parameters, func(p Parameter) string { return p.Name })
}

// nesting computes the nesting depth of types. It visits each named type once.
type nesting struct {
	abi   ABI
	known map[string]int // depths of named types; 0 while being computed
}

// of returns the nesting depth of a type. It returns an error if the depth exceeds maxDepth, or if the type contains
// itself or refers to an unknown type.
func (n nesting) of(t Type) (depth int, err error) {
	items, _ := t.Tuple()
	if element, ok := t.List(); ok {
		items = []Type{element}
	} else if value, ok := t.Optional(); ok {
		items = []Type{value}
	} else if t.Named() {
		named, ok := n.abi.Type(t.text)
		if !ok {
			return 0, fmt.Errorf("%w: there is no type %q", ErrBad, t.text)
		}
		seen, begun := n.known[t.text]
		if begun && seen == 0 {
			return 0, fmt.Errorf("%w: the type %q contains itself", ErrBad, t.text)
		}
		if begun {
			return seen, nil
		}
		n.known[t.text] = 0
		defer func() { n.known[t.text] = depth }()
		items = typesOf(named.Fields)
		for _, v := range named.Variants {
			items = append(items, typesOf(v.Fields)...)
		}
	}
	for _, item := range items {
		inner, err := n.of(item)
		if err != nil {
			return 0, err
		}
		depth = max(depth, inner)
	}
	if depth++; depth > maxDepth {
		return 0, fmt.Errorf("%w: the type %q nests deeper than %d", ErrBad, short([]byte(t.text)), maxDepth)
	}
	return depth, nil
}

func typesOf(parameters []Parameter) []Type {
	list := make([]Type, len(parameters))
	for i, p := range parameters {
		list[i] = p.Type
	}
	return list
}

func checkNames[T any](what string, list []T, name func(T) string) error {
	names := make([]string, len(list))
	for i := range list {
		names[i] = name(list[i])
		if n := len(names[i]); n == 0 || n > maxName {
			return fmt.Errorf("%w: a name of the %s has %d bytes", ErrBad, what, n)
		}
	}
	if twice, ok := sortedTwice(names); ok {
		return fmt.Errorf("%w: the %s have %q twice", ErrBad, what, twice)
	}
	return nil
}

// NoMemberTwice returns an error if an object in JSON text, one value or several, has a repeated member. Other readers
// take the first or the last.
func NoMemberTwice(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var open []map[string]bool // stack of open objects and lists: an object's members, or nil for a list
	name := false              // inside an object, a member's name comes next
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'):
			open, name = append(open, map[string]bool{}), true
			continue
		case json.Delim('['):
			open, name = append(open, nil), false
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		default:
			if text, ok := token.(string); ok && name {
				members := open[len(open)-1]
				if members[text] {
					return fmt.Errorf("the member %q is there twice", short([]byte(text)))
				}
				members[text], name = true, false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}
