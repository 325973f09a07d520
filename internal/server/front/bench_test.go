package front

import (
	"bytes"
	"net"
	"testing"
)

// BenchmarkPost compares the cost of one small call on both paths, without the network.
func BenchmarkPost(b *testing.B) {
	for _, way := range []struct{ name, field string }{{"loop", "A: b"}, {"net/http", odd}} {
		b.Run(way.name, func(b *testing.B) {
			s, _ := start(b, Config{Hosts: []string{"*"}})
			client, server := net.Pipe()
			go s.serve(s.accept(server))
			request, answer := []byte(post(`{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber"}`, way.field)),
				make([]byte, 4<<10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Write(request); err != nil {
					b.Fatal(err)
				}
				if n, err := client.Read(answer); err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200")) {
					b.Fatalf("got %q, error %v", answer[:n], err)
				}
			}
			_ = client.Close()
		})
	}
}

func BenchmarkParseHead(b *testing.B) {
	text := []byte(with("User-Agent: Go-http-client/1.1", "Accept-Encoding: gzip", "Authorization: Bearer "+goodKey))
	for b.Loop() {
		size, err := preambleEnd(text, 0)
		if err != nil {
			b.Fatal(err)
		}
		if h, err := parsePreamble(text[:size]); err != nil || !h.simple {
			b.Fatal(err)
		}
	}
}
