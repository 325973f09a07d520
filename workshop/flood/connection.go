package main

import (
	"bufio"
	"bytes"
	"context"
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
	// answerTime is how long an answer may take: more than the 30 s that the node gives a request.
	answerTime = 45 * time.Second
	maxAnswer  = 100 << 20
	// shortAnswer is how much of an answer is looked at by who only skims, wasteBytes how much is read at a time.
	shortAnswer, wasteBytes = 512, 64 << 10
)

// What becomes of a request is counted under a word: okay, the code and the reason of a JSON-RPC error, or the status
// of another HTTP answer. Other words are for a connection closed without an answer, and for one that hung.
const (
	okay   = "ok"
	closed = "closed"
	hung   = "hung"
)

// request is what an attacker sends at once, and what is right to answer.
type request struct {
	wire []byte
	// wants are the right outcomes of each call in turn; the last is that of all further ones too.
	wants [][]string
	// upgraded is sent once the node has agreed to a WebSocket.
	upgraded []byte
	// fresh asks for a connection of its own, from another address.
	fresh bool
}

// post is a request over HTTP with a body, all of whose calls have one of the right outcomes.
func post(body []byte, right ...string) request { return postWith("", body, right...) }

// postWith is post with more header fields, each with its line end.
func postWith(fields string, body []byte, right ...string) request {
	wire := fmt.Appendf(
		nil,
		"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
		fields,
		len(body),
	)
	return request{wire: append(wire, body...), wants: [][]string{right}}
}

// addresses counts the addresses that connections came from.
var addresses atomic.Uint32

// nextAddress is another address of 127.1.0.0 to 127.127.255.255; honest users and proxies have others.
func nextAddress() net.IP {
	i := addresses.Add(1)
	return net.IPv4(127, byte(1+i>>16&0x7e), byte(i>>8), byte(i))
}

// link is a connection to the node that ends with a context.
type link struct {
	net.Conn
	reader *bufio.Reader
	stop   func() bool
	waste  []byte // where what nobody looks at is read to
}

// dial connects to the node from an address.
func (n *node) dial(ctx context.Context, from net.IP) (*link, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: answerTime}
	c, err := dialer.DialContext(ctx, "tcp", n.address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // it may be closed already
	return &link{Conn: c, reader: bufio.NewReader(c), stop: stop}, nil
}

// end closes the connection; an attacker has no use for an error.
func (l *link) end() {
	l.stop()
	_ = l.Close()
}

// exchange sends a request and returns what became of it, one outcome for each call, and whether the connection goes
// on.
func (l *link) exchange(wire []byte) (outcomes []string, goesOn bool) {
	if err := l.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return []string{closed}, false
	}
	// A server may answer, and close, before it has read all: what counts is the answer.
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

// noAnswer is the outcome of a request whose answer an error ended.
func noAnswer(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return hung
	}
	return closed
}

// skim sends a request and returns what became of it, of which only the begin of an answer is looked at, and whether
// the connection goes on.
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
	case !errors.Is(err, io.EOF):
		return noAnswer(err), false
	case response.StatusCode != http.StatusOK:
		outcome = "HTTP " + strconv.Itoa(response.StatusCode)
	}
	return outcome, writeErr == nil && !response.Close
}

// leave sends a request whose answer is left unread, and returns what became of it: okay where that is not known.
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

// answer is one answer of JSON-RPC.
type answer struct {
	Result json.RawMessage
	Error  *struct {
		Code int
		Data struct{ Reason string }
	}
}

// outcomesOf are the outcomes that a body tells.
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

// maxExamples is how many wrong answers are told in full.
const maxExamples = 5

// tally counts what became of an attack's requests.
type tally struct {
	lenient []string // outcomes that are right for every request of the round

	mu       sync.Mutex
	requests int
	outcomes map[string]int
	wrong    int
	examples []string
}

// count counts the outcomes of a request, and holds them against the right ones. What is no answer to a batch as a
// whole must be one to each call.
func (t *tally) count(r *request, outcomes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	for i, outcome := range outcomes {
		t.outcomes[outcome]++
		right := r.wants[min(i, len(r.wants)-1)]
		if slices.Contains(right, outcome) || slices.Contains(t.lenient, outcome) {
			continue
		}
		t.wrong++
		if len(t.examples) < maxExamples {
			t.examples = append(t.examples, fmt.Sprintf("%q for call %d instead of %q: %s", outcome, i, right, excerpt(r.wire)))
		}
	}
}

// excerpt is the beginning of a request's body, or of its head where there is none.
func excerpt(wire []byte) string {
	if _, body, found := bytes.Cut(wire, []byte("\r\n\r\n")); found && len(body) > 0 {
		wire = body
	}
	return fmt.Sprintf("%.120q", wire)
}

// note counts an outcome that is right.
func (t *tally) note(outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	t.outcomes[outcome]++
}

// fail counts an outcome that is wrong.
func (t *tally) fail(outcome, example string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	t.outcomes[outcome]++
	t.wrong++
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, example)
	}
}
