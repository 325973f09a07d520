package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// bounds lists the allowed values of a number or a duration, as in the field's tag: "0,10ms..1h" allows 0, and 10ms to
// 1h. Empty bounds allow any value.
type bounds []span

// span is the range of values from least to most, both included.
type span struct{ least, most string }

// parseBounds parses a tag. It panics if the tag is invalid, because the tag is part of the program.
func (f field) parseBounds(tag string) (b bounds) {
	if tag == "" {
		return nil
	}
	for part := range strings.SplitSeq(tag, ",") {
		least, most, ranges := strings.Cut(part, "..")
		if !ranges {
			most = least
		}
		if f.number(least) > f.number(most) {
			panic("config: setting " + f.name + " has bounds that allow no value: " + tag)
		}
		b = append(b, span{least, most})
	}
	return b
}

// number parses a bound of the field's kind. It panics if the text is invalid.
func (f field) number(text string) int64 {
	if _, is := f.value.(*time.Duration); is {
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(fmt.Sprintf("config: setting %s: %v", f.name, err))
		}
		return int64(d)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("config: setting %s: %v", f.name, err))
	}
	return n
}

// current returns the field's value as a number, at most math.MaxInt64.
func (f field) current() int64 {
	switch value := f.value.(type) {
	case *int:
		return int64(*value)
	case *uint64:
		return int64(min(*value, math.MaxInt64))
	case *time.Duration:
		return int64(*value)
	default:
		panic(fmt.Sprintf("config: setting %s is a %T, which has no bounds", f.name, f.value))
	}
}

// check returns an error for a value outside the field's bounds. Its text continues a sentence that begins with the
// setting's name.
func (f field) check() error {
	if len(f.bounds) == 0 {
		return nil
	}
	current := f.current()
	for _, s := range f.bounds {
		if f.number(s.least) <= current && current <= f.number(s.most) {
			return nil
		}
	}
	given := fmt.Sprint(current)
	switch value := f.value.(type) {
	case *uint64:
		given = fmt.Sprint(*value)
	case *time.Duration:
		given = value.String()
	}
	return fmt.Errorf("must be %s, not %s", f.bounds, given)
}

// String describes the bounds in words.
func (b bounds) String() string {
	words := make([]string, len(b))
	for i, s := range b {
		if words[i] = s.least; s.most != s.least {
			words[i] = fmt.Sprintf("from %s to %s", s.least, s.most)
		}
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + ", or " + words[last]
}

// Check checks one setting of the struct that settings points to against its bounds, for a flag that is not a setting
// itself.
func Check(settings any, name string) error {
	for _, f := range fieldsOf(settings) {
		if f.name != name {
			continue
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("%w: --%s %w", ErrBadSetting, name, err)
		}
		return nil
	}
	panic("config: there is no setting " + name)
}
