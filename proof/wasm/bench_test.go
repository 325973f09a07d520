package main_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/testkit/provenchain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// BenchmarkRange proves and verifies 100 blocks of 100 transfers as one range, at 128 bits. The recipients are 10,000
// of 100,000 accounts. It also verifies the blocks one by one, and compresses both as a node sends them, as well as
// each part of the range.
func BenchmarkRange(b *testing.B) {
	bundles, together := provenchain.TransferBlocks(b, 100_000, 100, 100, 128)
	r := together()
	encoded, size, sent := r.Encode(), 0, 0
	b.Run("prove", func(b *testing.B) {
		for b.Loop() {
			together()
		}
		b.ReportMetric(float64(len(encoded)), "bytes")
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if _, err := proof.VerifyRange(encoded, 128); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(encoded)-len(r.Proof)), "bytes-without-proof")
	})
	b.Run("compress", func(b *testing.B) {
		sent := 0
		for b.Loop() {
			sent = compressed(encoded)
		}
		b.ReportMetric(float64(sent), "bytes")
	})
	for _, part := range partsOf(&r) {
		b.Run("part/"+part.name, func(b *testing.B) {
			sent := 0
			for b.Loop() {
				sent = compressed(part.bytes)
			}
			b.ReportMetric(float64(len(part.bytes)), "bytes")
			b.ReportMetric(float64(sent), "bytes-compressed")
		})
	}
	b.Run("blocks", func(b *testing.B) {
		for b.Loop() {
			size, sent = 0, 0
			for i := range bundles {
				bundle := bundles[i].Encode()
				size += len(bundle)
				sent += compressed(bundle)
				if _, err := proof.Verify(bundle, 128); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(size), "bytes")
		b.ReportMetric(float64(sent), "bytes-compressed")
	})
}

// compressed returns the number of bytes that a node sends when another node downloads a file.
func compressed(file []byte) int {
	if shrunk, coding := jsonrpc.Shrink(file, "zstd"); coding != "" {
		return len(shrunk)
	}
	return len(file)
}

// part is a part of a range.
type part struct {
	name  string
	bytes []byte
}

func partsOf(r *blockproof.Range) []part {
	parts := []part{{name: "headers"}, {name: "keys"}, {name: "before"}, {name: "after"}, {name: "lengths"}}
	add := func(i int, b []byte) { parts[i].bytes = append(parts[i].bytes, b...) }
	for _, h := range r.Headers {
		add(0, h.Encode())
	}
	for _, a := range r.Accesses {
		for i, b := range [][]byte{a.Key, a.Old, a.New} {
			add(1+i, b)
			add(4, binary.LittleEndian.AppendUint64(nil, uint64(len(b))))
		}
	}
	return append(parts, part{"list", types.EncodeAccesses(r.Accesses)}, part{"proof", r.Proof})
}

// BenchmarkVerify verifies bundles of blocks with n transfers on a state of 100,000 accounts, at 128 bits: in Go, with
// the tag purego without vector instructions, and in Node.js. The time is that of one call, from bytes to verdict.
func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	build(b, dir)
	for _, n := range []int{100, 1000} {
		bundle := provenchain.Transfers(b, 100_000, n, 128).Encode()
		file := filepath.Join(dir, fmt.Sprint("bundle", n))
		if err := os.WriteFile(file, bundle, 0o600); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("go/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := proof.Verify(bundle, 128); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(bundle)), "bytes")
		})
		b.Run(fmt.Sprintf("node/%d", n), func(b *testing.B) {
			out, err := exec.Command("node", filepath.Join(dir, "bench.js"), file, fmt.Sprint(b.N)).Output()
			if err != nil {
				b.Fatal(err)
			}
			milliseconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(milliseconds*1e6/float64(b.N), "ns/op")
		})
	}
}
