package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// bounds are the values that a number or a duration may have, as the tag of its field says: "0,10ms..1h" is 0, or from
// 10ms to 1h. None at all bound nothing.
type bounds []span

// span is one value, or all from one to another.
type span struct{ least, most string }

// parseBounds reads a tag. It panics when that is none: it is part of the program.
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
			panic("config: setting " + f.name + " has bounds that nothing is in: " + tag)
		}
		b = append(b, span{least, most})
	}
	return b
}

// number is a value of the field's kind as a number, which no bound reaches where it is too large for one.
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

// current is the field's value as a number.
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

// check refuses a value out of the field's bounds, in words that go on where the setting's name ended.
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
	return fmt.Errorf("is %s, not %s", f.bounds, given)
}

// String says the bounds in words.
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

// Check holds one setting of the struct that settings points to to its bounds, for a flag that is no setting itself.
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
