package front

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// BenchmarkPost compares the two ways of answering one small call over one kept connection.
func BenchmarkPost(b *testing.B) {
	for _, way := range []struct{ name, field string }{{"loop", "A: b"}, {"net/http", odd}} {
		b.Run(way.name, func(b *testing.B) {
			_, address := start(b, Config{})
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			request := []byte(post(`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber"}`, way.field))
			reader := bufio.NewReader(conn)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(request); err != nil {
					b.Fatal(err)
				}
				answer, err := http.ReadResponse(reader, nil)
				if err != nil || answer.StatusCode != 200 {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseHead(b *testing.B) {
	text := []byte(with("User-Agent: Go-http-client/1.1", "Accept-Encoding: gzip", "Authorization: Bearer "+goodKey))
	for b.Loop() {
		size, err := headEnd(text, 0)
		if err != nil {
			b.Fatal(err)
		}
		if h, err := parseHead(text[:size]); err != nil || !h.simple {
			b.Fatal(err)
		}
	}
}
