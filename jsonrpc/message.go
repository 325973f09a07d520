package jsonrpc

import (
	"encoding/json"
)

const versionText = "2.0"

var nullText = []byte("null")

// An envelope is a parsed message of JSON-RPC 2.0: the texts of the members that JSON-RPC defines, nil for absent ones.
// It aliases the text that was parsed.
type envelope struct {
	// id is echoed byte for byte; a call with a nil id is a notification and is not answered.
	id                                   []byte
	version, method, params, result, err []byte
	// arguments refers to the elements or members of params.
	arguments span
	object    bool // the message is an object
	twice     bool // a member that JSON-RPC defines is repeated
	invalid   *Error
}

// An argument is an element of params, or a member with its name, including quotes and escapes.
type argument struct{ name, value []byte }

// A span is a range of a document's arguments.
type span struct{ from, to int }

func (s span) of(all []argument) []argument { return all[s.from:s.to] }

// member returns the field for the member name, or nil if JSON-RPC does not define that member.
func (e *envelope) member(name []byte) *[]byte {
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return nil
}

// isVersion reports whether the envelope declares JSON-RPC 2.0.
func (e *envelope) isVersion() bool {
	return string(e.version) == `"`+versionText+`"` || isString(e.version) && string(stringText(e.version)) == versionText
}

// judge sets invalid unless the envelope is a call. In that case it sets id to the id for the answer: the envelope's
// own if that is usable, otherwise null (section 5: null when the id could not be detected).
func (e *envelope) judge() {
	refuse := func(id []byte, message, reason string) {
		if e.id = id; id == nil {
			e.id = nullText
		}
		e.invalid = NewError(CodeInvalidRequest, message, "reason", reason)
	}
	switch {
	case !e.object:
		refuse(nil, "a call must be an object", "not_an_object")
	case e.id != nil && !isID(e.id):
		refuse(nil, "id must be a string, a number or null", "bad_id")
	case e.twice:
		refuse(nil, "a member of the call is duplicated", "duplicate_member")
	case !e.isVersion():
		refuse(e.id, `jsonrpc must be "2.0"`, "bad_version")
	case !isString(e.method):
		refuse(e.id, "method must be a string", "bad_method")
	case e.params != nil && e.params[0] != '[' && e.params[0] != '{':
		refuse(e.id, "params must be an array or an object", "bad_params")
	}
}

// isID reports whether the valid JSON value raw may be an id: a string, a number or null.
func isID(raw []byte) bool {
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' || raw[0] == 'n'
}

// A document is a text parsed into its messages: one, or a batch.
type document struct {
	scanner
	batch     bool
	count     int        // number of messages
	envelopes []envelope // the first messages
	arguments []argument // arguments of all envelopes
	// mostArguments bounds the arguments that are kept per message.
	mostArguments int
}

// read parses text. It keeps at most the given numbers of messages and of arguments of each. Text that is not a single
// JSON value in UTF-8, nested at most depth levels, is an error.
func (d *document) read(text []byte, mostMessages, mostArguments, depth int) *Error {
	d.scanner = scanner{text: text, limit: depth}
	d.count, d.mostArguments = 0, mostArguments
	d.envelopes, d.arguments = d.envelopes[:0], d.arguments[:0]
	if d.batch = d.token() == '['; !d.batch {
		d.message()
	} else {
		d.enter()
		for first := true; d.more(']', first); first = false {
			if d.count < mostMessages {
				d.message()
			} else {
				d.count++
				d.value()
			}
		}
	}
	d.end()
	return d.err()
}

// given returns the part of the call e that its method receives.
func (d *document) given(e *envelope) given {
	return given{id: e.id, arguments: e.arguments.of(d.arguments)}
}

// forget drops references to the text, so that the document can be reused.
func (d *document) forget() {
	clear(d.envelopes)
	clear(d.arguments)
	d.scanner = scanner{}
}

// message consumes a value and parses it as a message.
func (d *document) message() {
	d.count++
	d.envelopes = append(d.envelopes, envelope{})
	e := &d.envelopes[len(d.envelopes)-1]
	if e.object = d.token() == '{'; !e.object {
		d.value()
		return
	}
	d.enter()
	for first := true; d.more('}', first); first = false {
		name := d.key()
		if name == nil {
			return
		}
		field := e.member(name[1 : len(name)-1])
		if field == nil && !isPlain(name) {
			field = e.member(stringText(name))
		}
		if field == nil {
			d.value()
			continue
		}
		e.twice = e.twice || *field != nil
		if field == &e.params {
			*field = d.parameters(e)
		} else {
			*field = d.value()
		}
	}
}

// parameters consumes the value of params and keeps its first arguments.
func (d *document) parameters(e *envelope) []byte {
	c := d.token()
	if c != '[' && c != '{' {
		return d.value()
	}
	start, from := d.at, len(d.arguments)
	closing := c + 2 // in ASCII
	d.enter()
	for first := true; d.more(closing, first); first = false {
		var a argument
		if c == '{' {
			a.name = d.key()
		}
		a.value = d.value()
		if len(d.arguments)-from < d.mostArguments {
			d.arguments = append(d.arguments, a)
		}
	}
	e.arguments = span{from, len(d.arguments)}
	return d.text[start:d.at]
}

// A call is an outgoing request.
type call struct {
	Version string            `json:"jsonrpc"`
	ID      uint64            `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}
