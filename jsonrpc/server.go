package jsonrpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
)

// Options are a Server's limits and hooks. Zero values mean the defaults.
type Options struct {
	// MaxRequestBytes bounds an HTTP request's body, as sent and as decompressed. Default 5 MiB.
	MaxRequestBytes int
	// MaxResponseBytes bounds all that answers one body, before compression; only the errors that say so may go
	// beyond it. Default 64 MiB.
	MaxResponseBytes int
	// MaxBatch bounds the calls in one batch. Default 1,000.
	MaxBatch int
	// Incident logs an error that no client may see (a PanicError after a panic) once, and returns the id under
	// which the log has it. The default logs to slog.Default under a random id.
	Incident func(ctx context.Context, method string, err error) string
	// RequestContext derives the context of all calls of one HTTP request, for what they share. The default changes
	// nothing. Serve does not call it.
	RequestContext func(context.Context) context.Context
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxRequestBytes < 0 || o.MaxResponseBytes < 0 || o.MaxBatch < 0 {
		return o, errors.New("jsonrpc: a limit is negative")
	}
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 5 << 20
	}
	if o.MaxResponseBytes == 0 {
		o.MaxResponseBytes = 64 << 20
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = 1000
	}
	if o.Incident == nil {
		o.Incident = logIncident
	}
	if o.RequestContext == nil {
		o.RequestContext = func(ctx context.Context) context.Context { return ctx }
	}
	return o, nil
}

func logIncident(ctx context.Context, method string, err error) string {
	id := rand.Text()
	slog.ErrorContext(ctx, "call failed unexpectedly", "incident", id, "method", method, "error", err)
	return id
}

// A Server answers calls of its methods. It is safe for concurrent use.
type Server struct {
	options  Options
	methods  map[string]*Method
	http     http.Handler
	draining atomic.Bool
}

// NewServer returns a server of the given methods. A name given twice, a method whose parameters cannot be decoded and
// a negative limit are errors.
func NewServer(options Options, methods ...Method) (*Server, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, methods: make(map[string]*Method, len(methods))}
	for _, m := range methods {
		if m.err == nil && m.call == nil {
			m.err = errors.New("a method is made by NewMethod")
		}
		if m.err == nil && s.methods[m.name] != nil {
			m.err = errors.New("the name is there twice")
		}
		if m.err != nil {
			return nil, fmt.Errorf("jsonrpc: method %q: %w", m.name, m.err)
		}
		s.methods[m.name] = &m
	}
	if s.http, err = compressed(http.HandlerFunc(s.post)); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve answers one body: a call, a notification or a batch. It returns nil when there is nothing to answer. The calls
// of a batch are made one after the other, in their order; those that a limit cuts off are not made at all. A panic in
// a handler is answered as an internal error, but not one in a goroutine that the handler started.
//
// Whoever calls Serve bounds the body; ServeHTTP does.
func (s *Server) Serve(ctx context.Context, body []byte) []byte {
	r := newReply(s.options.MaxResponseBytes)
	defer r.free()
	s.serve(ctx, body, r)
	return r.clone()
}

func (s *Server) serve(ctx context.Context, body []byte, r *reply) {
	if err := checkDocument(body); err != nil {
		s.fail(ctx, r, request{id: nullText}, err)
		return
	}
	c := cursor{text: body}
	if c.peek() != '[' {
		s.answer(ctx, r, c.value())
		return
	}
	s.batch(ctx, r, c.value())
}

func (s *Server) batch(ctx context.Context, r *reply, raw []byte) {
	count := 0
	for range elements(raw) {
		if count++; count > s.options.MaxBatch {
			s.fail(ctx, r, request{id: nullText}, limitError("the batch has too many calls", "batch_size", s.options.MaxBatch))
			return
		}
	}
	if count == 0 {
		s.fail(ctx, r, request{id: nullText}, NewError(CodeInvalidRequest, "the batch is empty", "reason", "empty_batch"))
		return
	}
	r.openBatch()
	for call := range elements(raw) {
		s.answer(ctx, r, call)
	}
	r.closeBatch()
}

// answer makes the call raw, a valid JSON value, and appends what answers it, nothing for a notification.
func (s *Server) answer(ctx context.Context, r *reply, raw []byte) {
	req, invalid := openRequest(raw)
	if invalid != nil {
		s.fail(ctx, r, req, invalid)
		return
	}
	result, err := s.call(ctx, r, req)
	switch {
	case req.id == nil && err != nil:
		// Nobody is told, but what is unexpected must be logged.
		s.publicError(ctx, req.method, err)
	case req.id == nil:
	case err != nil:
		s.fail(ctx, r, req, err)
	default:
		if err := r.append(req.id, "result", result); err != nil {
			s.fail(ctx, r, req, err)
		}
	}
}

// call runs the method that req names.
func (s *Server) call(ctx context.Context, r *reply, req request) (result any, err error) {
	m := s.methods[req.method]
	switch {
	case m == nil:
		return nil, NewError(CodeMethodNotFound, "the method does not exist", "method", req.method)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case req.id != nil && r.full():
		return nil, r.limitError()
	}
	defer catch(&err)
	return m.call(ctx, req.params)
}

// catch turns a panic of the function that defers it into an error.
func catch(err *error) {
	if value := recover(); value != nil {
		*err = &PanicError{Value: value, Stack: debug.Stack()}
	}
}

// fail answers req with err, or with what kept err from being encoded.
func (s *Server) fail(ctx context.Context, r *reply, req request, err error) {
	if err := r.append(req.id, "error", s.publicError(ctx, req.method, err)); err != nil {
		r.appendSmall(req.id, s.publicError(ctx, req.method, err))
	}
}

// publicError returns what a client may be told of err, and logs the rest.
func (s *Server) publicError(ctx context.Context, method string, err error) *Error {
	if e := asError(err); e != nil {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return NewError(CodeLimit, "the time for the call is up", "reason", "time")
	}
	return NewError(CodeInternal, "the call failed unexpectedly", "incident", s.options.Incident(ctx, method, err))
}

func limitError(message, reason string, limit int) *Error {
	return NewError(CodeLimit, message, "reason", reason, "limit", limit)
}
