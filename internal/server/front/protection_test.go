package front

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cairn-chain/cairn/internal/server/request"
)

// scripted is a connection whose client sends pieces and then stays silent: a further read times out. It records the
// deadlines relative to a stopped clock.
type scripted struct {
	net.Conn
	from      netip.AddrPort
	pieces    []string
	now       time.Time
	reads     []time.Duration // the deadlines of the reads, as they were set
	deadline  time.Time
	writeTime time.Duration
	written   strings.Builder
	stuck     bool // the client reads nothing
}

func (c *scripted) Read(p []byte) (int, error) {
	c.reads = append(c.reads, c.deadline.Sub(c.now))
	if len(c.pieces) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, c.pieces[0])
	if c.pieces[0] = c.pieces[0][n:]; c.pieces[0] == "" {
		c.pieces = c.pieces[1:]
	}
	return n, nil
}

func (c *scripted) Write(p []byte) (int, error) {
	if c.stuck {
		return 0, os.ErrDeadlineExceeded
	}
	return c.written.Write(p)
}

func (c *scripted) RemoteAddr() net.Addr                { return net.TCPAddrFromAddrPort(c.from) }
func (c *scripted) SetReadDeadline(at time.Time) error  { c.deadline = at; return nil }
func (c *scripted) SetWriteDeadline(at time.Time) error { c.writeTime = at.Sub(c.now); return nil }
func (c *scripted) Close() error                        { return nil }

// script runs a connection's loop to its end.
func script(t *testing.T, stuck bool, pieces ...string) (*scripted, Stats) {
	s := prepare(t, Config{})
	c := &scripted{pieces: pieces, now: time.Now(), stuck: stuck, from: netip.MustParseAddrPort("192.0.2.1:1")}
	s.now = func() time.Time { return c.now }
	s.serve(s.accept(c))
	return c, s.Stats()
}

func TestSlowClientsMeetDeadlines(t *testing.T) {
	long := strings.Replace(plain, "Length: 2", fmt.Sprint("Length: ", 20*bodyRate), 1)
	piece := strings.Repeat(" ", bodyRate)
	for name, test := range map[string]struct {
		pieces   []string
		reads    []time.Duration
		timeouts uint64
	}{
		"silent": {nil, []time.Duration{idleTimeout}, 0},
		"preamble drop by drop": {
			[]string{"P", "O", "S"}, []time.Duration{idleTimeout, preambleTimeout, preambleTimeout, preambleTimeout}, 1,
		},
		"no body":             {[]string{post("{}")[:len(post("{}"))-2]}, []time.Duration{idleTimeout, bodyTimeout}, 1},
		"half a body":         {[]string{with("A: b"), "{"}, []time.Duration{idleTimeout, bodyTimeout, bodyTimeout}, 1},
		"none of a long body": {[]string{long}, []time.Duration{idleTimeout, bodyTimeout}, 1},
		"silent after a call": {[]string{post("{}")}, []time.Duration{idleTimeout, idleTimeout}, 0},
		"slow after a call":   {[]string{post("{}"), "P"}, []time.Duration{idleTimeout, idleTimeout, preambleTimeout}, 1},
		"slow in a pipeline":  {[]string{post("{}") + "P"}, []time.Duration{idleTimeout, preambleTimeout}, 1},
		"idle after slow":     {[]string{"P", post("{}")[1:]}, []time.Duration{idleTimeout, preambleTimeout, idleTimeout}, 0},
	} {
		c, stats := script(t, false, test.pieces...)
		if !slices.Equal(c.reads, test.reads) || stats.Timeouts != test.timeouts || stats.Open != 0 {
			t.Errorf("%s: reads %v, %+v", name, c.reads, stats)
		}
	}
	// The received part of a body extends the deadline for the rest.
	c, stats := script(t, false, long, piece, piece, piece)
	if last := c.reads[len(c.reads)-1]; last != bodyTimeout+3*time.Second || stats.Timeouts != 1 {
		t.Errorf("%v for a fourth second's worth, %+v", last, stats)
	}
}

func TestStuckReader(t *testing.T) {
	c, stats := script(t, true, post("{}"), post("{}"))
	if c.writeTime != writeTimeout || stats.Timeouts != 1 || len(c.pieces) != 1 || stats.Open != 0 {
		t.Errorf("deadline %v, %+v", c.writeTime, stats)
	}
}

// A client must read a large answer as steadily as it must send a body.
func TestStuckReaderOfALargeAnswer(t *testing.T) {
	large := post(strings.Repeat("x", 3*bodyRate))
	c, stats := script(t, true, large)
	if c.writeTime != bodyTimeout || stats.Timeouts != 1 || stats.Open != 0 || stats.Memory != 0 {
		t.Errorf("deadline %v, %+v", c.writeTime, stats)
	}
	c, stats = script(t, false, large)
	if c.writeTime != bodyTimeout+3*time.Second || stats.Timeouts != 0 || c.written.Len() < 3*bodyRate {
		t.Errorf("deadline %v, %d bytes, %+v", c.writeTime, c.written.Len(), stats)
	}
}

// Clients must read net/http's answers as steadily.
func TestStuckReaderOfNetHTTP(t *testing.T) {
	s := prepare(t, Config{})
	now := time.Now()
	s.now = func() time.Time { return now }
	var deadlines []time.Duration
	w := &steadyWriter{ResponseWriter: httptest.NewRecorder(), server: s, ticket: new(Ticket)}
	w.control = http.NewResponseController(deadlined{
		w.ResponseWriter, func(at time.Time) { deadlines = append(deadlines, at.Sub(now)) },
	})
	for range 2 {
		if n, err := w.Write(make([]byte, bodyRate+1)); n != bodyRate+1 || err != nil {
			t.Errorf("%d bytes, error %v", n, err)
		}
	}
	want := []time.Duration{bodyTimeout, bodyTimeout + time.Second, bodyTimeout + time.Second, bodyTimeout + 2*time.Second}
	if !slices.Equal(deadlines, want) {
		t.Errorf("deadlines %v, want %v", deadlines, want)
	}
	if want := 2 * (bodyRate + 1); w.ticket.bytes != want {
		t.Errorf("charged: got %d bytes, want %d", w.ticket.bytes, want)
	}
	// The time that the node takes to make the next piece is not charged to the client.
	now, deadlines = now.Add(time.Hour), nil
	if _, err := w.Write([]byte("next")); err != nil {
		t.Error(err)
	}
	if want := []time.Duration{bodyTimeout + 2*time.Second}; !slices.Equal(deadlines, want) {
		t.Errorf("deadlines after an hour: got %v, want %v", deadlines, want)
	}
}

// TestEveryAnswerIsTakenSteadily checks that a client must read every answer at a steady pace, whatever the method and
// the path. Only an upgraded connection has no time limit.
func TestEveryAnswerIsTakenSteadily(t *testing.T) {
	steady := make(chan bool, 1)
	config := Config{RPC: echo{}, Fallback: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, is := w.(*steadyWriter)
		steady <- is
	})}
	_, address := start(t, config)
	for request, want := range map[string]bool{
		"GET /snapshots/1/2 HTTP/1.1\r\nHost: localhost\r\n\r\n":                                   true,
		"GET /blocks/1-2 HTTP/1.1\r\nHost: localhost\r\n\r\n":                                      true,
		"HEAD /blocks/1-2 HTTP/1.1\r\nHost: localhost\r\n\r\n":                                     true,
		"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n": false,
	} {
		dial(t, address).send(request)
		if got := <-steady; got != want {
			t.Errorf("%q: got steady %t, want %t", request, got, want)
		}
	}
}

// TestSteadyBodies: the time for a body's next piece depends on the bytes received so far, and there is no deadline
// after its end.
func TestSteadyBodies(t *testing.T) {
	now := time.Now()
	var deadlines []time.Duration
	w := deadlined{httptest.NewRecorder(), func(at time.Time) {
		if at.IsZero() {
			deadlines = append(deadlines, 0)
		} else {
			deadlines = append(deadlines, at.Sub(now))
		}
	}}
	handler := steadyBodies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for piece := make([]byte, bodyRate); ; {
			if _, err := io.ReadFull(r.Body, piece); err != nil {
				return
			}
		}
	}), func() time.Time { return now })
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/", strings.NewReader(strings.Repeat("x", 2*bodyRate))))
	want := []time.Duration{bodyTimeout, bodyTimeout + time.Second, bodyTimeout + 2*time.Second, 0}
	if !slices.Equal(deadlines, want) {
		t.Errorf("deadlines: got %v, want %v", deadlines, want)
	}
	deadlines = nil
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if len(deadlines) > 0 {
		t.Errorf("deadlines of a request without a body: got %v, want none", deadlines)
	}
}

// deadlined is a ResponseWriter that records its deadlines.
type deadlined struct {
	http.ResponseWriter
	set func(time.Time)
}

func (d deadlined) SetWriteDeadline(at time.Time) error { d.set(at); return nil }

func (d deadlined) SetReadDeadline(at time.Time) error { d.set(at); return nil }

// Memory for a large body is not allocated before it arrives.
func TestMemoryFollowsTheBody(t *testing.T) {
	s := prepare(t, Config{})
	c := s.accept(&scripted{
		pieces: []string{strings.Replace(plain, "Length: 2", "Length: 5000000", 1), "{"}, now: time.Now(),
	})
	c.loop()
	if cap(c.in) > FreeBytes {
		t.Errorf("%d bytes for a body of which one came", cap(c.in))
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	s := prepare(t, Config{
		MaxConnections: 5, MaxConnectionsPerAddress: 2, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	open := func(from string) *conn {
		return s.accept(&scripted{from: netip.MustParseAddrPort(from), now: time.Now()})
	}
	first := open("[2001:db8::1]:1")
	if first == nil || open("[2001:db8::2]:1") == nil || open("[2001:db8::3]:1") != nil {
		t.Error("the bound of a network does not hold")
	}
	if open("10.0.0.1:1") == nil || open("10.0.0.1:2") == nil || open("10.0.0.1:3") == nil {
		t.Error("a proxy is held to the bound of a client")
	}
	refused := &scripted{from: netip.MustParseAddrPort("192.0.2.1:1"), now: time.Now()}
	if s.accept(refused) != nil || !strings.HasPrefix(refused.written.String(), "HTTP/1.1 503 ") {
		t.Errorf("the bound of all does not hold: %q", refused.written.String())
	}
	_ = first.Close()
	_ = first.Close() // closing it twice counts once
	if open("[2001:db8::3]:1") == nil || open("127.0.0.1:1") != nil {
		t.Error("an ended connection makes no room")
	}
	if got := s.Stats(); got.Open != 5 || got.TooManyConnections != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestPanicsEndOneConnection(t *testing.T) {
	s, address := start(t, Config{RPC: echo{func(context.Context) { panic("boom") }}, Fallback: echo{}})
	for _, request := range []string{post("{}"), post("{}")} {
		c := dial(t, address)
		c.send(request)
		c.ended()
	}
	if s.Stats().Requests != 2 {
		t.Errorf("got %+v", s.Stats())
	}
}

// A request has its time limit on both paths, and has a timer only if something waits for it.
func TestBudget(t *testing.T) {
	got := make(chan error, 1)
	wait := echo{func(ctx context.Context) {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > time.Minute {
			got <- errors.New("there is no deadline")
			return
		}
		<-ctx.Done()
		got <- ctx.Err()
	}}
	_, address := start(t, Config{RPC: wait, Fallback: wait, Budget: time.Millisecond})
	for _, request := range []string{post("{}"), post("{}", odd)} {
		c := dial(t, address)
		c.send(request)
		c.read()
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	}
}

// The calls of a request share one value with its client and its quota, on both paths, and no other request has it.
func TestOneRequest(t *testing.T) {
	seen := map[*request.Request]bool{}
	look := echo{func(ctx context.Context) {
		r := request.Of(ctx)
		if seen[r] || r != request.Of(ctx) || r.Source != "127.0.0.1" || r.Quota == nil || r.GasLeft() != int64(request.Gas) {
			t.Errorf("got %+v", r)
		}
		if left := time.Until(r.Until()); left <= 0 || left > request.Time {
			t.Errorf("%v are left for executions", left)
		}
		seen[r] = true
	}}
	_, address := start(t, Config{RPC: look, Fallback: look})
	c := dial(t, address)
	for _, text := range []string{post("{}"), post("{}"), post("{}", odd), post("{}", odd)} {
		c.send(text)
		if got := c.read(); got.status != 200 {
			t.Errorf("got %+v", got)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d requests", len(seen))
	}
}

// Shutdown ends idle connections at once, lets running requests end, refuses new ones, and gives up when its context
// ends.
func TestShutdown(t *testing.T) {
	for _, field := range []string{"A: b", odd} {
		entered, release := make(chan bool), make(chan bool)
		slow := echo{func(context.Context) { entered <- true; <-release }}
		s := prepare(t, Config{RPC: slow, Fallback: slow})
		address := serve(t, s)
		idle, busy := dial(t, address), dial(t, address)
		busy.send(post("{}", field))
		<-entered
		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown(t.Context()) }()
		idle.ended()
		release <- true
		if got := busy.read(); got.status != 200 {
			t.Errorf("got %+v", got)
		}
		busy.ended()
		if err := <-ended; err != nil {
			t.Errorf("error %v", err)
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			t.Error("it still listens")
		}
	}
}

// A process may be stopped before its servers have started.
func TestShutdownBeforeServe(t *testing.T) {
	s := prepare(t, Config{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(listener); err != nil { // a server that missed the stop would serve forever
		t.Error(err)
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it left the listener open: error %v", err)
	}
}

func TestShutdownGivesUp(t *testing.T) {
	entered := make(chan bool)
	stuck := echo{func(ctx context.Context) { entered <- true; <-ctx.Done() }}
	s := prepare(t, Config{RPC: stuck, Fallback: stuck})
	address := serve(t, s)
	c := dial(t, address)
	c.send(post("{}"))
	<-entered
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(over); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if s.Stats().Open != 0 {
		t.Errorf("got %+v", s.Stats())
	}
}

// A draining server refuses requests with that reason on both paths, and closes their connections.
func TestDrain(t *testing.T) {
	s, address := start(t, Config{})
	loop := &scripted{now: time.Now(), pieces: []string{post("{}")}, from: netip.MustParseAddrPort("192.0.2.1:1")}
	early := s.accept(loop)
	handed := dial(t, address)
	handed.send(post("{}", odd))
	handed.read()
	s.Drain()
	s.serve(early)
	if text := loop.written.String(); !strings.HasPrefix(text, "HTTP/1.1 503 ") ||
		!strings.Contains(text, "\r\nRetry-After: 5\r\n") {
		t.Errorf("%q", text)
	}
	handed.send(post("{}", odd))
	if got := handed.read(); got.status != 503 || got.header.Get("Retry-After") != "5" || !got.close {
		t.Errorf("got %+v", got)
	}
	for range 2 { // connections that arrive until Shutdown closes the listener are answered
		if got := dial(t, address).read(); got.status != 503 || got.header.Get("Retry-After") != "5" || !got.close {
			t.Errorf("got %+v", got)
		}
	}
	if stats := s.Stats(); stats.Draining != 4 || stats.TooManyConnections != 0 {
		t.Errorf("got %+v", stats)
	}
}

func TestKeys(t *testing.T) {
	digest := sha256.Sum256([]byte("another-long-secret"))
	file := write(
		t, "keys", "# a comment\n\nplain:"+goodKey+"\nhashed:sha256:"+hex.EncodeToString(digest[:])+" rate=2\n", 0o600,
	)
	s := prepare(t, Config{APIKeyFile: file, Rate: Rate{1, 1}})
	who := client{place: netip.MustParseAddr("192.0.2.1")}
	for _, test := range []struct {
		text string
		ok   bool
		rate bool
	}{
		{"Bearer " + goodKey, true, false}, {"bearer another-long-secret", true, true}, {"Bearer " +
			hex.EncodeToString(digest[:]), false, false},
		{"Bearer ", false, false}, {"", false, false}, {goodKey, false, false},
	} {
		k, ok := s.authorize([]byte(test.text), s.now())
		if ok != test.ok || (k != nil && k.rate.PerSecond > 0) != test.rate {
			t.Errorf("%q: got %v, %v", test.text, k, ok)
		}
	}
	now := time.Now()
	who.key, _ = s.authorize([]byte("Bearer another-long-secret"), s.now())
	for i, want := range []time.Duration{0, 0, 0, 0, 500 * time.Millisecond} {
		if got := s.take(who, now); got != want {
			t.Errorf("call %d of the key: got %v, want %v", i, got, want)
		}
	}
	for name, content := range map[string]string{
		"no keys":    "# none\n",
		"no name":    ":" + goodKey,
		"no colon":   goodKey,
		"short":      "a:short",
		"twice":      "a:" + goodKey + "\nb:" + goodKey,
		"bad digest": "a:sha256:abcd",
		"bad rate":   "a:" + goodKey + " rate=x",
		"zero rate":  "a:" + goodKey + " rate=0",
		"more":       "a:" + goodKey + " rate=1 b",
	} {
		if _, err := readKeys(write(t, "bad", content, 0o600)); err == nil || strings.Contains(err.Error(), goodKey) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := readKeys(write(t, "open", "a:"+goodKey, 0o640)); err == nil {
		t.Error("a file that others may read is taken")
	}
}

func TestTokens(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	s := prepare(t, Config{JWTSecretFile: write(t, "jwt", "0x"+hex.EncodeToString(secret)+"\n", 0o600)})
	now := time.Unix(1_800_000_000, 0)
	s.now = func() time.Time { return now }
	in := func(d time.Duration) *jwt.NumericDate { return jwt.NewNumericDate(now.Add(d)) }
	for name, test := range map[string]struct {
		claims jwt.RegisteredClaims
		method jwt.SigningMethod
		key    any
		ok     bool
	}{
		"not expired": {jwt.RegisteredClaims{ExpiresAt: in(time.Second)}, jwt.SigningMethodHS256, secret, true},
		"expired": {
			jwt.RegisteredClaims{ExpiresAt: in(-time.Second), IssuedAt: in(0)}, jwt.SigningMethodHS256, secret, false,
		},
		"just issued":     {jwt.RegisteredClaims{IssuedAt: in(-time.Minute)}, jwt.SigningMethodHS256, secret, true},
		"issued soon":     {jwt.RegisteredClaims{IssuedAt: in(time.Minute)}, jwt.SigningMethodHS256, secret, true},
		"issued long ago": {jwt.RegisteredClaims{IssuedAt: in(-61 * time.Second)}, jwt.SigningMethodHS256, secret, false},
		"not yet valid": {
			jwt.RegisteredClaims{ExpiresAt: in(time.Hour), NotBefore: in(time.Minute)}, jwt.SigningMethodHS256, secret, false,
		},
		"no times": {jwt.RegisteredClaims{}, jwt.SigningMethodHS256, secret, false},
		"another secret": {
			jwt.RegisteredClaims{ExpiresAt: in(time.Second)}, jwt.SigningMethodHS256, []byte("another"), false,
		},
		"another algorithm": {jwt.RegisteredClaims{ExpiresAt: in(time.Second)}, jwt.SigningMethodHS512, secret, false},
		"unsigned": {
			jwt.RegisteredClaims{ExpiresAt: in(time.Second)}, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, false,
		},
	} {
		token, err := jwt.NewWithClaims(test.method, test.claims).SignedString(test.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := s.authorize([]byte("Bearer "+token), s.now()); ok != test.ok {
			t.Errorf("%s: got %v, want %v", name, ok, test.ok)
		}
	}
	critical := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{ExpiresAt: in(time.Second)})
	critical.Header["crit"] = []string{"exp"}
	token, err := critical.SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.authorize([]byte("Bearer "+token), s.now()); ok {
		t.Error("a token that asks for what is not understood is taken")
	}
	if _, err := readJWTSecret(write(t, "jwt", "abcd", 0o600)); err == nil {
		t.Error("a short secret is taken")
	}
}

// The memory for addresses is bounded, and time refills a bucket up to its burst.
func TestBuckets(t *testing.T) {
	b := newBuckets(Rate{10, 2})
	now := time.Now()
	address := netip.MustParseAddr("192.0.2.1")
	for _, step := range []struct {
		after time.Duration
		cost  float64
		wait  time.Duration
	}{
		{0, 1, 0}, {0, 1, 0}, {0, 1, 100 * time.Millisecond}, {50 * time.Millisecond, 1, 50 * time.Millisecond},
		{50 * time.Millisecond, 1, 0}, {time.Hour, 5, 0}, {-time.Hour, 1, 400 * time.Millisecond},
	} {
		now = now.Add(step.after)
		if got := b.take(address, now, step.cost); (got - step.wait).Abs() > time.Microsecond {
			t.Errorf("%+v: wait %v", step, got)
		}
	}
	for i := range 2 * maxBuckets {
		b.take(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now, 1)
	}
	total := 0
	for i := range b.shards {
		total += len(b.shards[i].byPlace)
	}
	if total > maxBuckets {
		t.Errorf("%d addresses are remembered", total)
	}
}

// certificate writes a certificate of 127.0.0.1 with a serial number, and its key.
func certificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t, t.TempDir(), 7)
	_, address := start(t, Config{CertificateFile: cert, KeyFile: key})
	for _, field := range []string{"A: b", odd} {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if serial := conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); serial != 7 {
			t.Errorf("serial %d, want 7", serial)
		}
		c := newRawClient(t, conn)
		c.send(post("{}", field))
		if got := c.read(); got.body != "127.0.0.1 {}" {
			t.Errorf("got %+v", got)
		}
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	open := Config{RPC: echo{}, Fallback: echo{}, CertificateFile: cert, KeyFile: key}
	if _, err := New(open); err == nil || open.Check() == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read: error %v", err)
	}
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	if conn, err := tls.Dial("tcp", address, old); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	c := dial(t, address)
	c.send(post("{}"))
	if _, err := io.ReadAll(c.reader); err != nil && !errors.Is(err, net.ErrClosed) &&
		strings.Contains(err.Error(), "timeout") {
		t.Errorf("plain text is left waiting: error %v", err)
	}
}

func TestBadConfigs(t *testing.T) {
	for name, config := range map[string]Config{
		"no RPC":         {Fallback: echo{}},
		"no fallback":    {RPC: echo{}},
		"half of TLS":    {RPC: echo{}, Fallback: echo{}, CertificateFile: "a"},
		"negative":       {RPC: echo{}, Fallback: echo{}, MaxConnections: -1},
		"no burst":       {RPC: echo{}, Fallback: echo{}, Rate: Rate{PerSecond: 1}},
		"origin":         {RPC: echo{}, Fallback: echo{}, Origins: []string{"app.example"}},
		"no key file":    {RPC: echo{}, Fallback: echo{}, APIKeyFile: "/nowhere"},
		"no secret":      {RPC: echo{}, Fallback: echo{}, JWTSecretFile: "/nowhere"},
		"no certificate": {RPC: echo{}, Fallback: echo{}, CertificateFile: "/nowhere", KeyFile: "/nowhere"},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("%s is taken", name)
		}
		// Check does not look at RPC and Fallback.
		if err := config.Check(); (err == nil) != (config.RPC == nil || config.Fallback == nil) {
			t.Errorf("%s: checked: error %v", name, err)
		}
	}
}
