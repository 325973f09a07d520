package jsonrpc

import "time"

// A clock measures calls for Options.Observe, each from the end of the one before it, so that the parts of a batch add
// up to the whole. It reads no time if nothing is observed.
type clock struct {
	observer func(method string, code int, took time.Duration)
	start    time.Time
	last     time.Duration // end of the last call, since start
}

func (c *clock) begin(observer func(method string, code int, took time.Duration)) {
	if c.observer = observer; observer != nil {
		c.start, c.last = time.Now(), 0
	}
}

// observe reports calls that ended now, with their codes.
func (c *clock) observe(method string, codes ...int) {
	if c.observer == nil {
		return
	}
	now := time.Since(c.start) // reads one clock, where time.Now reads two
	took := (now - c.last) / time.Duration(len(codes))
	c.last = now
	for _, code := range codes {
		c.observer(method, code, took)
	}
}
