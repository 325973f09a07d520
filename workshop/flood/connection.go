package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// answerTime limits the time of a response: more than the 30 s that the node allows a request.
	answerTime = 45 * time.Second
	maxAnswer  = 100 << 20
	// shortAnswer is the part of a response that skim examines, in bytes, and wasteBytes the size of its reads.
	shortAnswer, wasteBytes = 512, 64 << 10
)

// Outcomes of a request. Others are the code and reason of a JSON-RPC error, and the status of an HTTP response. closed
// is a connection closed without a response, cut one closed during a response, and hung one that timed out.
const (
	okay   = "ok"
	closed = "closed"
	cut    = "cut off"
	hung   = "hung"
)

// request is a request of an attacker, with its correct outcomes.
type request struct {
	wire []byte
	// wants holds the correct outcomes of each call in turn. The last element also applies to all further calls.
	wants [][]string
	// upgraded is sent after the upgrade to a WebSocket.
	upgraded []byte
	// fresh requests a new connection, from another address.
	fresh bool
}

// post returns an HTTP request with a body, all of whose calls must have one of the given outcomes.
func post(body []byte, right ...string) request { return postWith("", body, right...) }

// postWith is like post, with more header fields, each with its line end.
func postWith(fields string, body []byte, right ...string) request {
	wire := fmt.Appendf(
		nil, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
		fields, len(body),
	)
	return request{wire: append(wire, body...), wants: [][]string{right}}
}

// addresses counts the source addresses used.
var addresses atomic.Uint32

// nextAddress returns an unused address of 127.1.0.0 to 127.127.255.255. Honest users and proxies have others.
func nextAddress() net.IP {
	i := addresses.Add(1)
	return net.IPv4(127, byte(1+i>>16&0x7e), byte(i>>8), byte(i))
}

// link is a connection to the node, closed when a context ends.
type link struct {
	net.Conn
	tcp    *net.TCPConn // below TLS
	reader *bufio.Reader
	stop   func() bool
	waste  []byte // buffer for data that is discarded
}

// dial connects to the node from an address, over TLS if the node speaks it.
func (n *node) dial(ctx context.Context, from net.IP) (*link, error) {
	l, err := n.dialTCP(ctx, from)
	if err == nil && n.secured {
		secured := tls.Client(l.tcp, &tls.Config{InsecureSkipVerify: true})
		if err = secured.HandshakeContext(ctx); err != nil {
			l.end()
			return nil, err
		}
		l.Conn, l.reader = secured, bufio.NewReader(secured)
	}
	return l, err
}

// dialTCP is dial without TLS.
func (n *node) dialTCP(ctx context.Context, from net.IP) (*link, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: answerTime}
	c, err := dialer.DialContext(ctx, "tcp", n.address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // it may be closed already
	return &link{Conn: c, tcp: c.(*net.TCPConn), reader: bufio.NewReader(c), stop: stop}, nil
}

// end closes the connection, ignoring errors.
func (l *link) end() {
	l.stop()
	_ = l.Close()
}

// exchange sends a request and returns its outcomes, one per call, and whether the connection stays open.
func (l *link) exchange(wire []byte) (outcomes []string, goesOn bool) {
	if err := l.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return []string{closed}, false
	}
	// A server may respond and close before it has read everything; the response counts.
	_, writeErr := l.Write(wire)
	response, err := http.ReadResponse(l.reader, nil)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	}
	switch {
	case err != nil:
		return []string{noAnswer(err)}, false
	case response.StatusCode != http.StatusOK:
		outcomes = []string{"HTTP " + strconv.Itoa(response.StatusCode)}
	default:
		outcomes = outcomesOf(body)
	}
	return outcomes, writeErr == nil && !response.Close
}

// noAnswer returns the outcome of a request whose response failed with an error.
func noAnswer(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return hung
	}
	return closed
}

// skim sends a request and returns its outcome, judged by the beginning of the response, and whether the connection
// stays open.
func (l *link) skim(wire []byte) (outcome string, goesOn bool) {
	if err := l.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return closed, false
	}
	_, writeErr := l.Write(wire)
	method, _, _ := strings.Cut(string(wire[:16]), " ")
	response, err := http.ReadResponse(l.reader, &http.Request{Method: method})
	if err != nil {
		return noAnswer(err), false
	}
	if l.waste == nil {
		l.waste = make([]byte, wasteBytes)
	}
	first := 0
	for err == nil && first < shortAnswer {
		var n int
		n, err = response.Body.Read(l.waste[first:])
		first += n
	}
	outcome = okay
	if err != nil && first > 0 && response.StatusCode == http.StatusOK {
		outcome = outcomesOf(l.waste[:first])[0]
	}
	for err == nil {
		_, err = response.Body.Read(l.waste)
	}
	switch {
	case !errors.Is(err, io.EOF) && first > 0 && !errors.Is(err, os.ErrDeadlineExceeded):
		return cut, false
	case !errors.Is(err, io.EOF):
		return noAnswer(err), false
	case response.StatusCode != http.StatusOK:
		outcome = "HTTP " + strconv.Itoa(response.StatusCode)
	}
	return outcome, writeErr == nil && !response.Close
}

// leave sends a request without reading the response. It returns the outcome, or okay if that is unknown.
func (l *link) leave(r *request) string {
	if err := l.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return closed
	}
	_, err := l.Write(r.wire)
	if err == nil && r.upgraded != nil {
		var response *http.Response
		if response, err = http.ReadResponse(l.reader, nil); err == nil {
			if response.StatusCode != http.StatusSwitchingProtocols {
				return "HTTP " + strconv.Itoa(response.StatusCode)
			}
			_, err = l.Write(r.upgraded)
		}
	}
	if err != nil {
		return noAnswer(err)
	}
	return okay
}

// answer is a JSON-RPC response.
type answer struct {
	Result json.RawMessage
	Error  *struct {
		Code int
		Data struct{ Reason string }
	}
}

// outcomesOf returns the outcomes in a response body.
func outcomesOf(body []byte) []string {
	answers := make([]answer, 1)
	var err error
	if bytes.HasPrefix(body, []byte("[")) {
		err = json.Unmarshal(body, &answers)
	} else {
		err = json.Unmarshal(body, &answers[0])
	}
	if err != nil {
		return []string{"no JSON-RPC"}
	}
	outcomes := make([]string, len(answers))
	for i, a := range answers {
		switch {
		case a.Error == nil && a.Result != nil:
			outcomes[i] = okay
		case a.Error != nil && a.Error.Data.Reason != "":
			outcomes[i] = fmt.Sprintf("%d %s", a.Error.Code, a.Error.Data.Reason)
		case a.Error != nil:
			outcomes[i] = strconv.Itoa(a.Error.Code)
		default:
			outcomes[i] = "neither result nor error"
		}
	}
	return outcomes
}

// maxExamples bounds the number of wrong responses that are reported in full.
const maxExamples = 5

// counts are the numbers of an attack's requests and of their outcomes.
type counts struct {
	Requests int
	Outcomes map[string]int
	Wrong    int
	Examples []string
}

// tally counts the outcomes of an attack's requests.
type tally struct {
	lenient []string // outcomes that are correct for every request of the round

	mu sync.Mutex // guards the fields below
	counts
}

// count counts the outcomes of a request, and compares them with the correct ones. A response that does not answer a
// batch as a whole must answer each call.
func (t *tally) count(r *request, outcomes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Requests++
	for i, outcome := range outcomes {
		t.Outcomes[outcome]++
		right := r.wants[min(i, len(r.wants)-1)]
		if slices.Contains(right, outcome) || slices.Contains(t.lenient, outcome) {
			continue
		}
		t.Wrong++
		if len(t.Examples) < maxExamples {
			t.Examples = append(t.Examples, fmt.Sprintf("%q for call %d instead of %q: %s", outcome, i, right, excerpt(r.wire)))
		}
	}
}

// excerpt returns the beginning of a request's body, or of its header if it has no body.
func excerpt(wire []byte) string {
	if _, body, found := bytes.Cut(wire, []byte("\r\n\r\n")); found && len(body) > 0 {
		wire = body
	}
	return fmt.Sprintf("%.120q", wire)
}

// note counts a correct outcome.
func (t *tally) note(outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Requests++
	t.Outcomes[outcome]++
}

// fail counts a wrong outcome.
func (t *tally) fail(outcome, example string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Requests++
	t.Outcomes[outcome]++
	t.Wrong++
	if len(t.Examples) < maxExamples {
		t.Examples = append(t.Examples, example)
	}
}
