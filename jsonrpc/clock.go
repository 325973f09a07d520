package jsonrpc

import "time"

// A clock tells Options.Observe how long calls took: each from the end of the one before it, so that the parts of a
// batch add up to the whole. It reads no time where nothing is observed.
type clock struct {
	observer func(method string, code int, took time.Duration)
	last     time.Time
}

func (c *clock) start(observer func(method string, code int, took time.Duration)) {
	if c.observer = observer; observer != nil {
		c.last = time.Now()
	}
}

// observe tells of calls that ended now, with their codes.
func (c *clock) observe(method string, codes ...int) {
	if c.observer == nil {
		return
	}
	now := time.Now()
	took := now.Sub(c.last) / time.Duration(len(codes))
	c.last = now
	for _, code := range codes {
		c.observer(method, code, took)
	}
}
