package jsonrpc

import "time"

// A clock tells Options.Observe how long calls took: each from the end of the one before it, so that the parts of a
// batch add up to the whole. It reads no time where nothing is observed.
type clock struct {
	observer func(method string, code int, took time.Duration)
	start    time.Time
	last     time.Duration // when the last call ended, since start
	looked   time.Duration // the value of last when look was last true
}

// lookEvery is how much of a batch may pass until it is asked again whether to go on. Asking costs as much as a tenth of
// the cheapest call.
const lookEvery = 100 * time.Microsecond

func (c *clock) begin(observer func(method string, code int, took time.Duration)) {
	if c.observer = observer; observer != nil {
		c.start, c.last, c.looked = time.Now(), 0, -lookEvery
	}
}

// look tells whether it is time to ask if the next call is to be made now: at the first, and where lookEvery has passed.
// Without an observer it always is.
func (c *clock) look() bool {
	if c.observer != nil && c.last-c.looked < lookEvery {
		return false
	}
	c.looked = c.last
	return true
}

// observe tells of calls that ended now, with their codes.
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
