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

// Options holds a Server's limits and hooks. Zero values stand for defaults.
type Options struct {
	// MaxRequestBytes bounds an HTTP request's body, as sent and as decompressed. Default 5 MiB.
	MaxRequestBytes int
	// MaxResponseBytes bounds the answer to one body, before compression; only the errors that report this limit may
	// exceed it. Default 64 MiB.
	MaxResponseBytes int
	// MaxBatch bounds the calls in one batch. Default 1,000.
	MaxBatch int
	// Running decides when calls compute. Parsing a body and compressing an answer count as computing too. Calls of a
	// NewGroupMethod do not use it; see also Method.In. By default all calls run at once.
	Running Turns
	// Heavy decides when work on large bodies and answers runs. Default: Running.
	Heavy Turns
	// Incident logs an error that clients must not see (a PanicError after a panic), and returns its id in the log. It
	// is called once for each such error. The default logs to slog.Default under a random id.
	Incident func(ctx context.Context, method string, err error) string
	// Quota returns the quota of the request with the given context; nil for none. The default returns nil.
	Quota func(ctx context.Context) Quota
	// Observe is called for each call after it was answered or, for a notification, executed. It receives the method,
	// or "" if there is no such method or the call is invalid; the error code, or 0; and the time that the call took.
	// The calls of a group get equal parts of the group's time. A body that is refused as a whole counts as one call.
	// The default observes nothing.
	Observe func(method string, code int, took time.Duration)
}

// Turns schedules work. The work of one context runs in one goroutine and has one turn at a time.
type Turns interface {
	// Enter waits for the turn of ctx. It fails with the cause of ctx's end, or if nobody waits for the work any more.
	Enter(ctx context.Context) error
	// Yield lets others have their turn if the turn of ctx has lasted long enough. It fails as Enter does.
	Yield(ctx context.Context) error
	// Leave ends the turn of ctx.
	Leave(ctx context.Context)
}

// atOnce grants all turns at once.
type atOnce struct{}

func (atOnce) Enter(context.Context) error { return nil }
func (atOnce) Yield(context.Context) error { return nil }
func (atOnce) Leave(context.Context)       {}

// heavyBytes is the size from which a body or an answer is work for Options.Heavy: about a millisecond of it.
const heavyBytes = 512 << 10

// turns returns the Turns for work on the given number of bytes.
func (o *Options) turns(bytes int) Turns {
	if bytes >= heavyBytes {
		return o.Heavy
	}
	return o.Running
}

// A Quota bounds the resources of one request or message.
type Quota interface {
	// Room is called before an answer exceeds 8 KiB, and again as it grows. It returns how many bytes in all may answer
	// this body: at least the given number or, if there is no memory for that, less. In that case the call that needs
	// the bytes, and those after it, fail with a limit error. Room must not block.
	Room(bytes int) int
	// Charge charges the calls of a body, or equivalent work, before they are executed.
	Charge(calls int)
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxRequestBytes < 0 || o.MaxResponseBytes < 0 || o.MaxBatch < 0 {
		return o, errors.New("jsonrpc: a limit is negative")
	}
	o.MaxRequestBytes = cmp.Or(o.MaxRequestBytes, 5<<20)
	o.MaxResponseBytes = cmp.Or(o.MaxResponseBytes, 64<<20)
	o.MaxBatch = cmp.Or(o.MaxBatch, 1000)
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
	// mostParams is the greatest number of parameters of a method.
	mostParams int
}

// NewServer returns a server of the given methods. It fails if a name repeats, a method's parameters cannot be decoded,
// or a limit is negative.
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
			m.err = errors.New("duplicate method name")
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

// Serve answers one body: a call, a notification or a batch. It returns nil if there is nothing to answer. The calls of
// a batch run in order, one after another, except those of NewGroupMethod; calls beyond a limit do not run. A panic in
// a handler is answered as an internal error, but not one in a goroutine that the handler started.
//
// The caller must bound the size of the body, as ServeHTTP does.
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

// Append appends the answer of Serve to dst and returns the extended slice, which has the same length if there is
// nothing to answer. It neither retains nor modifies body. If ctx has ended with an *Error as its cause, no call runs,
// and each is answered with that error.
func (s *Server) Append(ctx context.Context, body, dst []byte) []byte {
	out, _ := s.AppendTo(ctx, body, dst, nil) // only a streamed answer can break off
	return out
}

// AppendTo is Append for a transport that takes an answer in parts. A body with one call whose result is a [Streamer] may
// be answered by calls of sink with parts of the answer, and the rest, of which the answer's end is a part, is appended
// to dst. No bound applies to the length of such an answer. If sink or the result fails after the first part, AppendTo
// returns an error: the answer has no end then, and the client must be told so.
func (s *Server) AppendTo(
	ctx context.Context, body, dst []byte, sink func(part []byte) error,
) (out []byte, broken error) {
	x := newExchange(dst, s.options.MaxResponseBytes)
	x.quota = s.options.Quota(ctx)
	x.sink, x.heavy = sink, s.options.Heavy
	defer x.free()
	x.clock.begin(s.options.Observe)
	if err := s.read(ctx, x, body); err != nil {
		s.refuse(ctx, x, err)
		return x.out, nil
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
	return x.out, x.broken
}

// read parses a body in a turn, or without one if ctx ends first: each of its calls must be answered even so.
func (s *Server) read(ctx context.Context, x *exchange, body []byte) *Error {
	_ = x.enter(ctx, s.options.turns(len(body)))
	// One argument more than any method has is enough to detect an excess.
	return x.read(body, s.options.MaxBatch, s.mostParams+1, maxDepth)
}

// refuse answers a body as a whole.
func (s *Server) refuse(ctx context.Context, x *exchange, err *Error) {
	s.conclude(ctx, x, nullText, nil, err)
	x.clock.observe("", err.Code)
}

// calls runs the calls of x in order.
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

// find returns the method of a call; nil if there is none or the call is invalid.
func (s *Server) find(e *envelope) *Method {
	if e.invalid != nil {
		return nil
	}
	return s.methods[string(stringText(e.method))]
}

// call runs the call e of the method m, which may be nil, and answers it unless it is a notification.
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

// perform runs the call e of the method m in a turn.
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

// callSafely is like call but returns a panic as an error.
func (m *Method) callSafely(ctx context.Context, r *reply, c given) (err error) {
	defer catch(&err)
	return m.call(ctx, r, c)
}

// ready returns an error if there is no time or no room for the call e.
func (s *Server) ready(ctx context.Context, x *exchange, e *envelope) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.id != nil && x.full() {
		return x.limitError()
	}
	return nil
}

// group runs consecutive calls of the method m together and answers them. They have no turn, as they mostly wait.
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
		failed = s.publicError(ctx, m.name, err) // a single incident
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

// groupSafely is like group but returns a panic as an error.
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

// conclude answers the call id with err unless that is nil; the error of a notification is only logged. It returns the
// error's code, or 0.
func (s *Server) conclude(ctx context.Context, x *exchange, id []byte, m *Method, err error) int {
	if err == nil {
		return 0
	}
	public := s.publicError(ctx, m.observed(), err)
	if id == nil || x.streamed {
		return public.Code
	}
	// An error that cannot be encoded is replaced by an error that says why.
	if err := x.reply.error(id, public); err != nil {
		public = s.publicError(ctx, m.observed(), err)
		x.small(id, public)
	}
	return public.Code
}

// observed returns the method's name for observation; "" if m is nil.
func (m *Method) observed() string {
	if m == nil {
		return ""
	}
	return m.name
}

// publicError returns err if it is meant for the client. Otherwise it logs err and returns an error with the incident
// id.
func (s *Server) publicError(ctx context.Context, method string, err error) *Error {
	if e := asError(err); e != nil {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return NewError(CodeLimit, "the call exceeded its time limit", "reason", "time")
	}
	return NewError(CodeInternal, "the call failed unexpectedly", "incident", s.options.Incident(ctx, method, err))
}

func limitError(message, reason string, limit int) *Error {
	return NewError(CodeLimit, message, "reason", reason, "limit", limit)
}
