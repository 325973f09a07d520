package front

import (
	"strings"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// seenFields records the fields that must not repeat or that a preamble must have.
type seenFields struct{ host, length, json, forwarded, authorization bool }

// setField applies a header field. A field that only net/http can handle makes the request not simple.
func (h *preamble) setField(name, value []byte, seen *seenFields) error {
	switch len(name) {
	case len("Host"):
		if is(name, "host") {
			return h.setHost(value, seen)
		}
	case len("Origin"):
		switch {
		case is(name, "origin"):
			h.simple = h.simple && h.origin == nil && len(value) <= maxOrigin
			h.origin = value
		case is(name, "expect"):
			h.simple = false
		}
	case len("Upgrade"):
		switch {
		case is(name, "upgrade"):
			h.upgrade = true
		case is(name, "trailer"):
			h.simple = false
		}
	case len("Connection"):
		if is(name, "connection") {
			h.setConnection(value)
		}
	case len("Content-Type"):
		if is(name, "content-type") {
			h.simple = h.simple && !seen.json && isPlainJSON(value)
			seen.json = true
		}
	case len("Authorization"):
		if is(name, "authorization") {
			if seen.authorization {
				return errMalformed
			}
			seen.authorization, h.authorization = true, value
		}
	case len("Content-Length"):
		if is(name, "content-length") {
			return h.setLength(value, seen)
		}
	case len("Accept-Encoding"):
		switch {
		case is(name, "accept-encoding"):
			h.gzip = h.gzip || jsonrpc.Accepts(value, "gzip")
		case is(name, "x-forwarded-for"):
			h.simple = h.simple && !seen.forwarded // net/http joins several values
			seen.forwarded, h.forwarded = true, value
		}
	case len("Content-Encoding"):
		if is(name, "content-encoding") {
			h.simple = h.simple && is(value, "identity")
		}
	case len("Transfer-Encoding"):
		if is(name, "transfer-encoding") {
			if h.chunked || !is(value, "chunked") {
				return errMalformed
			}
			h.chunked = true
		}
	}
	return nil
}

func (h *preamble) setHost(value []byte, seen *seenFields) error {
	if seen.host {
		return errMalformed
	}
	seen.host, h.host = true, value
	for _, c := range value {
		if !isAlphanumeric(c) && strings.IndexByte("-._:[]", c) < 0 {
			h.simple = false // net/http judges it
		}
	}
	return nil
}

func (h *preamble) setLength(value []byte, seen *seenFields) error {
	if seen.length || len(value) == 0 || len(value) > maxLengthDigits {
		return errMalformed
	}
	for _, c := range value {
		if !isDigit(c) {
			return errMalformed
		}
		h.length = h.length*10 + int64(c-'0')
	}
	seen.length = true
	return nil
}

func (h *preamble) setConnection(value []byte) {
	switch {
	case is(value, "close"):
		h.close = true
	case !is(value, "keep-alive"):
		h.simple = false
	}
}

// maxOrigin is the length of the longest Origin that an answer may repeat; a host name has at most 253 characters.
const maxOrigin = 300

// isPlainJSON reports whether value is one of the content types that JSON-RPC clients usually send. net/http parses all
// others.
func isPlainJSON(value []byte) bool {
	return is(value, "application/json") || is(value, "application/json; charset=utf-8") ||
		is(value, "application/json;charset=utf-8")
}

// is reports whether b equals lower, ignoring the case of ASCII letters in b. lower must be in lower case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlphanumeric(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

// tokenBytes are the characters of a token (RFC 9110 5.6.2).
var tokenBytes = func() (table [256]bool) {
	for c := range table {
		table[c] = isAlphanumeric(byte(c)) || strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0
	}
	return table
}()

func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenBytes[c] {
			return false
		}
	}
	return len(b) > 0
}
