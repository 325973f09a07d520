package loadgen

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// toyNode is a node whose transactions are the text of a call's one parameter. Each query of the height makes a block
// of the transactions accepted since the last one.
type toyNode struct {
	refuse func(tx string, try int) *CallError // nil: every call is accepted

	mu       sync.Mutex
	tries    map[string]int
	accepted []string // in order
	blocks   [][][32]byte
	reads    int
	sizes    map[int]int // number of requests by their number of calls
}

func hashOf(tx string) [32]byte { return sha256.Sum256([]byte(tx)) }

// toyCall is a call in the form that the toy node reads.
type toyCall struct {
	ID     int       `json:"id"`
	Method string    `json:"method"`
	Params [1]string `json:"params"`
}

func (n *toyNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var calls []toyCall
	batch := body[0] == '['
	if !batch {
		calls = make([]toyCall, 1)
		err = json.Unmarshal(body, &calls[0])
	} else {
		err = json.Unmarshal(body, &calls)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sizes[len(calls)]++
	answers := make([]map[string]any, len(calls))
	for i, c := range calls {
		answers[i] = map[string]any{"jsonrpc": "2.0", "id": c.ID}
		if e := n.take(c); e != nil {
			answers[i]["error"] = e
		} else {
			answers[i]["result"] = c.Params[0]
		}
	}
	var answer any = answers
	if !batch {
		answer = answers[0]
	}
	// net/http sends a long answer in chunks, and a short one with its length.
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

func (n *toyNode) take(c toyCall) *CallError {
	if c.Method == "read" {
		n.reads++
		return nil
	}
	tx := c.Params[0]
	n.tries[tx]++
	if n.refuse != nil {
		if e := n.refuse(tx, n.tries[tx]); e != nil {
			if n.Judge(*e) == Known {
				n.accepted = append(n.accepted, tx)
			}
			return e
		}
	}
	n.accepted = append(n.accepted, tx)
	return nil
}

func (n *toyNode) Height(context.Context) (uint64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var included int
	for _, b := range n.blocks {
		included += len(b)
	}
	if fresh := n.accepted[included:]; len(fresh) > 0 {
		var b [][32]byte
		for _, tx := range fresh {
			b = append(b, hashOf(tx))
		}
		n.blocks = append(n.blocks, b)
	}
	return uint64(len(n.blocks)), nil
}

func (n *toyNode) BlockTransactions(_ context.Context, height uint64) ([][32]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blocks[height-1], nil
}

func (n *toyNode) Transfers(sender, first, count int) (calls []Call, err error) {
	for i := range count {
		tx := fmt.Sprintf("%d:%d", sender, first+i)
		hash := hashOf(tx)
		calls = append(calls, NewCall("send", `["`+tx+`"]`, &hash))
	}
	return calls, nil
}

func (n *toyNode) Read(number int) Call { return NewCall("read", `["`+strconv.Itoa(number)+`"]`, nil) }

func (n *toyNode) Judge(e CallError) Verdict {
	return map[int]Verdict{1: TryAgain, 2: Known}[e.Code]
}

// measure runs a plan against a toy node.
func measure(t *testing.T, n *toyNode, plan Plan, o Options) Report {
	t.Helper()
	n.tries, n.sizes = map[string]int{}, map[int]int{}
	server := httptest.NewServer(n)
	defer server.Close()
	queues, err := Prepare(t.Context(), n, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.URL, o.Settle = server.URL, time.Minute
	report, err := Run(t.Context(), n, plan, queues, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAllTransfersAreSentInTheirSendersOrder(t *testing.T) {
	for _, batch := range []int{1, 7, 1000} {
		t.Run(fmt.Sprintf("batches of %d", batch), func(t *testing.T) {
			n := new(toyNode)
			report := measure(t, n, Plan{Load: Transfers, Connections: 3, Senders: 10, PerSender: 20}, Options{Batch: batch})
			if report.Calls != 200 || report.Inclusion.Accepted != 200 || report.Inclusion.Included != 200 ||
				len(report.Errors) != 0 {
				t.Errorf("report %+v, inclusion %+v", report, report.Inclusion)
			}
			next := map[int]int{}
			for _, tx := range n.accepted {
				var sender, index int
				if _, err := fmt.Sscanf(tx, "%d:%d", &sender, &index); err != nil {
					t.Fatal(err)
				}
				if index != next[sender] {
					t.Fatalf("sender %d: transfer %d came when %d was due", sender, index, next[sender])
				}
				next[sender]++
			}
			var requests, calls int
			for size, count := range n.sizes {
				requests, calls = requests+count, calls+size*count
			}
			if int64(requests) != report.Requests || calls != 200 {
				t.Errorf("%d requests with %d calls, reported %d", requests, calls, report.Requests)
			}
			if l := report.Latency; l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
				t.Errorf("percentiles do not ascend: got %+v", l)
			}
		})
	}
}

func TestRefusedTransfers(t *testing.T) {
	for _, test := range []struct {
		name     string
		code     int
		always   bool
		accepted int64
	}{
		{"are sent again where the node asks for it", 1, false, 40},
		{"count as accepted where the node has them", 2, true, 40},
		{"are lost otherwise", 3, true, 36},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &toyNode{refuse: func(tx string, try int) *CallError {
				if tx[0] == '1' && (test.always || try == 1) { // sender 1's transactions, of ten senders
					return &CallError{Code: test.code, Message: "refused"}
				}
				return nil
			}}
			report := measure(t, n, Plan{Load: Transfers, Connections: 2, Senders: 10, PerSender: 4}, Options{Batch: 5})
			if report.Inclusion.Accepted != test.accepted || report.Calls != test.accepted {
				t.Errorf("%d accepted, %d calls succeeded, want %d", report.Inclusion.Accepted, report.Calls, test.accepted)
			}
			want := []ErrorCount{{Code: strconv.Itoa(test.code), Count: 4, Example: "refused"}}
			if test.code == 2 {
				want = []ErrorCount{}
			}
			if !slices.Equal(report.Errors, want) {
				t.Errorf("errors %v, want %v", report.Errors, want)
			}
		})
	}
}

func TestMixedLoad(t *testing.T) {
	n := new(toyNode)
	report := measure(t, n, Plan{Load: Mixed, Connections: 2, Senders: 3, PerSender: 4}, Options{Batch: 1})
	if report.Calls != 12*(1+readsPerTransfer) || n.reads != 12*readsPerTransfer || report.Inclusion.Included != 12 {
		t.Errorf("%d calls, %d reads, %+v", report.Calls, n.reads, report.Inclusion)
	}
}

func TestReadsGoOnUntilInterrupted(t *testing.T) {
	n := &toyNode{tries: map[string]int{}, sizes: map[int]int{}}
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.ServeHTTP(w, r)
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.reads >= 3*readsPerConnection {
			interrupt()
		}
	}))
	defer server.Close()
	plan := Plan{Load: Reads, Connections: 1, Senders: 1, PerSender: 1}
	queues, err := Prepare(ctx, n, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(ctx, n, plan, queues, Options{URL: server.URL, Batch: 3, Duration: time.Hour})
	if err != nil || !report.Interrupted || report.Calls < 3*readsPerConnection || report.Inclusion != nil {
		t.Errorf("report %+v, error %v", report, err)
	}
	if n.sizes[3] == 0 || len(n.sizes) != 1 {
		t.Errorf("requests by size: got %v", n.sizes)
	}
}

func TestNodeThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	n := new(toyNode)
	plan := Plan{Load: Reads, Connections: 2, Senders: 1, PerSender: 1}
	queues, err := Prepare(t.Context(), n, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), n, plan, queues, Options{URL: server.URL, Batch: 1, Duration: time.Hour})
	if err != nil || report.Calls != 0 || len(report.Errors) != 1 || report.Errors[0].Code != "connection" ||
		report.Errors[0].Count != 2*maxBroken {
		t.Errorf("report %+v, error %v", report, err)
	}
}

func TestStatusesOfHTTP(t *testing.T) {
	n := &toyNode{tries: map[string]int{}, sizes: map[int]int{}}
	var mu sync.Mutex
	var count int
	statuses := []int{http.StatusTooManyRequests, http.StatusOK, http.StatusForbidden}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		status := statuses[min(count, len(statuses)-1)]
		count++
		mu.Unlock()
		if status == http.StatusOK {
			n.ServeHTTP(w, r)
			return
		}
		http.Error(w, "no", status)
	}))
	defer server.Close()
	plan := Plan{Load: Transfers, Connections: 1, Senders: 1, PerSender: 2}
	queues, err := Prepare(t.Context(), n, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), n, plan, queues, Options{URL: server.URL, Batch: 1, Settle: time.Minute})
	want := []ErrorCount{{"HTTP 403", 1, "no"}, {"HTTP 429", 1, "no"}}
	if err != nil || report.Calls != 1 || !slices.Equal(report.Errors, want) {
		t.Errorf("report %+v, error %v", report, err)
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	good := Plan{Load: Transfers, Connections: 1, Senders: 1, PerSender: 1}
	for name, spoil := range map[string]func(*Plan){
		"load":        func(p *Plan) { p.Load = "writes" },
		"connections": func(p *Plan) { p.Connections = 0 },
		"many":        func(p *Plan) { p.Connections = MaxConnections + 1 },
		"senders":     func(p *Plan) { p.Senders = 0 },
		"transfers":   func(p *Plan) { p.PerSender = -1 },
		"memory":      func(p *Plan) { p.Senders, p.PerSender = MaxTransfers, 2 },
	} {
		plan := good
		spoil(&plan)
		if plan.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, o := range map[string]Options{
		"no URL":      {Batch: 1},
		"a file":      {URL: "file:///etc/passwd", Batch: 1},
		"empty batch": {URL: "http://localhost"},
	} {
		if _, err := Run(t.Context(), new(toyNode), good, nil, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
