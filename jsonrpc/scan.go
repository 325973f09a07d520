package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	// maxDepth bounds the nesting of arrays and objects in a request.
	maxDepth = 64
	// maxAnswerDepth bounds the nesting in an answer to a Client. It is the limit of encoding/json.
	maxAnswerDepth = 10_000
)

// A scanner consumes a JSON text from its beginning and checks it: the grammar of RFC 8259, UTF-8, and the depth of
// nesting. It stops at the first fault: from then on more returns false and nothing is consumed.
type scanner struct {
	text  []byte
	at    int // position; after a fault, the wrong byte or the end of the text
	limit int // bound on depth
	depth int
	fault fault
}

type fault uint8

const (
	noFault fault = iota
	badSyntax
	badUTF8
	tooDeep
)

// err returns the client's error for the fault, or nil.
func (s *scanner) err() *Error {
	switch s.fault {
	case noFault:
		return nil
	case badUTF8:
		return NewError(CodeParse, "the request is not valid UTF-8", "reason", "bad_utf8")
	case tooDeep:
		return NewError(CodeParse, "the request is nested too deeply", "reason", "too_deep", "limit", s.limit)
	default:
		// Like encoding/json, it counts the bytes read when the fault was detected.
		return NewError(CodeParse, "the request is not one valid JSON document", "reason", "bad_json",
			"offset", min(s.at+1, len(s.text)))
	}
}

// unexpected stops at a fault in the next byte.
func (s *scanner) unexpected() {
	s.fault = badSyntax
	if r, size := utf8.DecodeRune(s.text[s.at:]); r == utf8.RuneError && size == 1 {
		s.fault = badUTF8
	}
}

// token skips space and returns the next byte without consuming it; 0 at the end of the text.
func (s *scanner) token() byte {
	for ; s.at < len(s.text); s.at++ {
		if c := s.text[s.at]; c > ' ' || !isSpace(c) {
			return c
		}
	}
	return 0
}

// end checks that nothing but space follows.
func (s *scanner) end() {
	if s.fault == noFault && (s.token() != 0 || s.at < len(s.text)) {
		s.unexpected()
	}
}

// enter consumes the opening bracket of an array or object.
func (s *scanner) enter() {
	if s.depth++; s.depth > s.limit {
		s.fault = tooDeep
		return
	}
	s.at++
}

// more reports whether another element or member follows. It consumes the comma before it, unless it is the first, or
// else the closing bracket.
func (s *scanner) more(closing byte, first bool) bool {
	if s.fault != noFault {
		return false
	}
	switch c := s.token(); {
	case c == closing:
		s.at++
		s.depth--
		return false
	case first:
		return true
	case c == ',':
		s.at++
		return true
	}
	s.unexpected()
	return false
}

// key consumes a member's name and its colon, and returns the name as written; nil on a fault.
func (s *scanner) key() []byte {
	if s.token() != '"' {
		s.unexpected()
		return nil
	}
	start := s.at
	s.str()
	if s.fault != noFault {
		return nil
	}
	name := s.text[start:s.at]
	if s.token() != ':' {
		s.unexpected()
		return nil
	}
	s.at++
	return name
}

// value consumes one value and returns its text, without surrounding space; nil on a fault.
func (s *scanner) value() []byte {
	if s.fault != noFault {
		return nil
	}
	c := s.token()
	start := s.at
	switch c {
	case '"':
		s.str()
	case '{':
		s.enter()
		for first := true; s.more('}', first); first = false {
			s.key()
			s.value()
		}
	case '[':
		s.enter()
		for first := true; s.more(']', first); first = false {
			s.value()
		}
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
	if s.fault != noFault {
		return nil
	}
	return s.text[start:s.at]
}

func (s *scanner) word(word string) {
	for i := range len(word) {
		if s.at == len(s.text) || s.text[s.at] != word[i] {
			s.unexpected()
			return
		}
		s.at++
	}
}

// number consumes a number (RFC 8259, section 6).
func (s *scanner) number() {
	if s.next('-') {
		s.at++
	}
	if s.next('0') {
		s.at++
	} else {
		s.digits()
	}
	if s.fault == noFault && s.next('.') {
		s.at++
		s.digits()
	}
	if s.fault == noFault && (s.next('e') || s.next('E')) {
		s.at++
		if s.next('+') || s.next('-') {
			s.at++
		}
		s.digits()
	}
}

func (s *scanner) next(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

// digits consumes one or more digits.
func (s *scanner) digits() {
	start := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	if s.at == start {
		s.unexpected()
	}
}

// str consumes a string (RFC 8259, section 7).
func (s *scanner) str() {
	s.at++
	for {
		for len(s.text)-s.at >= 8 {
			if stop := notPlain(binary.LittleEndian.Uint64(s.text[s.at:])); stop != 0 {
				s.at += bits.TrailingZeros64(stop) / 8
				break
			}
			s.at += 8
		}
		if s.at == len(s.text) {
			s.unexpected()
			return
		}
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return
		case c == '\\':
			if s.escape(); s.fault != noFault {
				return
			}
		case c < ' ':
			s.unexpected()
			return
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, size := utf8.DecodeRune(s.text[s.at:])
			if r == utf8.RuneError && size == 1 {
				s.fault = badUTF8
				return
			}
			s.at += size
		}
	}
}

// notPlain looks in eight bytes for a quote, a backslash, a control character or a byte that is not ASCII. It returns 0
// if there is none. Otherwise the lowest bit set is the top bit of the first such byte, the lowest in word; higher bits
// are meaningless, since a borrow may have set them. (Bit Twiddling Hacks, "Determine if a word has a byte less than
// n".)
func notPlain(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, backslash := word^ones*'"', word^ones*'\\'
	return (word | (word-ones*' ')&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
}

// escape consumes a backslash and the escaped character.
func (s *scanner) escape() {
	s.at++
	if s.at == len(s.text) {
		s.unexpected()
		return
	}
	switch s.text[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
	case 'u':
		s.at++
		for range 4 {
			if s.at == len(s.text) || !isHex(s.text[s.at]) {
				s.unexpected()
				return
			}
			s.at++
		}
	default:
		s.unexpected()
	}
}

func isHex(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' <= 5
}

func isSpace(b byte) bool {
	return b == ' ' || b == '\t' || b == '\n' || b == '\r'
}

func isString(raw []byte) bool {
	return len(raw) > 0 && raw[0] == '"'
}

// isPlain reports whether raw, a valid JSON value, is a string without escapes.
func isPlain(raw []byte) bool {
	return isString(raw) && bytes.IndexByte(raw, '\\') < 0
}

// maxShown bounds the bytes of a client's name that an error repeats.
const maxShown = 100

// shown returns a client's name, shortened for an error.
func shown(name []byte) string {
	if len(name) <= maxShown {
		return string(name)
	}
	return strings.ToValidUTF8(string(name[:maxShown]), "") + "…"
}

// stringText returns the text of raw, a valid JSON string with its quotes.
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
