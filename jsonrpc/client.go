package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"
)

var (
	// ErrUnreachable is wrapped by the error of a call that got no answer. The connection failed or broke, a context
	// ended, or the HTTP status was not 200; in the last case the error wraps a *StatusError too.
	ErrUnreachable = errors.New("cannot reach the server")
	// ErrBadAnswer is wrapped by the error of a call whose response is not an answer to it in JSON-RPC 2.0, is too
	// large, or does not decode into the result.
	ErrBadAnswer = errors.New("the server's answer is invalid")
)

// StatusError is an HTTP status other than 200.
type StatusError struct {
	// Status is the HTTP status code.
	Status int
	// Message is the beginning of the response's body.
	Message string
	// RetryAfter is the wait that the server asks for; 0 if it gives none in seconds.
	RetryAfter time.Duration
}

// Error returns the status, its name and the server's message.
func (e *StatusError) Error() string {
	return fmt.Sprintf("HTTP status %d %s: %s", e.Status, http.StatusText(e.Status), e.Message)
}

const (
	defaultMaxAnswerBytes = 64 << 20
	// maxStatusMessage bounds the bytes of a refusal that are kept for its message.
	maxStatusMessage = 512
	// idleConnections is how many idle connections to the server are kept for later calls.
	idleConnections = 64
)

// A Client calls the methods of one server over HTTP. It is safe for concurrent use.
type Client struct {
	url       string
	transport *http.Transport
	http      http.Client   // transport plus decompression
	token     func() string // nil without a token
	maxAnswer int64
	lastID    atomic.Uint64
}

// A ClientOption configures a Client.
type ClientOption func(*Client)

// WithToken sends token as a bearer token (RFC 6750) with every request.
func WithToken(token string) ClientOption {
	return WithTokenSource(func() string { return token })
}

// WithTokenSource sends with every request the bearer token that source returns at that time. source must be safe for
// concurrent use.
func WithTokenSource(source func() string) ClientOption {
	return func(c *Client) { c.token = source }
}

// WithMaxAnswerBytes bounds an HTTP response's body, as decompressed. The default is 64 MiB.
func WithMaxAnswerBytes(limit int) ClientOption {
	return func(c *Client) { c.maxAnswer = int64(limit) }
}

// WithTransport sends requests through transport, such as one with its own certificates. The default is like
// http.DefaultTransport.
func WithTransport(transport *http.Transport) ClientOption {
	return func(c *Client) { c.transport = transport }
}

// NewClient returns a client for the server at an http or https URL. It connects on the first call.
func NewClient(address string, options ...ClientOption) (*Client, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("jsonrpc: the server's address is not an http or https URL: %w", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("jsonrpc: the server's address %q is not an http or https URL", parsed.Redacted())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idleConnections
	c := &Client{url: address, transport: transport, maxAnswer: defaultMaxAnswerBytes}
	// A redirected POST would become a GET, or carry the token to another server.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, option := range options {
		option(c)
	}
	c.http.Transport = gzhttp.Transport(c.transport)
	return c, nil
}

// Close closes idle connections. A later call opens new ones.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Call calls a method with positional parameters and decodes its result into result, a pointer, or nil to discard it.
// Numbers decoded into an interface become json.Number; a *json.RawMessage receives the result unchanged. The error is
// an *Error if the server returned one; otherwise it wraps ErrUnreachable or ErrBadAnswer, or comes from encoding a
// parameter. Only ctx ends a call that the server leaves unanswered.
func (c *Client) Call(ctx context.Context, method string, params []any, result any) error {
	request, err := c.newCall(method, params)
	if err != nil {
		return err
	}
	received, err := c.post(ctx, request, 1)
	if err != nil {
		return err
	}
	if received.batch {
		return fmt.Errorf("%w: it is not an object", ErrBadAnswer)
	}
	a, err := openAnswer(&received.envelopes[0])
	if err != nil {
		return err
	}
	if a.err != nil && a.id == nil {
		return a.err
	}
	if a.id == nil || *a.id != request.ID {
		return fmt.Errorf("%w: it has the id of another call", ErrBadAnswer)
	}
	return a.decode(result)
}

// BatchCall is one call of a batch. Its fields are the arguments and the error of Client.Call.
type BatchCall struct {
	Method string
	Params []any
	Result any
	Err    error
}

// Batch makes all calls in one request. The error of each call is in its Err. If the batch fails as a whole, that error
// is returned and also stored in every Err.
func (c *Client) Batch(ctx context.Context, calls []BatchCall) error {
	if len(calls) == 0 {
		return nil
	}
	answers, err := c.batch(ctx, calls)
	for i := range calls {
		call := &calls[i]
		switch {
		case err != nil:
			call.Err = err
		case answers[i] == nil:
			call.Err = fmt.Errorf("%w: the call has no answer", ErrBadAnswer)
		default:
			call.Err = answers[i].decode(call.Result)
		}
	}
	return err
}

// batch sends calls and returns the answer to each; nil for a call without one.
func (c *Client) batch(ctx context.Context, calls []BatchCall) ([]*answer, error) {
	requests := make([]call, len(calls))
	position := make(map[uint64]int, len(calls))
	for i, b := range calls {
		var err error
		if requests[i], err = c.newCall(b.Method, b.Params); err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		position[requests[i].ID] = i
	}
	received, err := c.post(ctx, requests, len(calls)+1)
	if err != nil {
		return nil, err
	}
	if !received.batch {
		return nil, refusedBatch(&received.envelopes[0])
	}
	answers := make([]*answer, len(calls))
	for i := range received.envelopes {
		a, err := openAnswer(&received.envelopes[i])
		if err != nil {
			return nil, err
		}
		if a.id == nil {
			return nil, fmt.Errorf("%w: an answer of the batch has no id", ErrBadAnswer)
		}
		i, known := position[*a.id]
		if !known || answers[i] != nil {
			return nil, fmt.Errorf("%w: an answer of the batch has the id of another call", ErrBadAnswer)
		}
		answers[i] = &a
	}
	return answers, nil
}

// refusedBatch returns the error in the message e that answers a whole batch.
func refusedBatch(e *envelope) error {
	a, err := openAnswer(e)
	if err != nil {
		return err
	}
	if a.err == nil {
		return fmt.Errorf("%w: a single result answers a batch", ErrBadAnswer)
	}
	return a.err
}

// Invoke calls a method as Client.Call does. The parameters are the fields of the struct params, as NewMethod
// describes. Optional parameters with their zero value are omitted at the end and sent as null before other parameters.
func Invoke[P, R any](ctx context.Context, c *Client, method string, params P) (R, error) {
	var result R
	value := reflect.ValueOf(params)
	described, err := paramsOf(reflect.TypeFor[P]())
	if err != nil {
		return result, fmt.Errorf("jsonrpc: method %q: %w", method, err)
	}
	positional := make([]any, len(described))
	last := 0
	for i, p := range described {
		field := value.Field(p.field)
		if p.Optional && field.IsZero() {
			continue
		}
		positional[i] = field.Interface()
		last = i + 1
	}
	err = c.Call(ctx, method, positional[:last], &result)
	return result, err
}

// newCall returns a call with a new id.
func (c *Client) newCall(method string, params []any) (call, error) {
	encoded := make([]json.RawMessage, len(params))
	for i, p := range params {
		var err error
		if encoded[i], err = json.Marshal(p); err != nil {
			return call{}, fmt.Errorf("jsonrpc: method %q: encode parameter %d: %w", method, i, err)
		}
	}
	return call{Version: versionText, ID: c.lastID.Add(1), Method: method, Params: encoded}, nil
}

// post sends message and returns the parsed response with at most most of its messages.
func (c *Client) post(ctx context.Context, message any, most int) (*document, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("jsonrpc: encode the request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("jsonrpc: %w", err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", contentType)
	if c.token != nil {
		request.Header.Set("Authorization", "Bearer "+c.token())
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, statusError(response))
	}
	if !isJSON(response.Header) {
		return nil, fmt.Errorf("%w: its content type is %q", ErrBadAnswer, response.Header.Get("Content-Type"))
	}
	text, err := readAll(http.MaxBytesReader(nil, response.Body, c.maxAnswer), min(response.ContentLength, c.maxAnswer))
	if overrun, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrBadAnswer, overrun.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	received := new(document)
	if received.read(text, most, 0, maxAnswerDepth) != nil {
		return nil, fmt.Errorf("%w: it is not JSON", ErrBadAnswer)
	}
	return received, nil
}

// readAll reads to the end. It allocates the announced size in advance if that is from 0 to maxAnnounced.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	const maxAnnounced = 64 << 20
	if announced < 0 || announced > maxAnnounced {
		return io.ReadAll(r)
	}
	text := bytes.NewBuffer(make([]byte, 0, announced+bytes.MinRead)) // enough that the buffer never grows
	_, err := text.ReadFrom(r)
	return text.Bytes(), err
}

func statusError(response *http.Response) error {
	// The beginning of a body that breaks off is useful too.
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxStatusMessage))
	e := &StatusError{Status: response.StatusCode, Message: string(bytes.ToValidUTF8(bytes.TrimSpace(text), nil))}
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}
