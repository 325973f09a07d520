package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"unicode/utf8"
)

// maxDepth is how many arrays and objects may enclose a value in a request. encoding/json alone would go to 10,000.
const maxDepth = 64

// checkDocument returns an error unless text is one JSON value (RFC 8259) in valid UTF-8 that is not nested too deeply.
func checkDocument(text []byte) *Error {
	if !utf8.Valid(text) {
		return NewError(CodeParse, "the request is not valid UTF-8", "reason", "bad_utf8")
	}
	if tooDeep(text) {
		return NewError(CodeParse, "the request is nested too deeply", "reason", "too_deep", "limit", maxDepth)
	}
	if json.Valid(text) {
		return nil
	}
	e := NewError(CodeParse, "the request is not one valid JSON document", "reason", "bad_json")
	var raw json.RawMessage
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(text, &raw), &syntax) {
		return e.with("offset", syntax.Offset)
	}
	return e
}

// tooDeep reports whether more than maxDepth brackets are open somewhere in text, which need not be valid JSON.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			continue
		case '[', '{':
			if depth++; depth > maxDepth {
				return true
			}
		case ']', '}':
			depth--
		}
		i++
	}
	return false
}

// stringEnd returns the index after the string that begins at text[start], len(text) when it does not end.
func stringEnd(text []byte, start int) int {
	for i := start + 1; ; {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return len(text)
		}
		i += quote + 1
		// The quote is part of the string when an odd number of backslashes stands before it.
		escapes := i - 2
		for text[escapes] == '\\' {
			escapes--
		}
		if (i-2-escapes)%2 == 0 {
			return i
		}
	}
}

// A cursor walks a JSON text that was found valid before.
type cursor struct {
	text []byte
	at   int
}

// peek returns the first byte of the next token.
func (c *cursor) peek() byte {
	for isSpace(c.text[c.at]) {
		c.at++
	}
	return c.text[c.at]
}

// enter passes the bracket that opens an array or object.
func (c *cursor) enter() {
	c.peek()
	c.at++
}

// more reports whether another element or member follows, having passed the comma before it or the closing bracket.
func (c *cursor) more() bool {
	switch c.peek() {
	case ',':
		c.at++
		return true
	case ']', '}':
		c.at++
		return false
	}
	return true
}

// key passes a member's name with its colon and returns the name, without escapes.
func (c *cursor) key() []byte {
	name := stringText(c.value())
	c.peek()
	c.at++
	return name
}

// value passes one value and returns its text, without the space around it.
func (c *cursor) value() []byte {
	first := c.peek()
	start := c.at
	switch first {
	case '"':
		c.at = stringEnd(c.text, start)
	case '[', '{':
		c.at = containerEnd(c.text, start)
	default:
		for c.at < len(c.text) && !endsScalar(c.text[c.at]) {
			c.at++
		}
	}
	return c.text[start:c.at]
}

// containerEnd returns the index after the array or object that begins at text[start].
func containerEnd(text []byte, start int) int {
	depth := 0
	for i := start; ; {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

func isSpace(b byte) bool {
	return b == ' ' || b == '\t' || b == '\n' || b == '\r'
}

func endsScalar(b byte) bool {
	return b == ',' || b == ']' || b == '}' || isSpace(b)
}

// stringText returns what the JSON string raw says; raw is valid, with its quotes.
func stringText(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		panic("jsonrpc: a string of a valid document does not decode: " + err.Error())
	}
	return []byte(text)
}

// elements yields the text of each element of the valid JSON array raw.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		c := cursor{text: raw}
		for c.enter(); c.more(); {
			if !yield(c.value()) {
				return
			}
		}
	}
}

// members yields the name and the text of each member of the valid JSON object raw.
func members(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		c := cursor{text: raw}
		for c.enter(); c.more(); {
			if !yield(c.key(), c.value()) {
				return
			}
		}
	}
}
