package front

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// steadyWriter writes an answer as conn.writeSteadily does, and counts what it costs by its bytes. The time that the node
// takes between two writes, to make what comes next, is not the client's.
type steadyWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	server  *Server
	ticket  *Ticket
	spent   time.Duration // in writing
	written int
}

// Unwrap is for http.ResponseController.
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

// SteadyBodies makes the bodies of requests come as steadily as those on the public address must: for an address whose
// server has no other bound of that time.
func SteadyBodies(next http.Handler) http.Handler { return steadyBodies(next, time.Now) }

func steadyBodies(next http.Handler, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			body := &steadyBody{ReadCloser: r.Body, control: http.NewResponseController(w), begun: now()}
			if body.setDeadline() != nil {
				panic(http.ErrAbortHandler) // the connection is gone
			}
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// steadyBody moves the deadline of reading as the body comes. At its end it lifts the deadline, which would end the
// handler's context.
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
