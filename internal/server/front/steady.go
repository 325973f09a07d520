package front

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/cairn-chain/cairn/internal/server/request"
)

// steadyWriter writes an answer as conn.writeSteadily does and charges its bytes. The node's own time between two
// writes does not count against the client.
type steadyWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	server  *Server
	ticket  *Ticket
	request *request.Request
	spent   time.Duration // time spent writing
	written int
}

// Goes gives the request its whole time again: its client has taken a part of a long answer, and another follows.
func (w *steadyWriter) Goes() { w.request.Extend(w.server.now(), w.server.config.Budget) }

// Unwrap supports http.ResponseController.
func (w *steadyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *steadyWriter) Write(b []byte) (int, error) {
	begun, before := w.server.now().Add(-w.spent), w.written
	var err error
	kept := w.ticket.Waits(func() {
		err = steadily(b, begun, before, w.control.SetWriteDeadline, func(part []byte) (int, error) {
			n, err := w.ResponseWriter.Write(part)
			w.written += n
			return n, err
		})
	})
	if !kept && err == nil {
		err = errClosed
	}
	w.spent = w.server.now().Sub(begun)
	w.ticket.Spend(w.written - before)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.server.counts.timeouts.Add(1)
	}
	return w.written - before, err
}

// SteadyBodies holds request bodies to the same pace as those on the public address. It is for servers that have no
// other bound on the time of a body.
func SteadyBodies(next http.Handler) http.Handler { return steadyBodies(next, time.Now) }

func steadyBodies(next http.Handler, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			body := &steadyBody{ReadCloser: r.Body, control: http.NewResponseController(w), begun: now()}
			if body.setDeadline() != nil {
				panic(http.ErrAbortHandler) // the connection has been closed
			}
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// steadyBody extends the read deadline as the body arrives. At the end of the body it clears the deadline, which would
// otherwise end the handler's context.
type steadyBody struct {
	io.ReadCloser
	control *http.ResponseController
	begun   time.Time
	bytes   int
}

// Read implements io.Reader.
func (b *steadyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += n
	switch {
	case err == nil:
		err = b.setDeadline()
	case errors.Is(err, io.EOF):
		if failed := b.control.SetReadDeadline(time.Time{}); failed != nil {
			err = failed
		}
	}
	return n, err
}

func (b *steadyBody) setDeadline() error {
	return b.control.SetReadDeadline(b.begun.Add(bodyTime(b.bytes)))
}
