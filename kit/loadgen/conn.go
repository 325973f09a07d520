package loadgen

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// answerTimeout is how long an answer may take.
	answerTimeout = 30 * time.Second
	// lastAnswerTimeout is how long an answer may take that is under way when the run ends.
	lastAnswerTimeout = 2 * time.Second
	// deadlineSlack is how much less an answer may get: moving the deadline for each costs more than parsing one.
	deadlineSlack = time.Second
	// maxAnswer bounds an answer's header and body, in bytes.
	maxAnswer = 64 << 20
	readSize  = 16 << 10
)

var errAnswer = errors.New("the answer is no HTTP/1.1 response with a body of known length")

// conn is one keep-alive connection that speaks as much HTTP/1.1 (RFC 9112) as a load generator needs, in buffers that
// it reuses.
type conn struct {
	net.Conn
	buffer []byte    // what was read of the present answer
	body   []byte    // of a chunked answer
	close  bool      // the server closes the connection after the present answer
	until  time.Time // the deadline that is set
}

// dialer connects to a node.
type dialer struct {
	node *url.URL
	tls  *tls.Config // for https; nil is the default
}

// dial connects, with TLS for https. The end of ctx cuts short what the connection waits for.
func (d dialer) dial(ctx context.Context) (*conn, error) {
	dialer := &net.Dialer{Timeout: answerTimeout}
	connect, port := dialer.DialContext, "80"
	if d.node.Scheme == "https" {
		connect, port = (&tls.Dialer{NetDialer: dialer, Config: d.tls}).DialContext, "443"
	}
	if d.node.Port() != "" {
		port = d.node.Port()
	}
	c, err := connect(ctx, "tcp", net.JoinHostPort(d.node.Hostname(), port))
	if err != nil {
		return nil, err
	}
	// A connection that has ended takes no deadline any more, and needs none.
	context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now().Add(lastAnswerTimeout)) })
	return &conn{Conn: c, buffer: make([]byte, 0, readSize)}, nil
}

// roundTrip writes a request and returns the answer's status and body. The body is valid until the next call.
func (c *conn) roundTrip(wire []byte) (status int, body []byte, err error) {
	if now := time.Now(); c.until.Sub(now) < answerTimeout-deadlineSlack {
		c.until = now.Add(answerTimeout)
		if err := c.SetDeadline(c.until); err != nil {
			return 0, nil, err
		}
	}
	if _, err := c.Write(wire); err != nil {
		return 0, nil, err
	}
	c.buffer = c.buffer[:0]
	end := -1
	for end < 0 {
		if err := c.fill(); err != nil {
			return 0, nil, err
		}
		end = bytes.Index(c.buffer, []byte("\r\n\r\n"))
	}
	preamble, err := parsePreamble(c.buffer[:end+2])
	if err != nil {
		return 0, nil, err
	}
	c.close = preamble.close
	if preamble.chunked {
		body, err = c.readChunks(end + 4)
		return preamble.status, body, err
	}
	total := end + 4 + preamble.length
	for len(c.buffer) < total {
		if err := c.fill(); err != nil {
			return 0, nil, err
		}
	}
	return preamble.status, c.buffer[end+4 : total], nil
}

// fill reads what has arrived.
func (c *conn) fill() error {
	if len(c.buffer) > maxAnswer {
		return fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	c.buffer = slices.Grow(c.buffer, readSize)
	n, err := c.Read(c.buffer[len(c.buffer):cap(c.buffer)])
	c.buffer = c.buffer[:len(c.buffer)+n]
	if n > 0 {
		return nil // an error comes back with the next read
	}
	return err
}

// readChunks reads a chunked body (RFC 9112, section 7.1) that begins at an offset of the buffer.
func (c *conn) readChunks(at int) ([]byte, error) {
	c.body = c.body[:0]
	for {
		line, err := c.line(at)
		if err != nil {
			return nil, err
		}
		at += len(line) + 2
		digits, _, _ := strings.Cut(string(line), ";")
		size, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 31)
		if err != nil || size > maxAnswer {
			return nil, errAnswer
		}
		if size == 0 {
			return c.body, c.skipTrailer(at)
		}
		for len(c.buffer) < at+int(size)+2 {
			if err := c.fill(); err != nil {
				return nil, err
			}
		}
		c.body = append(c.body, c.buffer[at:at+int(size)]...)
		at += int(size) + 2
	}
}

// skipTrailer reads the lines after the last chunk, up to an empty one.
func (c *conn) skipTrailer(at int) error {
	for {
		line, err := c.line(at)
		if err != nil || len(line) == 0 {
			return err
		}
		at += len(line) + 2
	}
}

// line is the line that begins at an offset of the buffer, without its end.
func (c *conn) line(at int) ([]byte, error) {
	for {
		if end := bytes.Index(c.buffer[min(at, len(c.buffer)):], []byte("\r\n")); end >= 0 {
			return c.buffer[at : at+end], nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// preamble is what matters of a response's header.
type preamble struct {
	status  int
	length  int
	chunked bool
	close   bool
}

// parsePreamble reads a status line and header fields, each with its line end.
func parsePreamble(text []byte) (preamble, error) {
	const version = "HTTP/1.1 "
	if len(text) < len(version)+3 || string(text[:len(version)]) != version {
		return preamble{}, errAnswer
	}
	status, err := strconv.Atoi(string(text[len(version) : len(version)+3]))
	if err != nil {
		return preamble{}, errAnswer
	}
	h := preamble{status: status, length: -1}
	for line := range bytes.SplitSeq(text, []byte("\r\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if h.length, err = strconv.Atoi(string(value)); err != nil || h.length < 0 || h.length > maxAnswer {
				return preamble{}, errAnswer
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			h.chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("connection")):
			h.close = bytes.EqualFold(value, []byte("close"))
		}
	}
	if status == 204 {
		h.length = 0
	}
	if h.length < 0 && !h.chunked {
		return preamble{}, errAnswer
	}
	return h, nil
}
