package front

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"
)

// partedAnswer is an answer that is written in parts, as chunks (RFC 9112 7.1), since it is too long to be held. It is
// not compressed.
type partedAnswer struct {
	conn    *conn
	request *simpleRequest
	origin  string
	last    bool
	begun   bool
	out     []byte        // the part that is being written, as it is sent
	written int           // bytes of chunks
	spent   time.Duration // time spent writing
}

// send writes a part. The client must read it as [steadyWriter] says; while it does, others may take the request's memory.
// Afterwards the request has its whole time again for the next part.
func (a *partedAnswer) send(part []byte) error {
	out := a.out[:0]
	if !a.begun {
		a.begun = true
		h := responsePreamble{
			status: http.StatusOK, contentType: "application/json", chunked: true, origin: a.origin,
			varies: a.conn.server.varies(), last: a.last,
		}
		out = h.append(out, 0, a.conn.server.now())
	}
	out = strconv.AppendUint(out, uint64(len(part)), 16)
	out = append(out, "\r\n"...)
	out = append(append(out, part...), "\r\n"...)
	a.out = out
	return a.write(out)
}

// end writes the rest and the end of the body.
func (a *partedAnswer) end(rest []byte) error {
	if len(rest) > 0 {
		if err := a.send(rest); err != nil {
			return err
		}
	}
	return a.write([]byte("0\r\n\r\n"))
}

func (a *partedAnswer) write(out []byte) error {
	c, s := a.conn, a.conn.server
	c.writeUntil = time.Time{}
	begun := s.now().Add(-a.spent)
	var err error
	kept := a.request.ticket.Waits(func() {
		err = steadily(out, begun, a.written, c.SetWriteDeadline, c.Conn.Write)
	})
	if !kept && err == nil {
		err = errClosed
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.counts.timeouts.Add(1)
	}
	now := s.now()
	a.written, a.spent = a.written+len(out), now.Sub(begun)
	a.request.ticket.Spend(len(out))
	a.request.Extend(now, s.config.Budget)
	return err
}
