package jsonrpc

import (
	"encoding/json"
	"sync"
)

// A counter counts what its encoder writes.
type counter struct {
	encoder *json.Encoder
	bytes   int
}

// Write implements io.Writer.
func (c *counter) Write(text []byte) (int, error) {
	c.bytes += len(text)
	return len(text), nil
}

var counters = sync.Pool{New: func() any {
	c := new(counter)
	c.encoder = json.NewEncoder(c)
	c.encoder.SetEscapeHTML(false)
	return c
}}

// Size is the length in bytes of a value's encoding in an answer. An answer of many values is cut by it: an estimate
// does not know how many bytes a string takes that must be escaped.
func Size(value any) (int, error) {
	c := counters.Get().(*counter)
	defer counters.Put(c)
	c.bytes = 0
	if err := c.encoder.Encode(value); err != nil {
		return 0, err
	}
	return c.bytes - 1, nil // Encode ends with a newline
}

// A Page counts the bytes of a list's items as they will be encoded, up to a limit.
type Page struct {
	limit int
	bytes int
	items int
}

// NewPage returns the count of a list of at most limit bytes.
func NewPage(limit int) *Page { return &Page{limit: limit, bytes: len("]")} }

// Add counts an item unless it does not fit, and reports whether it does. The first one always fits: a client that goes
// on behind it must get further.
func (p *Page) Add(item any) (bool, error) {
	size, err := Size(item)
	if err != nil {
		return false, err
	}
	if size++; p.items > 0 && p.bytes+size > p.limit { // with a comma before it, or the list's first bracket
		return false, nil
	}
	p.items++
	p.bytes += size
	return true, nil
}
