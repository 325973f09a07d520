package jsonrpc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
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
	// Running decides when calls compute; taking a body apart is work too, and so is compressing an answer. Calls of a
	// NewGroupMethod do not ask it; see also Method.In. Default: all at once.
	Running Turns
	// Heavy is Running for large bodies and answers. Default: Running.
	Heavy Turns
	// Incident logs an error that no client may see (a PanicError after a panic) once, and returns the id under
	// which the log has it. The default logs to slog.Default under a random id.
	Incident func(ctx context.Context, method string, err error) string
	// Quota finds what bounds the request whose calls have the context; nil where nothing does. The default finds nothing.
	Quota func(ctx context.Context) Quota
	// Observe is told of each call after it was answered or, if it is a notification, made. It gets the method, "" if
	// there is no such method or the call is invalid; the code that the call failed with, or 0; and how long it took. The
	// calls of a group take equal parts of the group's time. A body that is refused as a whole is told of once. The
	// default observes nothing.
	Observe func(method string, code int, took time.Duration)
}

// Turns decide when work runs. Work of one context runs in one goroutine, and has one turn at a time.
type Turns interface {
	// Enter waits until it is the turn of ctx. It fails with the cause why ctx ended, or because nobody waits any more.
	Enter(ctx context.Context) error
	// Yield lets others have their turn, if the one of ctx has lasted long enough. The error is as that of Enter.
	Yield(ctx context.Context) error
	// Leave ends the turn of ctx.
	Leave(ctx context.Context)
}

// atOnce are turns that all work has at once.
type atOnce struct{}

func (atOnce) Enter(context.Context) error { return nil }
func (atOnce) Yield(context.Context) error { return nil }
func (atOnce) Leave(context.Context)       {}

// heavyBytes is from which size on a body or an answer is work for Options.Heavy: about a millisecond.
const heavyBytes = 512 << 10

// turns are where work on so many bytes runs.
func (o *Options) turns(bytes int) Turns {
	if bytes >= heavyBytes {
		return o.Heavy
	}
	return o.Running
}

// A Quota bounds what one request or message may take of the process.
type Quota interface {
	// Room is asked, before an answer goes beyond 8 KiB and again as it grows, how many bytes in all may answer this
	// body. It allows at least the given number or, if there is no memory for them, less. Then the call that needs them
	// and those after it are answered with a limit error. It must not wait.
	Room(bytes int) int
	// Charge is told how many calls a body has, or things in their place, before they are made.
	Charge(calls int)
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
	if o.Running == nil {
		o.Running = atOnce{}
	}
	if o.Heavy == nil {
		o.Heavy = o.Running
	}
	if o.Quota == nil {
		o.Quota = func(context.Context) Quota { return nil }
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
	options Options
	methods map[string]*Method
	// mostParams is how many parameters the method with the most has.
	mostParams int
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
		if m.err == nil && m.call == nil && m.group == nil {
			m.err = errors.New("a method is made by NewMethod")
		}
		if m.err == nil && s.methods[m.name] != nil {
			m.err = errors.New("the name is there twice")
		}
		if m.err != nil {
			return nil, fmt.Errorf("jsonrpc: method %q: %w", m.name, m.err)
		}
		if !m.placed {
			m.turns = options.Running
		}
		s.methods[m.name] = &m
		s.mostParams = max(s.mostParams, len(m.params))
	}
	return s, nil
}

// Serve answers one body: a call, a notification or a batch. It returns nil when there is nothing to answer. The calls
// of a batch are made one after the other, in their order, but for those of NewGroupMethod; those that a limit cuts off
// are not made at all. A panic in a handler is answered as an internal error, but not one in a goroutine that the
// handler started.
//
// Whoever calls Serve bounds the body; ServeHTTP does.
func (s *Server) Serve(ctx context.Context, body []byte) []byte {
	buffer := answerBuffers.Get().(*[]byte)
	defer answerBuffers.Put(buffer)
	answer := s.Append(ctx, body, (*buffer)[:0])
	if cap(answer) <= maxPooledBytes {
		*buffer = answer
	}
	if len(answer) == 0 {
		return nil
	}
	return bytes.Clone(answer)
}

var answerBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Append appends what Serve answers to dst and returns the extended dst: of the same length when there is nothing to
// answer. It neither keeps nor changes body. Where ctx has ended with an Error as its cause, no call is made and each
// is answered with that.
func (s *Server) Append(ctx context.Context, body, dst []byte) []byte {
	x := newExchange(dst, s.options.MaxResponseBytes)
	x.quota = s.options.Quota(ctx)
	defer x.free()
	x.clock.begin(s.options.Observe)
	if err := s.read(ctx, x, body); err != nil {
		s.refuse(ctx, x, err)
		return x.out
	}
	if x.quota != nil && x.document.batch {
		x.quota.Charge(x.count)
	}
	switch {
	case !x.document.batch:
		s.calls(ctx, x)
	case x.count > s.options.MaxBatch:
		s.refuse(ctx, x, limitError("the batch has too many calls", "batch_size", s.options.MaxBatch))
	case x.count == 0:
		s.refuse(ctx, x, NewError(CodeInvalidRequest, "the batch is empty", "reason", "empty_batch"))
	default:
		x.openBatch()
		s.calls(ctx, x)
		x.closeBatch()
	}
	return x.out
}

// read takes a body apart, when it is its turn. Where ctx ends first it does so too: each of its calls is told.
func (s *Server) read(ctx context.Context, x *exchange, body []byte) *Error {
	_ = x.enter(ctx, s.options.turns(len(body)))
	// One argument more than any method takes is enough to see that there are too many.
	return x.read(body, s.options.MaxBatch, s.mostParams+1, maxDepth)
}

// refuse answers a body as a whole.
func (s *Server) refuse(ctx context.Context, x *exchange, err *Error) {
	s.conclude(ctx, x, nullText, nil, err)
	x.clock.observe("", err.Code)
}

// calls makes the calls of x in their order.
func (s *Server) calls(ctx context.Context, x *exchange) {
	for i := range x.envelopes {
		x.envelopes[i].judge()
	}
	for rest := x.envelopes; len(rest) > 0; {
		m := s.find(&rest[0])
		if m == nil || m.group == nil {
			s.call(ctx, x, m, &rest[0])
			rest = rest[1:]
			continue
		}
		count := 1
		for count < len(rest) && s.find(&rest[count]) == m {
			count++
		}
		s.group(ctx, x, m, rest[:count])
		rest = rest[count:]
	}
}

// find returns the method that a call names, nil when there is none or the call is invalid.
func (s *Server) find(e *envelope) *Method {
	if e.invalid != nil {
		return nil
	}
	return s.methods[string(stringText(e.method))]
}

// call makes the call e of the method m, which is nil when there is none, and answers it unless it is a notification.
func (s *Server) call(ctx context.Context, x *exchange, m *Method, e *envelope) {
	var err error
	switch {
	case e.invalid != nil:
		err = e.invalid
	case m == nil:
		err = NewError(CodeMethodNotFound, "the method does not exist", "method", shown(stringText(e.method)))
	default:
		if err = s.ready(ctx, x, e); err == nil {
			err = s.perform(ctx, x, m, e)
		}
	}
	code := s.conclude(ctx, x, e.id, m, err)
	x.clock.observe(m.observed(), code)
}

// perform makes the call e of the method m, when it is its turn.
func (s *Server) perform(ctx context.Context, x *exchange, m *Method, e *envelope) error {
	if err := x.enter(ctx, m.turns); err != nil {
		return err
	}
	c := x.given(e)
	if m.turns == nil {
		turns := s.options.Running
		if m.large {
			turns = s.options.Heavy
		}
		c.turn = func() error { return x.enter(ctx, turns) }
	}
	return m.callSafely(ctx, &x.reply, c)
}

// callSafely is call with a panic as an error.
func (m *Method) callSafely(ctx context.Context, r *reply, c given) (err error) {
	defer catch(&err)
	return m.call(ctx, r, c)
}

// ready returns an error when there is no time or no room for the call e.
func (s *Server) ready(ctx context.Context, x *exchange, e *envelope) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.id != nil && x.full() {
		return x.limitError()
	}
	return nil
}

// group makes consecutive calls of the method m together and answers them. They are not counted, as they mostly wait:
// so they hold no slot meanwhile.
func (s *Server) group(ctx context.Context, x *exchange, m *Method, calls []envelope) {
	x.leave()
	refused := make([]error, len(calls))
	made := make([]given, 0, len(calls))
	for i := range calls {
		if refused[i] = s.ready(ctx, x, &calls[i]); refused[i] == nil {
			made = append(made, x.given(&calls[i]))
		}
	}
	answers, err := m.groupSafely(ctx, made)
	var failed error
	if err != nil {
		failed = s.publicError(ctx, m.name, err) // one incident
	}
	codes, next := make([]int, len(calls)), 0
	for i := range calls {
		err := cmp.Or(refused[i], failed)
		if err == nil {
			err = answers(&x.reply, next)
			next++
		}
		codes[i] = s.conclude(ctx, x, calls[i].id, m, err)
	}
	x.clock.observe(m.name, codes...)
}

// groupSafely is group with a panic as an error.
func (m *Method) groupSafely(ctx context.Context, calls []given) (a answers, err error) {
	defer catch(&err)
	return m.group(ctx, calls)
}

// catch turns a panic of the function that defers it into an error.
func catch(err *error) {
	if value := recover(); value != nil {
		*err = &PanicError{Value: value, Stack: debug.Stack()}
	}
}

// conclude answers the call id with err unless that is nil, a notification's to the log only, and returns the code of
// what it has answered. A result has been written before.
func (s *Server) conclude(ctx context.Context, x *exchange, id []byte, m *Method, err error) int {
	if err == nil {
		return 0
	}
	public := s.publicError(ctx, m.observed(), err)
	if id == nil {
		return public.Code
	}
	// What keeps an error from being encoded is answered instead.
	if err := x.reply.error(id, public); err != nil {
		public = s.publicError(ctx, m.observed(), err)
		x.small(id, public)
	}
	return public.Code
}

// observed is the name under which calls are observed, "" of no method.
func (m *Method) observed() string {
	if m == nil {
		return ""
	}
	return m.name
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
