package front

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

const plain = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"

// with is the plain request with additional header fields.
func with(fields ...string) string {
	if len(fields) == 0 {
		return plain
	}
	return strings.Replace(plain, "\r\n\r\n", "\r\n"+strings.Join(fields, "\r\n")+"\r\n\r\n", 1)
}

func parse(text string) (preamble, error) {
	size, err := preambleEnd([]byte(text), 0)
	if err != nil {
		return preamble{}, err
	}
	return parsePreamble([]byte(text[:size]))
}

func TestMalformedHeads(t *testing.T) {
	for name, text := range map[string]string{
		"no request line":           "\r\n\r\n",
		"leading empty line":        "\r\n" + plain,
		"two spaces":                strings.Replace(plain, "POST /", "POST  /", 1),
		"space in the target":       strings.Replace(plain, " / ", " /a b ", 1),
		"no version":                strings.Replace(plain, " HTTP/1.1", "", 1),
		"bad version":               strings.Replace(plain, "HTTP/1.1", "HTTP/1.x", 1),
		"lower-case version":        strings.Replace(plain, "HTTP/1.1", "http/1.1", 1),
		"method is no token":        strings.Replace(plain, "POST", "PO(ST", 1),
		"control in the target":     strings.Replace(plain, " / ", " /\x01 ", 1),
		"bare LF":                   strings.Replace(plain, "localhost\r\n", "localhost\n", 1),
		"only bare LF":              strings.ReplaceAll(plain, "\r\n", "\n"),
		"bare CR":                   with("A: b\rc"),
		"NUL in a value":            with("A: b\x00c"),
		"DEL in a value":            with("A: b\x7fc"),
		"obs-fold with a space":     with("A: b", " c"),
		"obs-fold with a tab":       with("A: b", "\tc"),
		"space before the colon":    with("A : b"),
		"tab before the colon":      with("A\t: b"),
		"no colon":                  with("A"),
		"empty name":                with(": b"),
		"name is no token":          with("A\"b: c"),
		"name with a NUL":           with("A\x00b: c"),
		"no Host":                   strings.Replace(plain, "Host: localhost\r\n", "", 1),
		"two Hosts":                 with("Host: localhost"),
		"two equal lengths":         with("Content-Length: 2"),
		"two different lengths":     with("content-length: 3"),
		"list of lengths":           strings.Replace(plain, "Length: 2", "Length: 2, 2", 1),
		"signed length":             strings.Replace(plain, "Length: 2", "Length: +2", 1),
		"negative length":           strings.Replace(plain, "Length: 2", "Length: -2", 1),
		"hexadecimal length":        strings.Replace(plain, "Length: 2", "Length: 0x2", 1),
		"empty length":              strings.Replace(plain, "Length: 2", "Length: ", 1),
		"length over an int64":      strings.Replace(plain, "Length: 2", "Length: 9999999999999999999", 1),
		"length and chunked":        with("Transfer-Encoding: chunked"),
		"length and hidden chunked": with("transfer-ENCODING:\tChunked"),
		"unknown coding":            strings.Replace(plain, "Content-Length: 2", "Transfer-Encoding: xchunked", 1),
		"two codings":               strings.Replace(plain, "Content-Length: 2", "Transfer-Encoding: gzip, chunked", 1),
		"two fields of codings": strings.Replace(
			plain, "Content-Length: 2", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 1,
		),
		"chunked in HTTP/1.0": strings.Replace(
			strings.Replace(plain, "Content-Length: 2", "Transfer-Encoding: chunked", 1), "/1.1", "/1.0", 1,
		),
		"two Authorizations":         with("Authorization: Bearer a", "Authorization: Bearer b"),
		"what TLS begins with":       "\x16\x03\x01\r\n\r\n",
		"two requests as one header": with("A: b\n\nGET / HTTP/1.1"),
	} {
		if h, err := parse(text); !errors.Is(err, errMalformed) {
			t.Errorf("%s: got %+v, %v", name, h, err)
		}
	}
}

func TestLargeHeads(t *testing.T) {
	if _, err := parse(with(strings.Repeat("A: b\r\n", maxFields-4) + "A: b")); err != nil {
		t.Errorf("%d fields: error %v", maxFields, err)
	}
	for name, text := range map[string]string{
		"fields":               with(strings.Repeat("A: b\r\n", maxFields-3) + "A: b"),
		"a long value":         with("A: " + strings.Repeat("b", maxPreambleBytes)),
		"a target with no end": "GET /" + strings.Repeat("b", maxPreambleBytes),
	} {
		if _, err := parse(text); !errors.Is(err, errPreambleTooLarge) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A well-formed request that is not simple goes to net/http.
func TestSimpleHeads(t *testing.T) {
	for _, text := range []string{
		plain, with("Connection: keep-alive"), with("Connection: close"), with("Accept-Encoding: gzip, deflate, br"),
		with("Content-Encoding: identity"),
		strings.Replace(plain, "application/json", "Application/JSON; charset=utf-8", 1), with("A:"), with("A:\t b \t"),
		with("A: \xff"),
	} {
		if h, err := parse(text); err != nil || !h.simple || h.length != 2 || string(h.host) != "localhost" {
			t.Errorf("%q: got %+v, error %v", text, h, err)
		}
	}
	for _, text := range []string{
		strings.Replace(plain, "POST", "GET", 1), strings.Replace(plain, "POST", "post", 1),
		strings.Replace(plain, " / ", " /ws ", 1),
		strings.Replace(plain, " / ", " /?a ", 1), strings.Replace(plain, " / ", " http://localhost/ ", 1),
		strings.Replace(plain, "HTTP/1.1", "HTTP/1.0", 1),
		strings.Replace(plain, "Content-Length: 2", "Transfer-Encoding: chunked", 1),
		strings.Replace(plain, "application/json", "text/plain", 1),
		strings.Replace(plain, "Content-Length: 2\r\n", "", 1),
		strings.Replace(plain, "Content-Type: application/json\r\n", "", 1),
		strings.Replace(plain, "localhost", "local host", 1), "PRI * HTTP/2.0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
		with("Content-Encoding: gzip"), with("Expect: 100-continue"), with("Upgrade: websocket"), with("Connection: Upgrade"),
		with("Trailer: A"),
		with("X-Forwarded-For: a", "X-Forwarded-For: b"), with("Content-Type: application/json"),
		with("Origin: a", "Origin: b"),
	} {
		if h, err := parse(text); err != nil || h.simple {
			t.Errorf("%q: got %+v, error %v", text, h, err)
		}
	}
}

// A preamble ends at the same place however it is cut into pieces.
func TestHeadEndInPieces(t *testing.T) {
	text := []byte(with("A: b") + "{}")
	want, err := preambleEnd(text, 0)
	if err != nil || want != len(text)-2 {
		t.Fatalf("got %d, want %d, error %v", want, len(text)-2, err)
	}
	for cut := range want {
		if size, err := preambleEnd(text[:cut], 0); size != 0 || err != nil {
			t.Fatalf("the first %d bytes: got %d, want 0, error %v", cut, size, err)
		}
		if size, err := preambleEnd(text, lastLine(text[:cut])); size != want || err != nil {
			t.Fatalf("after %d bytes: got %d, want %d, error %v", cut, size, want, err)
		}
	}
}

// net/http reads every preamble that the loop would answer in the same way.
func FuzzParseHead(f *testing.F) {
	for _, text := range []string{
		plain, with("Connection: close"), with("Authorization: Bearer abc"), with("Origin: https://a.example"),
		with("X-Forwarded-For: 1.2.3.4"),
		with("Accept-Encoding: gzip"), with("Content-Encoding: identity"), with("A : b"), with("A: b", " c"),
		with("Content-Length: 2"),
		with("Transfer-Encoding: chunked"), "GET / HTTP/1.0\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		size, err := preambleEnd(text, 0)
		if err != nil || size == 0 {
			return
		}
		h, err := parsePreamble(text[:size])
		if err != nil || !h.simple {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(text[:size]), neverEnding{})))
		if err != nil {
			t.Fatalf("%q is not a request to net/http: error %v", text, err)
		}
		want := preambleOf(r)
		if r.Method != string(h.method) || r.RequestURI != string(h.target) || !r.ProtoAtLeast(1, 1) ||
			r.ContentLength != h.length || h.chunked ||
			len(r.TransferEncoding) > 0 || h.upgrade || want.upgrade || r.Close != h.close ||
			!bytes.Equal(want.host, h.host) || !bytes.Equal(want.authorization, h.authorization) ||
			!bytes.Equal(want.origin, h.origin) ||
			!bytes.Equal(want.forwarded, h.forwarded) || r.Header.Get("Expect") != "" {
			t.Fatalf("%q: read as %+v, by net/http as %+v", text, h, r)
		}
	})
}

// neverEnding is a body of any length.
type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }
