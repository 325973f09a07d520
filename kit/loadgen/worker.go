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
	// retryPause is the pause of a connection when the node is temporarily unable to accept calls.
	retryPause = 50 * time.Millisecond
	// maxBroken is the number of consecutive failed requests after which a worker gives up.
	maxBroken = 3
)

// submission is the progress of a transaction. The worker of its connection writes it; inclusion is evaluated after the
// workers have ended.
type submission struct {
	sent     time.Duration // when it was due, or first sent
	accepted bool
}

// worker sends one connection's part of a run.
type worker struct {
	dialer   dialer
	encoder  encoder
	clock    clock
	schedule schedule
	judge    func(CallError) Verdict
	queue
	// submissions holds all transactions of the run. Workers share the map without writing to it: each updates only the
	// entries of its own transactions.
	submissions map[[32]byte]*submission

	conn   *conn
	broken int

	// What the worker counts:
	latency *hdrhistogram.Histogram // per request, in ns
	errors  map[string]*ErrorCount
	last    time.Duration // time of the latest response

	requestCount, done, failed atomic.Int64 // requests with a response; successful calls; errors
}

// queue holds the requests that a worker has to send.
type queue struct {
	requests []request
	repeat   bool      // restart after the last request, for reads
	next     int       // index of the next request
	again    []request // refused requests to retry, sent first
}

// newHistogram returns a histogram of latencies from 1 µs to 10 min with two significant digits: an error under 1 %.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(10*time.Minute), 2)
}

// run sends the worker's requests until they are done, ctx ends, or the node is unreachable.
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
		// Latencies beyond the histogram's range exceed the time limit of a response.
		_ = w.latency.RecordValue(int64(w.last - at))
		if !w.settle(r, status, body) && !w.clock.waitUntil(ctx, w.last+retryPause) {
			return
		}
	}
}

// take removes and returns the next request.
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

// stamp records the time at which a request's transactions were first sent.
func (w *worker) stamp(r request, at time.Duration) {
	for _, call := range r.calls {
		if call.Transaction != nil {
			if s := w.submissions[*call.Transaction]; s.sent == 0 {
				s.sent = max(at, 1)
			}
		}
	}
}

// exchange sends a request, on a new connection if necessary.
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
		_ = w.conn.Close() // nothing is lost: every response was read
		w.conn = nil
	}
}

// recover counts a failed exchange and queues the request again. It reports whether to continue.
func (w *worker) recover(ctx context.Context, r request, err error) bool {
	w.disconnect()
	w.count("connection", err.Error(), 1)
	w.broken++
	w.again = append([]request{r}, w.again...)
	return w.broken < maxBroken && w.clock.waitUntil(ctx, w.clock.now()+retryPause)
}

// settle records the results of a request's calls, and queues those to retry first. It returns false if the node is
// temporarily unable to accept calls.
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

// accept counts successful calls.
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
