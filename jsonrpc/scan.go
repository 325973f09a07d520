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
	// maxDepth is how many arrays and objects may enclose a value in a request.
	maxDepth = 64
	// maxAnswerDepth is the same for what a Client is answered: what encoding/json takes.
	maxAnswerDepth = 10_000
)

// A scanner walks a JSON text from its beginning and checks what it passes: the grammar of RFC 8259, UTF-8, and how
// deeply values are nested. The walk ends at the first fault: from then on more is false and nothing is passed.
type scanner struct {
	text  []byte
	at    int // of a fault: the byte that is wrong, or the end of the text
	limit int // how many arrays and objects may enclose a value
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

// err is what a client is told of the fault, nil when there is none.
func (s *scanner) err() *Error {
	switch s.fault {
	case noFault:
		return nil
	case badUTF8:
		return NewError(CodeParse, "the request is not valid UTF-8", "reason", "bad_utf8")
	case tooDeep:
		return NewError(CodeParse, "the request is nested too deeply", "reason", "too_deep", "limit", s.limit)
	default:
		// As encoding/json counts: the bytes read when the fault was clear.
		return NewError(CodeParse, "the request is not one valid JSON document", "reason", "bad_json",
			"offset", min(s.at+1, len(s.text)))
	}
}

// unexpected ends the walk at the byte that comes next.
func (s *scanner) unexpected() {
	s.fault = badSyntax
	if r, size := utf8.DecodeRune(s.text[s.at:]); r == utf8.RuneError && size == 1 {
		s.fault = badUTF8
	}
}

// token passes space and returns the byte that follows it, 0 at the end of the text.
func (s *scanner) token() byte {
	for ; s.at < len(s.text); s.at++ {
		if c := s.text[s.at]; c > ' ' || !isSpace(c) {
			return c
		}
	}
	return 0
}

// end ends the walk: nothing but space may follow.
func (s *scanner) end() {
	if s.fault == noFault && (s.token() != 0 || s.at < len(s.text)) {
		s.unexpected()
	}
}

// enter passes the bracket that opens an array or object.
func (s *scanner) enter() {
	if s.depth++; s.depth > s.limit {
		s.fault = tooDeep
		return
	}
	s.at++
}

// more reports whether another element or member follows, having passed the comma before it unless it is the first.
// Otherwise it has passed the closing bracket.
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

// key passes a member's name with its colon and returns the name as it stands there, nil on a fault.
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

// value passes one value and returns its text, without the space around it; nil on a fault.
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

// number passes a number (RFC 8259, section 6).
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

// digits passes one digit or more.
func (s *scanner) digits() {
	start := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	if s.at == start {
		s.unexpected()
	}
}

// str passes a string (RFC 8259, section 7).
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

// notPlain has the highest bit set of the first (lowest) byte of eight that is a quote, a backslash, a control
// character or not ASCII. It is 0 if there is no such byte. Bits above that one mean nothing: a borrow may have set
// them. (Bit Twiddling Hacks, "Determine if a word has a byte less than n".)
func notPlain(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, backslash := word^ones*'"', word^ones*'\\'
	return (word | (word-ones*' ')&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
}

// escape passes a backslash and what it escapes.
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

// isPlain reports whether the valid JSON value raw is a string without escapes.
func isPlain(raw []byte) bool {
	return isString(raw) && bytes.IndexByte(raw, '\\') < 0
}

// maxShown is how many bytes of a name that a client gave an error repeats.
const maxShown = 100

// shown is a name that a client gave, as an error repeats it.
func shown(name []byte) string {
	if len(name) <= maxShown {
		return string(name)
	}
	return strings.ToValidUTF8(string(name[:maxShown]), "") + "…"
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
