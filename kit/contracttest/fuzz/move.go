package fuzz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/cairn-chain/cairn/abi"
)

// Move is a step of a sequence: a call or a delay. Accounts are given by name.
type Move struct {
	From  string         `json:"from,omitempty"`
	To    string         `json:"to,omitempty"`
	Call  string         `json:"call,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
	Coins uint64         `json:"coins,omitempty"` // in smallest units
	// Script sets the behaviour of the adversary's functions until the next call.
	Script map[string]Act `json:"script,omitempty"`

	// For a move without a call: the distance of the next block, in blocks and seconds.
	Blocks  uint64 `json:"blocks,omitempty"`
	Seconds uint64 `json:"seconds,omitempty"`
}

// Act is the behaviour of an adversary's function.
type Act struct {
	Times   uint8  `json:"times,omitempty"`   // how often it makes its calls in one move
	Calls   []Move `json:"calls,omitempty"`   // from the adversary; they may fail
	Returns any    `json:"returns,omitempty"` // nil returns nothing
	Reverts bool   `json:"reverts,omitempty"`
}

// name is the name of an account in arguments, or its hex form. Other values in arguments are bool, json.Number,
// string, nil, []any and map[string]any.
type name string

// appendJSON appends an argument value in the JSON form that contracts take.
func (w *World) appendJSON(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case json.Number:
		return append(out, v...), nil
	case name:
		account, err := w.resolve(string(v))
		return append(append(append(out, '"'), account.String()...), '"'), err
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = w.appendJSON(out, item); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case map[string]any:
		out = append(out, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(strconv.AppendQuote(out, key), ':')
			var err error
			if out, err = w.appendJSON(out, v[key]); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	default:
		text, err := json.Marshal(v)
		return append(out, text...), err
	}
}

// arguments encodes the arguments of a call.
func (w *World) arguments(a abi.ABI, f abi.Function, args map[string]any) ([]byte, error) {
	if len(args) == 0 && len(f.Args) == 0 {
		return nil, nil
	}
	object, err := w.appendJSON(nil, args)
	if err != nil {
		return nil, err
	}
	return a.Arguments(f.Args, object)
}

// lifter converts values decoded from, or encodable to, JSON: accounts become names.
type lifter struct {
	abi   abi.ABI
	world *World
}

// arguments converts a function's arguments.
func (l lifter) arguments(parameters []abi.Parameter, args map[string]any) (map[string]any, error) {
	lifted := make(map[string]any, len(parameters))
	for _, p := range parameters {
		value, err := l.lift(p.Type, args[p.Name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		lifted[p.Name] = value
	}
	if len(args) > len(parameters) {
		return nil, fmt.Errorf("%w: there are %d parameters", abi.ErrArgument, len(parameters))
	}
	return lifted, nil
}

// lift converts a value of a type. Whether it fits the type is checked when it is encoded.
func (l lifter) lift(t abi.Type, value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, err
	}
	return l.plain(t, plain)
}

func (l lifter) plain(t abi.Type, value any) (any, error) {
	if inner, ok := t.Optional(); ok {
		if value == nil {
			return nil, nil
		}
		return l.plain(inner, value)
	}
	element, isList := t.List()
	items, isTuple := t.Tuple()
	named, isNamed := l.abi.Type(t.String())
	wrong := fmt.Errorf("%w: %v is no %s", abi.ErrArgument, value, t)
	switch v := value.(type) {
	case nil:
		return nil, wrong
	case []any:
		if isList {
			items = slices.Repeat([]abi.Type{element}, len(v))
		} else if !isTuple || len(items) != len(v) {
			return nil, wrong
		}
		for i := range v {
			var err error
			if v[i], err = l.plain(items[i], v[i]); err != nil {
				return nil, err
			}
		}
		return v, nil
	case map[string]any:
		if !isNamed {
			return nil, wrong
		}
		return l.fields(named, v)
	case string:
		return l.text(t, v)
	default:
		return v, nil
	}
}

// fields converts a record, or an enum variant with fields.
func (l lifter) fields(named abi.Named, given map[string]any) (any, error) {
	if named.Kind == abi.Record {
		return l.arguments(named.Fields, given)
	}
	for _, variant := range named.Variants {
		if fields, ok := given[variant.Name].(map[string]any); ok && len(given) == 1 {
			lifted, err := l.arguments(variant.Fields, fields)
			return map[string]any{variant.Name: lifted}, err
		}
	}
	return nil, fmt.Errorf("%w: it is not a variant of %s", abi.ErrArgument, named.Name)
}

// text converts a JSON string: an account name, or an integer in the form of a string.
func (l lifter) text(t abi.Type, text string) (any, error) {
	if _, isNumber := integerType(t); isNumber {
		return json.Number(text), nil
	}
	if t.String() != string(abi.Account) {
		return text, nil
	}
	account, err := l.world.resolve(text)
	if known, ok := l.world.named.names[account]; ok {
		text = known
	}
	return name(text), err
}
