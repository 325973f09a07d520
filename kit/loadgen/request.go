package loadgen

import (
	"net/url"
	"strconv"
)

// request is an encoded HTTP request, with the calls in its body. The index of a call is its id.
type request struct {
	wire  []byte
	calls []Call
}

// encoder encodes requests to one URL.
type encoder struct {
	prefix string // HTTP request up to the value of Content-Length
	batch  bool
}

// newEncoder returns an encoder for a node. A non-empty token is sent as a bearer token (RFC 6750).
func newEncoder(node *url.URL, token string, batch bool) encoder {
	prefix := "POST " + node.RequestURI() + " HTTP/1.1\r\nHost: " + node.Host + "\r\nContent-Type: application/json\r\n"
	if token != "" {
		prefix += "Authorization: Bearer " + token + "\r\n"
	}
	return encoder{prefix: prefix + "Content-Length: ", batch: batch}
}

// split encodes requests of at most size calls each, in order.
func (e encoder) split(calls []Call, size int) []request {
	requests := make([]request, 0, (len(calls)+size-1)/size)
	for len(calls) > 0 {
		count := min(size, len(calls))
		requests = append(requests, e.encode(calls[:count]))
		calls = calls[count:]
	}
	return requests
}

// encode encodes one request: a batch, or a single call.
func (e encoder) encode(calls []Call) request {
	const frame = len(`{"jsonrpc":"2.0","id":,},`) + 7 // with an id of up to 7 digits
	length := 2
	for _, call := range calls {
		length += len(call.Members) + frame
	}
	body := make([]byte, 0, length)
	if e.batch {
		body = append(body, '[')
	}
	for i, call := range calls {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"jsonrpc":"2.0","id":`...)
		body = strconv.AppendInt(body, int64(i), 10)
		body = append(body, ',')
		body = append(body, call.Members...)
		body = append(body, '}')
	}
	if e.batch {
		body = append(body, ']')
	}
	wire := make([]byte, 0, len(e.prefix)+16+len(body))
	wire = append(wire, e.prefix...)
	wire = strconv.AppendInt(wire, int64(len(body)), 10)
	wire = append(wire, "\r\n\r\n"...)
	return request{wire: append(wire, body...), calls: calls}
}
