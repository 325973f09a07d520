package jsonrpc_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cairn-chain/cairn/jsonrpc"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstdEncoded(t testing.TB, text string, options ...zstd.EOption) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHTTP(t *testing.T) {
	const limit = 4000
	s := newServer(t, jsonrpc.Options{MaxRequestBytes: limit})
	server := httptest.NewServer(s)
	defer server.Close()

	call := `{"jsonrpc":"2.0","method":"sum","params":[1,2],"id":1}`
	answer := result("1", "3")
	padded := func(bytes int) string { return call + strings.Repeat(" ", bytes-len(call)) }
	random := func(bytes int) string {
		var b strings.Builder
		for seed := uint32(1); b.Len() < bytes; seed = seed*1664525 + 1013904223 {
			fmt.Fprintf(&b, "%08x", seed)
		}
		return b.String()
	}
	tooLarge := "The request is larger than 4000 bytes.\n"
	type header map[string]string
	for _, test := range []struct {
		name, method, body string
		chunked            bool // no Content-Length
		header             header
		status             int
		wantHeader         header
		want               string
	}{
		{
			name:       "call",
			body:       call,
			status:     200,
			wantHeader: header{"Content-Type": "application/json", "Content-Length": fmt.Sprint(len(answer))},
			want:       answer,
		},
		{
			name:   "parse error",
			body:   `{`,
			status: 200,
			want:   failure("null", -32700, "the request is not one valid JSON document", `{"offset":1,"reason":"bad_json"}`),
		},
		{
			name:   "unknown method",
			body:   `{"jsonrpc":"2.0","method":"nope","id":1}`,
			status: 200,
			want:   failure("1", -32601, "the method does not exist", `{"method":"nope"}`),
		},
		{
			name: "notification", body: `{"jsonrpc":"2.0","method":"none"}`, status: 204, wantHeader: header{"Content-Type": ""},
		},
		{
			name:   "notification, compressible",
			body:   `{"jsonrpc":"2.0","method":"none"}`,
			header: header{"Accept-Encoding": "gzip"},
			status: 204,
		},
		{name: "batch of notifications", body: `[{"jsonrpc":"2.0","method":"none"}]`, status: 204},
		{name: "GET", method: "GET", status: 405, wantHeader: header{"Allow": "POST"}, want: "JSON-RPC accepts only POST.\n"},
		{
			name:       "PUT",
			method:     "PUT",
			body:       call,
			status:     405,
			wantHeader: header{"Allow": "POST"},
			want:       "JSON-RPC accepts only POST.\n",
		},
		{
			name:       "OPTIONS",
			method:     "OPTIONS",
			status:     405,
			wantHeader: header{"Allow": "POST"},
			want:       "JSON-RPC accepts only POST.\n",
		},
		{
			name:   "charset",
			body:   call,
			header: header{"Content-Type": "Application/JSON; charset=utf-8"},
			status: 200,
			want:   answer,
		},
		{
			name:       "no content type",
			body:       call,
			header:     header{"Content-Type": ""},
			status:     415,
			wantHeader: header{"Accept": "application/json"},
			want:       "The content type must be application/json.\n",
		},
		{
			name:   "text",
			body:   call,
			header: header{"Content-Type": "text/plain"},
			status: 415,
			want:   "The content type must be application/json.\n",
		},
		{
			name:   "broken content type",
			body:   call,
			header: header{"Content-Type": "application/json; ="},
			status: 415,
			want:   "The content type must be application/json.\n",
		},
		{
			name:   "form",
			body:   call,
			header: header{"Content-Type": "application/x-www-form-urlencoded"},
			status: 415,
			want:   "The content type must be application/json.\n",
		},
		{name: "at the limit", body: padded(limit), status: 200, want: answer},
		{name: "over the limit", body: padded(limit + 1), status: 413, want: tooLarge},
		{name: "over the limit, chunked", body: padded(limit + 1), chunked: true, status: 413, want: tooLarge},
		{name: "at the limit, chunked", body: padded(limit), chunked: true, status: 200, want: answer},
		{name: "gzip", body: gzipped(t, call), header: header{"Content-Encoding": "gzip"}, status: 200, want: answer},
		{
			name:   "gzip in capitals",
			body:   gzipped(t, call),
			header: header{"Content-Encoding": "GZIP"},
			status: 200,
			want:   answer,
		},
		{name: "identity", body: call, header: header{"Content-Encoding": "identity"}, status: 200, want: answer},
		{name: "zstd", body: zstdEncoded(t, call), header: header{"Content-Encoding": "zstd"}, status: 200, want: answer},
		{
			name:   "gzip at the limit",
			body:   gzipped(t, padded(limit)),
			header: header{"Content-Encoding": "gzip"},
			status: 200,
			want:   answer,
		},
		{
			name:   "gzip over the limit",
			body:   gzipped(t, padded(limit+1)),
			header: header{"Content-Encoding": "gzip"},
			status: 413,
			want:   tooLarge,
		},
		{
			name:   "gzip bomb",
			body:   gzipped(t, padded(2000000)),
			header: header{"Content-Encoding": "gzip"},
			status: 413,
			want:   tooLarge,
		},
		{
			name:   "zstd bomb",
			body:   zstdEncoded(t, padded(20000000)),
			header: header{"Content-Encoding": "zstd"},
			status: 413,
			want:   tooLarge,
		},
		{
			name:   "zstd window too large",
			body:   zstdEncoded(t, padded(20<<20), zstd.WithWindowSize(16<<20)),
			header: header{"Content-Encoding": "zstd"},
			status: 400,
			want:   "Cannot read the body.\n",
		},
		{
			name:    "gzip that is large itself",
			body:    gzipped(t, random(20000)),
			chunked: true,
			header:  header{"Content-Encoding": "gzip"},
			status:  413,
			want:    tooLarge,
		},
		{
			name:   "no gzip at all",
			body:   call,
			header: header{"Content-Encoding": "gzip"},
			status: 400,
			want:   "Cannot read the body.\n",
		},
		{
			name:   "no zstd at all",
			body:   call,
			header: header{"Content-Encoding": "zstd"},
			status: 400,
			want:   "Cannot read the body.\n",
		},
		{
			name:   "gzip cut off",
			body:   gzipped(t, call)[:40],
			header: header{"Content-Encoding": "gzip"},
			status: 400,
			want:   "Cannot read the body.\n",
		},
		{
			name:       "brotli",
			body:       call,
			header:     header{"Content-Encoding": "br"},
			status:     415,
			wantHeader: header{"Accept-Encoding": "gzip, zstd"},
			want:       "The content encoding must be gzip or zstd.\n",
		},
		{
			name:   "twice encoded",
			body:   gzipped(t, gzipped(t, call)),
			header: header{"Content-Encoding": "gzip, gzip"},
			status: 415,
			want:   "The content encoding must be gzip or zstd.\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			method := test.method
			if method == "" {
				method = http.MethodPost
			}
			var body io.Reader = strings.NewReader(test.body)
			if test.chunked {
				body = io.MultiReader(body)
			}
			request, err := http.NewRequest(method, server.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			for name, value := range test.header {
				request.Header.Set(name, value)
			}
			response, text := exchange(t, request)
			if response.StatusCode != test.status || text != test.want {
				t.Errorf("got %d %s\nwant %d %s", response.StatusCode, text, test.status, test.want)
			}
			for name, value := range test.wantHeader {
				if got := response.Header.Get(name); got != value {
					t.Errorf("%s: %q, want %q", name, got, value)
				}
			}
		})
	}
}

func exchange(t testing.TB, request *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func TestResponseEncoding(t *testing.T) {
	server := httptest.NewServer(newServer(t, jsonrpc.Options{}))
	defer server.Close()
	for _, test := range []struct {
		name, accept string
		bytes        int
		want         string
	}{
		{"small", "gzip, zstd", 16000, ""},
		{"gzip", "gzip", 20000, "gzip"},
		{"zstd", "zstd", 20000, "zstd"},
		{"both", "gzip, zstd", 20000, "zstd"},
		{"gzip preferred", "zstd;q=0.5, gzip", 20000, "gzip"},
		{"refused", "gzip;q=0", 20000, ""},
		{"others", "br", 20000, ""},
		{"none", "identity", 20000, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","method":"size","params":[%d],"id":1}`, test.bytes)
			request, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept-Encoding", test.accept)
			response, text := exchange(t, request)
			if got := response.Header.Get("Content-Encoding"); got != test.want {
				t.Fatalf("encoding %q, want %q", got, test.want)
			}
			if response.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("Vary is %q, want \"Accept-Encoding\"", response.Header.Get("Vary"))
			}
			var plain io.Reader = strings.NewReader(text)
			switch test.want {
			case "gzip":
				plain, err = gzip.NewReader(plain)
			case "zstd":
				plain, err = zstd.NewReader(plain)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(plain)
			if err != nil {
				t.Fatal(err)
			}
			if want := result("1", `"`+strings.Repeat("x", test.bytes)+`"`); string(got) != want {
				t.Errorf("got %.100s, want %.100s", got, want)
			}
		})
	}
}
