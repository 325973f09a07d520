package front

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// post is a request with the body and additional header fields.
func post(body string, fields ...string) string {
	return strings.Replace(with(fields...), "Length: 2", "Length: "+strconv.Itoa(len(body)), 1) + body
}

const goodKey = "a-key-that-is-long-enough"

func write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// Both paths answer every request in the same way.
func TestBothWaysAreEqual(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	protected := Config{
		MaxRequestBytes: 100, APIKeyFile: write(t, "keys", "me:"+goodKey+
			"\n", 0o600), Origins: []string{"https://app.example"},
		Hosts: []string{"localhost"}, Proxies: loopback,
	}
	bearer := "Authorization: Bearer " + goodKey
	for name, test := range map[string]struct {
		config Config
		text   string
		status int
		body   string
		header string // header fields that must be present
		value  string
	}{
		"a call":           {Config{}, post("{}"), 200, "127.0.0.1 {}", "Content-Type", "application/json"},
		"a notification":   {Config{}, post("notify"), 204, "", "", ""},
		"an empty body":    {Config{}, post(""), 200, "127.0.0.1 ", "", ""},
		"a closing client": {Config{}, post("{}", "Connection: close"), 200, "127.0.0.1 {}", "", ""},
		"another Host": {
			Config{}, strings.Replace(post("{}"), "localhost", "evil.example", 1), 403,
			"This server does not accept that Host header: see --allowed-host.\n", "", "",
		},
		"an address Host": {
			Config{}, strings.Replace(post("{}"), "localhost", "[::1]:8777", 1), 200, "127.0.0.1 {}", "", "",
		},
		"a key": {protected, post("{}", bearer), 200, "127.0.0.1 {}", "", ""},
		"a scheme in upper": {
			protected, post("{}", strings.Replace(bearer, "Bearer", "BEARER", 1)), 200, "127.0.0.1 {}", "", "",
		},
		"no key": {protected, post("{}"), 401, "An API key or a token is required.\n", "WWW-Authenticate", "Bearer"},
		"a wrong key": {
			protected, post("{}", bearer+"x"), 401, "An API key or a token is required.\n", "WWW-Authenticate", "Bearer",
		},
		"another scheme": {
			protected, post("{}", "Authorization: Basic "+goodKey), 401, "An API key or a token is required.\n", "", "",
		},
		"an address that is not listed": {protected, strings.Replace(post("{}", bearer), "localhost", "127.0.0.1", 1), 403,
			"This server does not accept that Host header: see --allowed-host.\n", "", ""},
		"a large body": {
			protected, post(strings.Repeat("x", 101), bearer), 413, "The request is larger than 100 bytes.\n", "", "",
		},
		"a page": {
			protected, post("{}", bearer, "Origin: https://app.example"), 200, "127.0.0.1 {}", "Access-Control-Allow-Origin",
			"https://app.example",
		},
		"another page": {
			protected, post("{}", bearer, "Origin: https://evil.example"), 200, "127.0.0.1 {}", "Access-Control-Allow-Origin",
			"",
		},
		"a cache is told of origins": {protected, post("{}", bearer), 200, "127.0.0.1 {}", "Vary", "Origin"},
		"and for another page": {
			protected, post("{}", bearer, "Origin: https://evil.example"), 200, "127.0.0.1 {}", "Vary", "Origin",
		},
		"and in a refusal": {protected, post("{}"), 401, "An API key or a token is required.\n", "Vary", "Origin"},
		"without origins":  {Config{}, post("{}"), 200, "127.0.0.1 {}", "Vary", ""},
		"a refused page": {
			protected, post("{}", "Origin: https://app.example"), 401, "An API key or a token is required.\n",
			"Access-Control-Allow-Origin", "https://app.example",
		},
		"when to come": {
			protected, post("{}", "Origin: https://app.example"), 401, "An API key or a token is required.\n",
			"Access-Control-Expose-Headers", "Retry-After",
		},
		"behind a proxy": {
			protected, post("{}", bearer, "X-Forwarded-For: 6.6.6.6, 203.0.113.7"), 200, "203.0.113.7 {}", "", "",
		},
		"behind two": {
			protected, post("{}", bearer, "X-Forwarded-For: 203.0.113.7, 127.0.0.1"), 200, "203.0.113.7 {}", "", "",
		},
		"an IPv6 client": {
			protected, post("{}", bearer, "X-Forwarded-For: 2001:db8:1:2:3:4:5:6"), 200, "2001:db8:1:2::/64 {}", "", "",
		},
		"a broken list": {protected, post("{}", bearer, "X-Forwarded-For: 1.2.3.4, unknown"), 200, "127.0.0.1 {}", "", ""},
		"a lie":         {Config{}, post("{}", "X-Forwarded-For: 1.2.3.4"), 200, "127.0.0.1 {}", "", ""},
		"an empty rate": {
			Config{Rate: Rate{1e-9, 1}, Proxies: loopback}, post("[{},{}]", "X-Forwarded-For: 1.2.3.4"), 200, "1.2.3.4 [{},{}]",
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, way := range []struct {
				name string
				text string
			}{{"loop", test.text}, {"net/http", strings.Replace(test.text, "\r\n\r\n", "\r\n"+odd+"\r\n\r\n", 1)}} {
				s, address := start(t, test.config)
				c := dial(t, address)
				c.send(way.text)
				got := c.read()
				if got.status != test.status || got.body != test.body ||
					test.header != "" && got.header.Get(test.header) != test.value {
					t.Errorf("%s: got %+v", way.name, got)
				}
				closes := test.status == 413 || strings.Contains(way.text, "Connection: close")
				if way.name == "loop" && got.close != closes {
					t.Errorf("%s: closes %v", way.name, got.close)
				}
				if handed := s.Stats().Handed == 1; handed != (way.name == "net/http") {
					t.Errorf("%s: handed over %v, want %v", way.name, handed, (way.name == "net/http"))
				}
			}
		})
	}
}

// TestRefusalReachesWhoIsStillSending writes all of a large request before it reads the refusal.
func TestRefusalReachesWhoIsStillSending(t *testing.T) {
	large := strings.Repeat("x", 4<<20)
	chunked := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large)
	keys := Config{APIKeyFile: write(t, "keys", "me:"+goodKey, 0o600)}
	for name, test := range map[string]struct {
		config Config
		text   string
		status int
	}{
		"too large":              {Config{MaxRequestBytes: 1 << 20}, post(large), 413},
		"too large to net/http":  {Config{MaxRequestBytes: 1 << 20}, post(large, odd), 413},
		"no key":                 {keys, post(large), 401},
		"no key to net/http":     {keys, post(large, odd), 401},
		"no key and in chunks":   {keys, chunked, 401},
		"answered by a handler":  {Config{}, strings.Replace(chunked, "POST / ", "POST /none ", 1), 404},
		"another Host":           {Config{}, strings.Replace(post(large), "localhost", "evil.example", 1), 403},
		"another Host in chunks": {Config{}, strings.Replace(chunked, "localhost", "evil.example", 1), 403},
	} {
		t.Run(name, func(t *testing.T) {
			_, address := start(t, test.config)
			c := dial(t, address)
			c.send(test.text)
			if got := c.read(); got.status != test.status || !got.close {
				t.Errorf("got %+v, want %d and an end of the connection", got, test.status)
			}
		})
	}
}

// A malformed request ends the connection with 400 at any position, and no later request is answered.
func TestMalformedRequestsEndBothWays(t *testing.T) {
	smuggled := "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, bad := range map[string]string{
		"bare LF":                strings.Replace(plain, "localhost\r\n", "localhost\n", 1),
		"length and chunked":     with("Transfer-Encoding: chunked"),
		"two equal lengths":      with("Content-Length: 2"),
		"obs-fold":               with("A: b", " c"),
		"space before the colon": with("A : b"),
		"two Hosts":              with("Host: localhost"),
		"request line":           "GET\r\n\r\n",
		"no Host":                "GET / HTTP/1.1\r\n\r\n",
		"ends in bare LF":        "GET / HTTP/1.1\r\nHost: localhost\r\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []string{"", post("{}"), post("{}", odd)} {
				s, address := start(t, Config{})
				c := dial(t, address)
				c.send(before + bad + "{}" + smuggled)
				if before != "" {
					if got := c.read(); got.status != 200 {
						t.Fatalf("the request before: got %+v", got)
					}
				}
				if got := c.read(); got.status != 400 || !got.close {
					t.Errorf("after %q: got %+v", before, got)
				}
				c.ended()
				if s.Stats().Malformed != 1 {
					t.Errorf("after %q: got %+v", before, s.Stats())
				}
			}
		})
	}
}

// However net/http's reads are cut, a checked connection passes on valid requests unchanged, and never the end of an
// invalid one.
func TestCheckedConnInPieces(t *testing.T) {
	good := post("{}", odd) + post("[1]") + post("")
	for _, test := range []struct{ text, want string }{
		{good, good},
		{good + with("A : b") + post("{}"), good + strings.TrimSuffix(with("A : b"), "\n") + string(poison)},
		{good + "GET / HTTP/1.1\nHost: a\r\n\r\n", good + "GET / HTTP/1.1" + string(poison)},
	} {
		for size := 1; size < len(test.text); size++ {
			c := &checkedConn{conn: &conn{server: prepare(t, Config{})}, ahead: []byte(test.text)}
			c.conn.Conn = eofConn{}
			var got bytes.Buffer
			if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{c}, make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if got.String() != test.want {
				t.Fatalf("in pieces of %d: %q, want %q", size, got.String(), test.want)
			}
		}
	}
}

type eofConn struct{ net.Conn }

func (eofConn) Read([]byte) (int, error) { return 0, io.EOF }

func TestPipelineAndKeepAlive(t *testing.T) {
	s, address := start(t, Config{})
	c := dial(t, address)
	large := strings.Repeat("x", 3*inSize)
	c.send(post("{}") + post(large) + post("notify") + post("[]") + post("{1}", odd) + post("{2}"))
	for _, want := range []string{
		"127.0.0.1 {}", "127.0.0.1 " + large, "", "127.0.0.1 []", "127.0.0.1 {1}", "127.0.0.1 {2}",
	} {
		if got := c.read(); got.body != want {
			t.Fatalf("%+v, not %q", got, want)
		}
	}
	if got := s.Stats(); got.Open != 1 || got.Handed != 1 || got.Requests != 4 {
		t.Errorf("got %+v", got)
	}
}

// The client may send byte by byte.
func TestBytewise(t *testing.T) {
	_, address := start(t, Config{})
	c := dial(t, address)
	for _, b := range []byte(post("{}")) {
		c.send(string(b))
	}
	if got := c.read(); got.body != "127.0.0.1 {}" {
		t.Errorf("got %+v", got)
	}
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	_, address := start(t, Config{})
	c := dial(t, address)
	large := strings.Repeat("x", minZipped)
	c.send(post(large, "Accept-Encoding: gzip") + post("{}", "Accept-Encoding: gzip") + post(large))
	got := c.read()
	unzipped, err := gzip.NewReader(strings.NewReader(got.body))
	if err != nil || got.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v: got %+v", err, got.header)
	}
	if body, err := io.ReadAll(unzipped); err != nil || string(body) != "127.0.0.1 "+large {
		t.Errorf("%v: %d bytes", err, len(body))
	}
	for _, want := range []string{"{}", large} {
		if got := c.read(); got.header.Get("Content-Encoding") != "" || got.body != "127.0.0.1 "+want {
			t.Errorf("got %+v", got.header)
		}
	}
}

// An answer is sent uncompressed if there is no time left to compress it.
func TestLateAnswersAreNotCompressed(t *testing.T) {
	late := echo{func(ctx context.Context) { <-ctx.Done() }}
	_, address := start(t, Config{RPC: late, Fallback: late, Budget: time.Millisecond})
	c := dial(t, address)
	large := strings.Repeat("x", minZipped)
	c.send(post(large, "Accept-Encoding: gzip"))
	if got := c.read(); got.header.Get("Content-Encoding") != "" || got.body != "127.0.0.1 "+large {
		t.Errorf("got %+v", got.header)
	}
}

func TestPreflight(t *testing.T) {
	_, address := start(t, Config{
		Origins: []string{"https://app.example"}, APIKeyFile: write(t, "keys", "me:"+goodKey, 0o600),
	})
	ask := func(origin string) string {
		return "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin +
			"\r\nAccess-Control-Request-Method: POST\r\n\r\n"
	}
	c := dial(t, address)
	c.send(ask("https://app.example"))
	if got := c.read(); got.status != 204 || got.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		got.header.Get("Access-Control-Allow-Headers") != "Content-Type, Authorization" {
		t.Errorf("got %+v", got)
	}
	c.send(ask("https://evil.example"))
	if got := c.read(); got.status != 401 || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %+v", got)
	}
}

// An upgraded connection is the handler's. A page of another origin gets none.
func TestUpgrade(t *testing.T) {
	s, address := start(t, Config{})
	upgrade := func(origin string) string {
		return "GET /ws HTTP/1.1\r\nHost: localhost:1\r\nConnection: Upgrade\r\nUpgrade: echo\r\nOrigin: " + origin +
			"\r\n\r\n"
	}
	c := dial(t, address)
	c.send(upgrade("http://LOCALHOST:1") + "hello\n\n")
	if got := c.read(); got.status != 101 {
		t.Fatalf("got %+v", got)
	}
	if line, err := c.reader.ReadString('\n'); line != "hello\n" || err != nil {
		t.Errorf("got %q, error %v", line, err)
	}
	_ = c.Close()
	c = dial(t, address)
	c.send(upgrade("https://evil.example"))
	if got := c.read(); got.status != 403 || s.Stats().ForbiddenOrigin != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestRateLimit(t *testing.T) {
	for _, field := range []string{"A: b", odd} {
		s := prepare(t, Config{Rate: Rate{0.5, 3}, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		now := time.Now() // the time stands still; deadlines are counted from it
		s.now = func() time.Time { return now }
		address := serve(t, s)
		c := dial(t, address)
		for i, test := range []struct {
			body, from string
			status     int
			wait       string
		}{
			{"{}", "1.1.1.1", 200, ""}, {"[{},{},{},{}]", "1.1.1.1", 200, ""}, // 3 − 1 − 4 = −2
			{"{}", "1.1.1.1", 429, "6"}, {"{}", "1.1.1.2", 200, ""},
			{"{}", "2001:db8::1", 200, ""}, {"[{},{}]", "2001:db8::2", 200, ""}, {"{}", "2001:db8:0:0:f::", 429, "2"},
			{"{}", "2001:db8:0:1::", 200, ""},
			// A proxy has no higher limit than others.
			{"[{},{},{},{}]", "127.0.0.1", 200, ""}, {"{}", "127.0.0.1", 429, "4"},
		} {
			c.send(post(test.body, field, "X-Forwarded-For: "+test.from))
			if got := c.read(); got.status != test.status || got.header.Get("Retry-After") != test.wait {
				t.Fatalf("%s: request %d: got %+v", field, i, got)
			}
		}
		if s.Stats().RateLimited != 3 {
			t.Errorf("got %+v", s.Stats())
		}
	}
}

// A client behind a trusted proxy is limited by the address that the proxy names, in any notation, or else by the
// proxy's. Only a program on this machine that connects directly is not limited.
func TestWhoIsLimited(t *testing.T) {
	s := prepare(t, Config{
		Rate: Rate{1, 2}, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")},
	})
	for _, test := range []struct {
		peer, forwarded string
		place           string
		free            bool
	}{
		{"127.0.0.1:7", "192.0.2.7", "192.0.2.7", false},
		{"127.0.0.1:7", "192.0.2.7:8080", "192.0.2.7", false},
		{"127.0.0.1:7", "6.6.6.6, [2001:db8::1]:443", "2001:db8::", false},
		{"127.0.0.1:7", "[2001:db8::1]", "2001:db8::", false},
		{"127.0.0.1:7", "192.0.2.7:80, 10.1.1.1:90", "192.0.2.7", false},
		{"127.0.0.1:7", "[2001:db8::1", "127.0.0.1", false},
		{"127.0.0.1:7", "unknown", "127.0.0.1", false},
		{"127.0.0.1:7", "_hidden:1, 10.0.0.2", "10.0.0.2", false},
		{"127.0.0.1:7", "", "127.0.0.1", false},
		{"127.0.0.1:7", "127.0.0.1", "127.0.0.1", false},
		{"10.0.0.1:7", "", "10.0.0.1", false},
		{"127.0.0.2:7", "192.0.2.7", "127.0.0.2", true},
		{"[::1]:7", "", "::", true},
		{"192.0.2.9:7", "192.0.2.7", "192.0.2.9", false},
	} {
		p := s.peerOf(test.peer)
		who := s.clientOf(&preamble{forwarded: []byte(test.forwarded)}, &p)
		if who.place.String() != test.place || who.free != test.free || s.limits(who) == test.free {
			t.Errorf("%s for %q: %v, free %t", test.peer, test.forwarded, who.place, who.free)
		}
	}
}
