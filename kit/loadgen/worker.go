package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// retryPause is how long a connection rests when the node takes nothing at present.
	retryPause = 50 * time.Millisecond
	// maxBroken is how many requests in a row may fail before a connection is given up.
	maxBroken = 3
)

// submission is what became of a transaction. Its connection's worker writes it; the inclusion is read after the
// workers ended.
type submission struct {
	sent     time.Duration // when it was due, or was first sent
	accepted bool
}

// worker is one connection's part of a run.
type worker struct {
	dialer   dialer
	encoder  encoder
	clock    clock
	schedule schedule
	judge    func(CallError) Verdict
	queue
	// submissions are those of the run. Workers share the map and only read it: each writes its own transactions' entries.
	submissions map[[32]byte]*submission

	conn   *conn
	broken int
	tally
}

// queue is what a worker has to send.
type queue struct {
	requests []request
	repeat   bool      // start again after the last request, as reads do
	next     int       // of requests
	again    []request // refused, and worth another try; they come first
}

// tally is what a worker counts.
type tally struct {
	latency *hdrhistogram.Histogram // of requests, in ns
	errors  map[string]*ErrorCount
	last    time.Duration // when the latest answer came

	requestCount, done, failed atomic.Int64 // requests answered; calls that succeeded; errors
}

// newHistogram counts latencies from 1 µs to 10 min with two digits: under 1 % off.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(10*time.Minute), 2)
}

// run sends the worker's requests until they are done, ctx ends, or the node cannot be reached.
func (w *worker) run(ctx context.Context) {
	defer w.disconnect()
	for index := 0; ; index++ {
		r, ok := w.take()
		if !ok {
			return
		}
		at, ok := w.schedule.arrival(ctx, w.clock, index)
		if !ok {
			return
		}
		w.stamp(r, at)
		status, body, err := w.exchange(ctx, r)
		if err != nil {
			if !w.recover(ctx, r, err) {
				return
			}
			continue
		}
		w.broken = 0
		w.last = w.clock.now()
		w.requestCount.Add(1)
		// A latency beyond the histogram's is beyond the time limit of an answer.
		_ = w.latency.RecordValue(int64(w.last - at))
		if !w.settle(r, status, body) && !w.clock.waitUntil(ctx, w.last+retryPause) {
			return
		}
	}
}

// take is the next request.
func (q *queue) take() (request, bool) {
	if len(q.again) > 0 {
		r := q.again[0]
		q.again = q.again[1:]
		return r, true
	}
	if q.next == len(q.requests) && q.repeat {
		q.next = 0
	}
	if q.next == len(q.requests) {
		return request{}, false
	}
	q.next++
	return q.requests[q.next-1], true
}

// stamp notes when a request's transactions were sent for the first time.
func (w *worker) stamp(r request, at time.Duration) {
	for _, call := range r.calls {
		if call.Transaction != nil {
			if s := w.submissions[*call.Transaction]; s.sent == 0 {
				s.sent = max(at, 1)
			}
		}
	}
}

// exchange sends a request, on a new connection where there is none.
func (w *worker) exchange(ctx context.Context, r request) (status int, body []byte, err error) {
	if w.conn != nil && w.conn.close {
		w.disconnect()
	}
	if w.conn == nil {
		if w.conn, err = w.dialer.dial(ctx); err != nil {
			return 0, nil, err
		}
	}
	return w.conn.roundTrip(r.wire)
}

func (w *worker) disconnect() {
	if w.conn != nil {
		_ = w.conn.Close() // nothing is lost: every answer was read
		w.conn = nil
	}
}

// recover counts a broken exchange and lets the request be sent again. It reports whether to go on.
func (w *worker) recover(ctx context.Context, r request, err error) bool {
	w.disconnect()
	w.count("connection", err.Error(), 1)
	w.broken++
	w.again = append([]request{r}, w.again...)
	return w.broken < maxBroken && w.clock.waitUntil(ctx, w.clock.now()+retryPause)
}

// settle notes what an answer says of its calls; those to be sent again are put first. It reports false where the node
// takes nothing at present.
func (w *worker) settle(r request, status int, body []byte) bool {
	if status != http.StatusOK {
		w.count(fmt.Sprintf("HTTP %d", status), string(bytes.TrimSpace(body[:min(len(body), 200)])), len(r.calls))
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			return true
		}
		w.again = append([]request{r}, w.again...)
		return false
	}
	if !bytes.Contains(body, errorMember) {
		w.accept(r.calls...)
		return true
	}
	errors, err := failures(body, len(r.calls))
	if err != nil {
		w.count("answer", err.Error(), len(r.calls))
		return true
	}
	var again []Call
	for i, call := range r.calls {
		e, failed := errors[i]
		if !failed {
			w.accept(call)
			continue
		}
		switch w.judge(e) {
		case Known:
			w.accept(call)
		case TryAgain:
			again = append(again, call)
			w.count(strconv.Itoa(e.Code), e.Message, 1)
		default:
			w.count(strconv.Itoa(e.Code), e.Message, 1)
		}
	}
	if len(again) > 0 {
		w.again = append([]request{w.encoder.encode(again)}, w.again...)
	}
	return len(again) == 0
}

// accept counts calls that succeeded.
func (w *worker) accept(calls ...Call) {
	w.done.Add(int64(len(calls)))
	for _, call := range calls {
		if call.Transaction != nil {
			w.submissions[*call.Transaction].accepted = true
		}
	}
}

// count counts an error n times.
func (w *worker) count(code, example string, n int) {
	w.failed.Add(int64(n))
	e, ok := w.errors[code]
	if !ok {
		e = &ErrorCount{Code: code, Example: example}
		w.errors[code] = e
	}
	e.Count += int64(n)
}
