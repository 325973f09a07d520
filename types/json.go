package types

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// exactNumber is the largest integer that JSON numbers hold exactly in every language.
const exactNumber = 1<<53 - 1

// number is an integer in JSON: a number up to [exactNumber], and above that a decimal string. Both forms are read.
type number uint64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	text := strconv.AppendUint(nil, uint64(n), 10)
	if n > exactNumber {
		text = append(append([]byte{'"'}, text...), '"')
	}
	return text, nil
}

// parseNumber reads an integer of up to the given number of bits, or a string of its digits without leading zeros.
func parseNumber(raw []byte, bits int) (uint64, error) {
	digits := string(raw)
	if len(raw) > 1 && raw[0] == '"' {
		digits = string(raw[1 : len(raw)-1])
	}
	v, err := strconv.ParseUint(digits, 10, bits)
	if err != nil || len(digits) > 1 && digits[0] == '0' {
		return 0, fmt.Errorf("%s is not an unsigned integer of %d bits", raw, bits)
	}
	return v, nil
}

// parseHex reads hex digits of either case, with or without 0x.
func parseHex(raw []byte) ([]byte, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || raw[0] != '"' {
		return nil, errors.New("not a string of hex digits")
	}
	b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil, errors.New("not hex digits in pairs")
	}
	return b, nil
}

// parseText reads a string. A string that is not valid Unicode is an error; encoding/json would silently repair it.
func parseText(raw []byte) (string, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || raw[0] != '"' {
		return "", errors.New("not a string")
	}
	mended := strings.ContainsRune(text, utf8.RuneError) && !bytes.Contains(raw, []byte("\ufffd")) &&
		!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
	if mended || !utf8.Valid(raw) {
		return "", errors.New("a string that is not Unicode")
	}
	return text, nil
}

// marshalObject returns a JSON object with the given members, each a name followed by its value, in this order.
func marshalObject(members ...any) ([]byte, error) {
	b := []byte{'{'}
	for i := 0; i < len(members); i += 2 {
		value, err := json.Marshal(members[i+1])
		if err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, "%q:%s,", members[i], value)
	}
	b[len(b)-1] = '}' // in place of the last comma
	return b, nil
}

// object reads the members of a JSON object. Each expected member must occur exactly once, and no other may occur. The
// first error is sticky: later reads return zeros.
type object struct {
	members map[string]json.RawMessage
	err     error
}

// readObject begins to read the only JSON value in b.
func readObject(b []byte) *object {
	o := &object{members: make(map[string]json.RawMessage)}
	d := json.NewDecoder(bytes.NewReader(b))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		o.err = errors.New("not a JSON object")
		return o
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			o.err = err
			return o
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			o.err = err
			return o
		}
		if _, ok := o.members[name.(string)]; ok {
			o.err = fmt.Errorf("member %q occurs twice", name)
			return o
		}
		o.members[name.(string)] = value
	}
	if _, err := d.Token(); err != nil {
		o.err = err
		return o
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		o.err = errors.New("data after the JSON document")
	}
	return o
}

// finish returns the first error, or one about a member that was not read.
func (o *object) finish() error {
	if o.err == nil {
		for name := range o.members {
			return fmt.Errorf("unknown member %q", name)
		}
	}
	return o.err
}

// read passes the value of a member to parse.
func (o *object) read(name string, parse func(raw []byte) error) {
	if o.err != nil {
		return
	}
	raw, ok := o.members[name]
	if !ok {
		o.err = fmt.Errorf("member %q is missing", name)
		return
	}
	delete(o.members, name)
	if err := parse(raw); err != nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
}

// option is read for a value that may be null.
func (o *object) option(name string, parse func(raw []byte) error) {
	o.read(name, func(raw []byte) error {
		if string(raw) == "null" {
			return nil
		}
		return parse(raw)
	})
}

// list passes the elements of a list of at most limit to parse.
func (o *object) list(name string, limit int, parse func(i int, raw []byte) error) {
	o.read(name, func(raw []byte) error {
		if raw[0] != '[' {
			return errors.New("not a list")
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			return err
		}
		if len(elements) > limit {
			return fmt.Errorf("%d elements, at most %d", len(elements), limit)
		}
		for i, element := range elements {
			if err := parse(i, element); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	})
}

func (o *object) number(name string, bits int) (v uint64) {
	o.read(name, func(raw []byte) (err error) {
		v, err = parseNumber(raw, bits)
		return err
	})
	return v
}

func (o *object) u64(name string) uint64 { return o.number(name, 64) }
func (o *object) u32(name string) uint32 { return uint32(o.number(name, 32)) }
func (o *object) u8(name string) uint8   { return uint8(o.number(name, 8)) }

func (o *object) bool(name string) (v bool) {
	o.read(name, func(raw []byte) error {
		v = string(raw) == "true"
		if !v && string(raw) != "false" {
			return errors.New("neither true nor false")
		}
		return nil
	})
	return v
}

func (o *object) text(name string) (v string) {
	o.read(name, func(raw []byte) (err error) {
		v, err = parseText(raw)
		return err
	})
	return v
}

// bytes reads hex of at most limit bytes.
func (o *object) bytes(name string, limit int) (v []byte) {
	o.read(name, func(raw []byte) (err error) {
		if v, err = parseHex(raw); err == nil && len(v) > limit {
			err = fmt.Errorf("%d bytes, at most %d", len(v), limit)
		}
		return err
	})
	return v
}

// fixed reads hex of exactly len(into) bytes.
func (o *object) fixed(name string, into []byte) {
	o.read(name, func(raw []byte) error { return parseFixed(raw, into) })
}

func parseFixed(raw, into []byte) error {
	b, err := parseHex(raw)
	if err == nil && len(b) != len(into) {
		err = fmt.Errorf("%d bytes, not %d", len(b), len(into))
	}
	copy(into, b)
	return err
}

// account reads an account in hex or, if there is a network, as one of its addresses.
func (o *object) account(name string, network Network) (a Account) {
	o.read(name, func(raw []byte) error {
		if network == "" {
			return parseFixed(raw, a[:])
		}
		text, err := parseText(raw)
		if err == nil {
			a, err = network.ParseAccount(text)
		}
		return err
	})
	return a
}

// variant reads the member type, which says which variant of an enum the object is.
func (o *object) variant() string { return o.text("type") }

// unknownVariant sets the error of a type that no variant has.
func (o *object) unknownVariant(name string) {
	if o.err == nil {
		o.err = fmt.Errorf("type: %q is unknown", name)
	}
}
