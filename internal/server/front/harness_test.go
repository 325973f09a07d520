package front

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/server/request"
)

// odd makes a request one for net/http and changes nothing else.
const odd = "Connection: keep-alive, odd"

// echo answers each request with the source and the body, and notifications with nothing.
type echo struct{ hook func(context.Context) }

func (e echo) AppendTo(
	ctx context.Context, body, dst []byte, _ func([]byte) error,
) ([]byte, error) {
	return e.Append(ctx, body, dst), nil
}

func (e echo) Append(ctx context.Context, body, dst []byte) []byte {
	if e.hook != nil {
		e.hook(ctx)
	}
	if quota := request.Quota(ctx); quota != nil { // as jsonrpc.Server does
		quota.Charge(bytes.Count(body, []byte("{")))
	}
	if string(body) == "notify" {
		return dst
	}
	return append(append(append(dst, request.Of(ctx).Source...), ' '), body...)
}

// minZipped is the size in bytes from which echo compresses an answer.
const minZipped = 16 << 10

func (e echo) Compress(ctx context.Context, answer, dst []byte) ([]byte, bool) {
	if ctx.Err() != nil || len(answer) < minZipped {
		return dst, false
	}
	zipped := bytes.NewBuffer(dst)
	w := gzip.NewWriter(zipped)
	_, err := w.Write(answer)
	err = errors.Join(err, w.Close())
	return zipped.Bytes(), err == nil
}

func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "Cannot read the body.", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if answer := e.Append(r.Context(), body, nil); len(answer) > 0 {
			_, _ = w.Write(answer)
		} else {
			w.Header().Del("Content-Type")
			w.WriteHeader(http.StatusNoContent)
		}
	case "/ws":
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = both.Flush()
		_, _ = io.Copy(conn, both)
		_ = conn.Close()
	default:
		http.NotFound(w, r)
	}
}

// start makes a server and serves it.
func start(t testing.TB, config Config) (*Server, string) {
	t.Helper()
	s := prepare(t, config)
	return s, serve(t, s)
}

// serve runs a server on a loopback listener until the test ends.
func serve(t testing.TB, s *Server) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shut down: error %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: error %v", err)
		}
	})
	return listener.Addr().String()
}

// prepare makes a server of echoes.
func prepare(t testing.TB, config Config) *Server {
	t.Helper()
	if config.RPC == nil {
		config.RPC, config.Fallback = echo{}, echo{}
	}
	config.Log = slog.New(slog.DiscardHandler)
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client is a connection that speaks raw HTTP.
type rawClient struct {
	net.Conn
	t      testing.TB
	reader *bufio.Reader
}

func dial(t testing.TB, address string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return newRawClient(t, conn)
}

func newRawClient(t testing.TB, conn net.Conn) *rawClient {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &rawClient{conn, t, bufio.NewReader(conn)}
}

func (c *rawClient) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
}

type answered struct {
	status int
	body   string
	header http.Header
	close  bool
}

func (c *rawClient) read() answered {
	c.t.Helper()
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answered{r.StatusCode, string(body), r.Header, r.Close}
}

// ended fails unless the server has ended the connection.
func (c *rawClient) ended() {
	c.t.Helper()
	if b, err := c.reader.ReadByte(); err == nil {
		c.t.Fatalf("the connection goes on with %q", b)
	} else if errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "timeout") {
		c.t.Fatalf("the connection stays open: error %v", err)
	}
}
