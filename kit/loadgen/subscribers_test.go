package loadgen

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// frame is a WebSocket frame of a server.
func frame(opcode byte, fin bool, payload string) []byte {
	head := []byte{opcode, byte(len(payload))}
	if fin {
		head[0] |= 0x80
	}
	switch {
	case len(payload) > 1<<16-1:
		head[1] = 127
		head = binary.BigEndian.AppendUint64(head, uint64(len(payload)))
	case len(payload) > 125:
		head[1] = 126
		head = binary.BigEndian.AppendUint16(head, uint16(len(payload)))
	}
	return append(head, payload...)
}

// sink is a connection that accepts and keeps all writes.
type sink struct {
	net.Conn
	bytes.Buffer
}

func (s *sink) Read(p []byte) (int, error)  { return s.Buffer.Read(p) }
func (s *sink) Write(p []byte) (int, error) { return s.Buffer.Write(p) }

// socketOf returns a socket that reads a server's bytes.
func socketOf(sent []byte) (*socket, *sink) {
	out := new(sink)
	return &socket{
		Conn: out, reader: bufio.NewReaderSize(bytes.NewReader(sent), socketBuffer), begin: make([]byte, 0, keptMessage),
	}, out
}

func TestMessagesOfAServer(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	for _, test := range []struct {
		name  string
		sent  []byte
		want  []string // the beginnings of the messages
		end   error
		pongs string
	}{
		{"short ones", append(frame(opText, true, "a"), frame(opText, true, "")...), []string{"a", ""}, io.EOF, ""},
		{
			"longer ones", append(frame(opText, true, long[:300]), frame(opText, true, long)...),
			[]string{long[:300], long[:keptMessage]}, io.EOF, "",
		},
		{"fragments with a ping between them", bytes.Join([][]byte{
			frame(opText, false, long[:400]), frame(opPing, true, "?"), frame(
				opContinuation, false, long[400:],
			), frame(opContinuation, true, "")}, nil),
			[]string{long[:keptMessage]}, io.EOF, "\x8a\x81\x00\x00\x00\x00?"},
		{
			"a close", append(frame(opText, true, "a"), frame(opClose, true, "\x03\xf0slow")...), []string{"a"},
			closed{1008, "slow"}, "",
		},
		{"a close without a code", frame(opClose, true, ""), nil, closed{code: 1005}, ""},
		{"a masked one", []byte{0x81, 0x81, 0, 0, 0, 0, 'a'}, nil, errFrame, ""},
		{"a compressed one", []byte{0xc1, 1, 'a'}, nil, errFrame, ""},
		{"a binary one", frame(2, true, "a"), nil, errFrame, ""},
		{"a huge one", []byte{0x81, 127, 1, 0, 0, 0, 0, 0, 0, 0}, nil, errFrame, ""},
		{"a long ping", frame(opPing, true, long[:126]), nil, errFrame, ""},
		{"half a one", frame(opText, true, "ab")[:3], nil, io.ErrUnexpectedEOF, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, out := socketOf(test.sent)
			for i, want := range test.want {
				if got, err := s.message(); err != nil || string(got) != want {
					t.Fatalf("message %d: %.40q, %v, want %.40q", i, got, err, want)
				}
			}
			if _, err := s.message(); !errors.Is(err, test.end) {
				t.Errorf("at the end %v, want %v", err, test.end)
			}
			if out.String() != test.pongs {
				t.Errorf("answered %q, want %q", out, test.pongs)
			}
		})
	}
}

func FuzzSocket(f *testing.F) {
	f.Add(frame(opText, true, `{"params":{"result":{"height":3,"hash":""}}}`))
	f.Add(append(frame(opText, false, "ab"), frame(opContinuation, true, "c")...))
	f.Add(append(frame(opPing, true, "?"), frame(opClose, true, "\x03\xe8bye")...))
	f.Add([]byte{0x81, 127, 0, 0, 0, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		socket, _ := socketOf(sent)
		s := &subscriber{socket: socket, transactions: map[[32]byte]time.Duration{}}
		s.listen(time.Now())
		if s.ended == nil || s.count > int64(len(sent)) || len(socket.begin) > keptMessage {
			t.Errorf("%d notifications in %d bytes, ended with %v", s.count, len(sent), s.ended)
		}
	})
}

func TestReadMetrics(t *testing.T) {
	got, err := readMetrics(strings.NewReader("# HELP a b\n# TYPE a gauge\na 1.5e+03\nb{c=\"d\"} 2\n\ne 3 1700000000\n"))
	if err != nil || len(got) != 2 || got["a"] != 1500 || got["e"] != 3 {
		t.Errorf("got %v, error %v", got, err)
	}
	if _, err := readMetrics(strings.NewReader("a x\n")); err == nil {
		t.Error("a metric that is no number is taken")
	}
}

func TestReadMetricsOfANode(t *testing.T) {
	body, status := "a 1\nb{c=\"d\"} 2\n", http.StatusOK
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // a reader that has seen enough leaves
	}))
	defer node.Close()
	read := func(names ...string) (map[string]float64, error) { return ReadMetrics(t.Context(), node.URL, names...) }
	if got, err := read("a"); err != nil || len(got) != 1 || got["a"] != 1 {
		t.Errorf("got %v, error %v", got, err)
	}
	if got, err := read("a", "b"); err == nil || !strings.Contains(err.Error(), "no metric b") {
		t.Errorf("a metric that is missing: got %v, error %v, want an error with %q", got, err, "no metric b")
	}
	body = strings.Repeat("a 1\n", maxMetrics/4) + "a 2\n"
	if got, err := read(); err == nil {
		t.Errorf("more than may be read gives %v", got)
	}
	body, status = "a 1\n", http.StatusNotFound
	if got, err := read(); err == nil {
		t.Errorf("an answer that there are none gives %v", got)
	}
}

// pushNode is a toy node that takes WebSocket connections, and leaves the notifications to the test.
type pushNode struct {
	toyNode
	subscribed chan net.Conn
	refuse     int // HTTP status of handshakes; 0: they succeed
}

func (n *pushNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ws" {
		n.toyNode.ServeHTTP(w, r)
		return
	}
	if n.refuse != 0 {
		http.Error(w, "not now", n.refuse)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(
		conn,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		acceptOf(r.Header.Get("Sec-WebSocket-Key")),
	)
	var head [8]byte // header of a masked frame with a length of two bytes
	if _, err := io.ReadFull(buffered, head[:2]); err != nil {
		panic(err)
	}
	length := int(head[1] & 0x7f)
	if length == 126 {
		if _, err := io.ReadFull(buffered, head[:2]); err != nil {
			panic(err)
		}
		length = int(binary.BigEndian.Uint16(head[:2]))
	}
	if _, err := io.CopyN(io.Discard, buffered, int64(4+length)); err != nil {
		panic(err)
	}
	_, _ = conn.Write(frame(opText, true, `[{"jsonrpc":"2.0","id":1,"result":"0x1"}]`))
	n.subscribed <- conn
}

// TestWhatSubscribersMiss has three subscribers: one gets every block, one misses a block and gets another twice, and
// one is disconnected.
func TestWhatSubscribersMiss(t *testing.T) {
	n := &pushNode{subscribed: make(chan net.Conn, 3)}
	server := httptest.NewServer(n)
	defer server.Close()
	node, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	n.accepted = []string{"genesis"} // makes the head block 1
	a, err := gather(t.Context(), n, Options{Audience: Audience{Subscribers: 3}}, dialer{node: node})
	if err != nil {
		t.Fatal(err)
	}
	for i, heights := range [][]int{{2, 3, 4}, {2, 2, 4}, {2}} {
		conn := <-n.subscribed
		for _, height := range heights {
			text := fmt.Sprintf(
				`{"jsonrpc":"2.0","method":"svc_subscription","params":{"subscription":"0x1","result":{"height":%d,"hash":"0x00"}}}`,
				height,
			)
			if _, err := conn.Write(frame(opText, true, text)); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 {
			if _, err := conn.Write(frame(opClose, true, "\x03\xf0slow reader")); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The head becomes block 4, for which settle waits.
	n.mu.Lock()
	n.blocks = make([][][32]byte, 4)
	n.accepted = nil
	n.mu.Unlock()
	if head, err := a.settle(t.Context(), 0, time.Minute); head != 4 || err != nil {
		t.Fatalf("head %d, want 4, error %v", head, err)
	}
	r := a.end(4, nil, a.start)
	if r.Subscribers != 3 || r.Blocks != 3 || r.Missed != 1+2 || r.Repeated != 1 || r.Notifications != 7 {
		t.Errorf("report %+v", r)
	}
	if len(r.Lost) != 1 || r.Lost[0] != (ErrorCount{"1008", 1, "slow reader"}) {
		t.Errorf("lost %+v", r.Lost)
	}
}

func TestSubscribersWhoAreRefused(t *testing.T) {
	n := &pushNode{refuse: http.StatusServiceUnavailable}
	server := httptest.NewServer(n)
	defer server.Close()
	plan := Plan{Load: Subscribers, Connections: 1, Senders: 1, PerSender: 1}
	o := Options{URL: server.URL, Batch: 1, Audience: Audience{Subscribers: 2}}
	if _, err := Run(t.Context(), n, plan, nil, o); err == nil ||
		!strings.Contains(err.Error(), "503 Service Unavailable: not now") {
		t.Errorf("refused: error %v", err)
	}
	for _, bad := range []Audience{
		{}, {Subscribers: 1, Stalled: 2}, {Subscribers: 1, Pending: -1}, {Subscribers: MaxConnections + 1},
	} {
		o.Audience = bad
		if _, err := Run(t.Context(), n, plan, nil, o); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
