package jsonrpc

import (
	"encoding/json"
	"sync"
)

// A counter counts the bytes that its encoder writes.
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

// Size returns the length in bytes of a value's encoding in an answer. It encodes the value, because an estimate would
// not know the escapes in strings.
func Size(value any) (int, error) {
	c := counters.Get().(*counter)
	defer counters.Put(c)
	c.bytes = 0
	if err := c.encoder.Encode(value); err != nil {
		return 0, err
	}
	return c.bytes - 1, nil // Encode ends with a newline
}
