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
	// answerTimeout is the time limit of a response.
	answerTimeout = 30 * time.Second
	// lastAnswerTimeout is the time limit of a response still outstanding when the run ends.
	lastAnswerTimeout = 2 * time.Second
	// deadlineSlack is the tolerance of a response's time limit: setting the deadline for each response would
	// cost more than parsing it.
	deadlineSlack = time.Second
	// maxAnswer bounds a response's header and body, in bytes.
	maxAnswer = 64 << 20
	readSize  = 16 << 10
)

var errAnswer = errors.New("the answer is not an HTTP/1.1 response with a body of known length")

// conn is a keep-alive connection with the subset of HTTP/1.1 (RFC 9112) that a load generator needs. It reuses its
// buffers.
type conn struct {
	net.Conn
	buffer []byte    // bytes read of the current response
	body   []byte    // decoded body of a chunked response
	close  bool      // the server closes the connection after the current response
	until  time.Time // the deadline that was set
}

// dialer connects to a node.
type dialer struct {
	node *url.URL
	tls  *tls.Config // for https; nil selects the default
}

// dial connects, with TLS for https. When ctx ends, pending reads and writes are cut short.
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
	// Setting a deadline on a closed connection fails harmlessly.
	context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now().Add(lastAnswerTimeout)) })
	return &conn{Conn: c, buffer: make([]byte, 0, readSize)}, nil
}

// roundTrip writes a request and returns the response's status and body. The body is valid until the next call.
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

// fill reads available data into the buffer.
func (c *conn) fill() error {
	if len(c.buffer) > maxAnswer {
		return fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	c.buffer = slices.Grow(c.buffer, readSize)
	n, err := c.Read(c.buffer[len(c.buffer):cap(c.buffer)])
	c.buffer = c.buffer[:len(c.buffer)+n]
	if n > 0 {
		return nil // the next read returns the error again
	}
	return err
}

// readChunks reads a chunked body (RFC 9112, section 7.1) that begins at an offset in the buffer.
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

// skipTrailer skips the lines after the last chunk, up to an empty line.
func (c *conn) skipTrailer(at int) error {
	for {
		line, err := c.line(at)
		if err != nil || len(line) == 0 {
			return err
		}
		at += len(line) + 2
	}
}

// line returns the line at an offset in the buffer, without its line end.
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

// preamble is the part of a response header that matters here.
type preamble struct {
	status  int
	length  int
	chunked bool
	close   bool
}

// parsePreamble parses a status line and header fields, each with its line end.
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
