package front

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/server/request"
)

// preambleSpace bounds an answer's preamble, which is written into the same buffer before the body.
const preambleSpace = 1 << 10

// simpleRequest is a request that this package's loop answers, with its ticket.
type simpleRequest struct {
	request.Request
	ticket Ticket
}

func (r *simpleRequest) end() {
	r.End()
	r.ticket.Release()
}

// answer reads the body of a simple request, whose preamble takes the first size bytes of the buffer, and answers it.
// It reports whether the connection goes on.
func (c *conn) answer(h *preamble, size int) (goesOn bool) {
	s := c.server
	now := s.now()
	who, refused := s.admit(h, &c.peer, now)
	length, last, compress := int(h.length), h.close, h.gzip
	r := new(simpleRequest)
	r.ticket.begin(s, who, c)
	c.stream.setClient(r.ticket.turn.Client)
	r.ticket.charged = 1
	r.Context, r.Source, r.Quota = s.context, who.source, &r.ticket
	defer r.end()
	if refused == nil && !r.ticket.Reserve(s.context, length) {
		refused = &errBusy
	}
	whole := c.end-c.start >= size+length
	if refused != nil || whole {
		if !c.begin() {
			return false
		}
	}
	if refused != nil {
		refused.counted()
		last = last || !whole || refused.ends()
		ok := c.refuse(refused, who.origin, last)
		c.start += size + min(length, c.end-c.start-size)
		return ok && !last
	}
	if !whole {
		var err error
		kept := r.ticket.Waits(func() { err = c.readBody(size, length) }) // moves the buffer: h is invalid from here
		if !kept || err != nil {
			c.fail(err)
			return false
		}
		now = s.now()
	}
	body := c.in[c.start+size : c.start+size+length]
	r.ticket.Spend(length)
	s.counts.requests.Add(1)

	out := *buffers.Get().(*[]byte)
	if cap(out) < preambleSpace {
		out = make([]byte, preambleSpace)
	}
	r.Begin(now, s.config.Budget)
	parts := &partedAnswer{conn: c, request: r, origin: who.origin, last: last}
	out, broken := s.config.RPC.AppendTo(&r.Request, body, out[:preambleSpace], parts.send)
	c.start += size + length
	if parts.begun {
		ok := broken == nil && parts.end(out[preambleSpace:]) == nil
		putBuffer(out)
		return ok && !last && !s.draining.Load()
	}
	coding := ""
	if compress {
		if zipped, ok := s.config.RPC.Compress(&r.Request, out[preambleSpace:], make([]byte, preambleSpace)); ok {
			putBuffer(out)
			out, coding = zipped, "gzip"
		}
	}
	last = last || s.draining.Load()
	r.ticket.Spend(len(out) - preambleSpace)
	var ok bool
	kept := r.ticket.Waits(func() {
		ok = c.write(out, responsePreamble{
			status: http.StatusOK, contentType: "application/json", coding: coding, origin: who.origin, last: last,
		})
	})
	putBuffer(out)
	return kept && ok && !last
}

// readBody reads until the whole body is in the buffer. Meanwhile the connection may make way for a new one.
func (c *conn) readBody(size, length int) error {
	c.readUntil = time.Time{}
	if !c.park(stateReading) {
		return errClosed
	}
	begin, allowed := c.server.now(), time.Duration(0)
	for whole := size + length; c.end-c.start < whole; {
		if most := bodyTime(c.end - c.start - size); most != allowed {
			allowed = most
			if err := c.SetReadDeadline(begin.Add(allowed)); err != nil {
				return err
			}
		}
		if err := c.fill(whole); err != nil {
			return unexpected(err)
		}
	}
	if !c.begin() {
		return errClosed
	}
	return nil
}

// refuse answers with the refusal's sentence as plain text. It reports whether the answer was written.
func (c *conn) refuse(r *refusal, origin string, last bool) bool {
	out := make([]byte, preambleSpace, preambleSpace+len(r.sentence)+1)
	out = append(append(out, r.sentence...), '\n')
	ok := c.write(out, responsePreamble{
		status:      r.status,
		contentType: "text/plain; charset=utf-8",
		origin:      origin,
		name:        r.name,
		value:       r.value,
		last:        last,
	})
	if ok && last {
		c.linger()
	}
	return ok
}

// responsePreamble holds the fields of an answer's preamble.
type responsePreamble struct {
	status      int
	contentType string
	coding      string
	origin      string
	varies      bool   // the answer depends on the request's Origin
	chunked     bool   // the body comes in chunks
	name, value string // an additional field, or empty
	last        bool   // the connection closes after the answer
}

// write writes an answer in one call. Its body begins preambleSpace bytes into out.
func (c *conn) write(out []byte, h responsePreamble) bool {
	now := c.server.now()
	h.varies = c.server.varies()
	var room [preambleSpace]byte
	text := h.append(room[:0], len(out)-preambleSpace, now)
	from := preambleSpace - len(text)
	copy(out[from:], text)
	if len(out) > FreeBytes {
		return c.writeSteadily(out[from:]) == nil
	}
	if c.writeUntil.Sub(now) < writeTimeout-deadlineSlack {
		c.writeUntil = now.Add(writeTimeout)
		if c.SetWriteDeadline(c.writeUntil) != nil {
			return false
		}
	}
	_, err := c.Conn.Write(out[from:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.counts.timeouts.Add(1)
	}
	return err == nil
}

// writeSteadily writes a large answer, which the client must read at bodyRate.
func (c *conn) writeSteadily(b []byte) error {
	c.writeUntil = time.Time{}
	err := steadily(b, c.server.now(), 0, c.SetWriteDeadline, c.Conn.Write)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.counts.timeouts.Add(1)
	}
	return err
}

// steadily writes b in pieces of one second's worth of bytes. The answer began at the time begun, and written bytes of
// it precede b. A client that reads nothing holds a large answer's memory no longer than bodyTime.
func steadily(
	b []byte, begun time.Time, written int, until func(time.Time) error, write func([]byte) (int, error),
) error {
	for len(b) > 0 {
		if err := until(begun.Add(bodyTime(written))); err != nil {
			return err
		}
		n, err := write(b[:min(bodyRate, len(b))])
		if err != nil {
			return err
		}
		b, written = b[n:], written+n
	}
	return nil
}

// append appends the preamble of an answer with a body of length bytes.
func (h *responsePreamble) append(b []byte, length int, now time.Time) []byte {
	if length == 0 && !h.chunked {
		h.status, h.contentType = http.StatusNoContent, ""
	}
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(h.status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(h.status)...)
	b = append(b, "\r\nDate: "...)
	b = append(b, httpDate(now)...)
	if h.contentType != "" {
		b = appendField(b, "Content-Type", h.contentType)
	}
	if h.chunked {
		b = appendField(b, "Transfer-Encoding", "chunked")
	} else if length > 0 {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(length), 10)
	}
	if h.coding != "" {
		b = appendField(b, "Content-Encoding", h.coding)
	}
	if h.origin != "" {
		b = appendField(b, "Access-Control-Allow-Origin", h.origin)
		b = appendField(b, "Access-Control-Expose-Headers", exposed)
	}
	if h.varies {
		b = appendField(b, "Vary", "Origin")
	}
	if h.name != "" {
		b = appendField(b, h.name, h.value)
	}
	if h.last {
		b = appendField(b, "Connection", "close")
	}
	return append(b, "\r\n\r\n"...)
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, "\r\n"...), name...)
	return append(append(b, ": "...), value...)
}

// dateText is the formatted Date field of one second.
type dateText struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[dateText]

// httpDate formats the time as RFC 9110 5.6.7 says. It caches the text for one second.
func httpDate(now time.Time) string {
	if d := lastDate.Load(); d != nil && d.second == now.Unix() {
		return d.text
	}
	d := &dateText{now.Unix(), now.UTC().Format(http.TimeFormat)}
	lastDate.Store(d)
	return d.text
}
