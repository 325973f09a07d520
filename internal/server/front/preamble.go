package front

import (
	"bytes"
	"errors"
)

const (
	// maxPreambleBytes and maxFields bound a request's preamble: the request line and the header fields.
	maxPreambleBytes = 16 << 10
	maxFields        = 100
	// maxLengthDigits keeps a Content-Length within an int64.
	maxLengthDigits = 18
)

var (
	errMalformed        = errors.New("front: the request is malformed")
	errPreambleTooLarge = errors.New("front: the request's preamble is too large")
)

// preamble holds the parts of a request's preamble that the server needs before the body. Its slices alias the parsed
// bytes.
type preamble struct {
	method, target []byte
	host           []byte
	authorization  []byte
	origin         []byte
	forwarded      []byte // X-Forwarded-For
	length         int64  // body size in bytes; 0 if there is no body
	chunked        bool   // the body's length is unknown until its end
	upgrade        bool   // the client asks for another protocol
	close          bool   // the client asks to close the connection after the answer
	gzip           bool   // the client accepts a compressed answer
	old            bool   // any version but HTTP/1.1
	simple         bool   // this package's loop may answer it
}

// preambleEnd looks for the end of a preamble in b; earlier calls have scanned the first from bytes. It returns the
// preamble's size, or 0 if the end has not arrived. A line feed without a carriage return is malformed: RFC 9112 2.2
// lets a server accept it, but if a proxy does not, the two disagree about where a request ends.
func preambleEnd(b []byte, from int) (int, error) {
	for at := from; ; {
		next := bytes.IndexByte(b[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
		if at < 2 || b[at-2] != '\r' {
			return 0, errMalformed
		}
		if at > maxPreambleBytes {
			return 0, errPreambleTooLarge
		}
		if at == 2 || b[at-3] == '\n' {
			return at, nil
		}
	}
	if len(b) > maxPreambleBytes {
		return 0, errPreambleTooLarge
	}
	return 0, nil
}

// parsePreamble parses a whole preamble that preambleEnd found. It is stricter than RFC 9112: anything that two servers
// in a row could interpret differently is malformed.
func parsePreamble(b []byte) (preamble, error) {
	var h preamble
	line, rest := cutLine(b)
	if err := h.parseRequestLine(line); err != nil {
		return preamble{}, err
	}
	var seen seenFields
	for fields := 0; ; fields++ {
		if line, rest = cutLine(rest); len(line) == 0 {
			break
		}
		if fields == maxFields {
			return preamble{}, errPreambleTooLarge
		}
		name, value, err := parseField(line)
		if err != nil {
			return preamble{}, err
		}
		if err := h.setField(name, value, &seen); err != nil {
			return preamble{}, err
		}
	}
	switch {
	case seen.length && h.chunked, // classic request smuggling
		!seen.host && !h.old, // RFC 9112 3.2
		h.chunked && h.old:   // RFC 9112 6.1
		return preamble{}, errMalformed
	}
	h.simple = h.simple && seen.length && seen.json && !h.chunked && !h.upgrade
	return h, nil
}

// cutLine splits off the first line, without its CRLF. preambleEnd has checked that every line ends with one.
func cutLine(b []byte) (line, rest []byte) {
	end := bytes.IndexByte(b, '\n')
	if end < 1 {
		return nil, nil
	}
	return b[:end-1], b[end+1:]
}

// versionSize is the length of "HTTP/1.1".
const versionSize = 8

// parseRequestLine parses a line like "POST / HTTP/1.1", with exactly two single spaces.
func (h *preamble) parseRequestLine(line []byte) error {
	first := bytes.IndexByte(line, ' ')
	last := bytes.LastIndexByte(line, ' ')
	if first < 1 || last <= first+1 || len(line)-last-1 != versionSize {
		return errMalformed
	}
	h.method, h.target = line[:first], line[first+1:last]
	version := line[last+1:]
	if !isToken(h.method) || !bytes.HasPrefix(version, []byte("HTTP/")) || !isDigit(version[5]) || version[6] != '.' ||
		!isDigit(version[7]) {
		return errMalformed
	}
	for _, c := range h.target {
		if c <= ' ' || c >= 0x7f {
			return errMalformed
		}
	}
	h.old = version[5] != '1' || version[7] != '1'
	h.simple = !h.old && string(h.method) == "POST" && string(h.target) == "/"
	return nil
}

// parseField splits "Name: value". A line that begins with a space continues the previous line (obs-fold). This is
// obsolete and refused, and so is a space before the colon (RFC 9112 5.1, 5.2).
func parseField(line []byte) (name, value []byte, err error) {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !isToken(line[:colon]) {
		return nil, nil, errMalformed
	}
	value = bytes.Trim(line[colon+1:], " \t")
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return nil, nil, errMalformed
		}
	}
	return line[:colon], value, nil
}
