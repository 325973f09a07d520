package jsonrpc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

// TestShrink: the output is the input, compressed only for clients that accept it.
func TestShrink(t *testing.T) {
	file := []byte(strings.Repeat("a file with little in it. ", 2000))
	noise := make([]byte, 20000)
	rng := rand.NewChaCha8([32]byte{})
	_, _ = rng.Read(noise)
	for _, test := range []struct {
		accepted string
		file     []byte
		coding   string
	}{
		{"zstd", file, "zstd"},
		{"gzip, deflate, br, zstd", file, "zstd"},
		{"GZIP ,deflate", file, "gzip"},
		{"", file, ""}, {"identity", file, ""}, {"br", file, ""}, {"zstd;q=0", file, ""},
		{"zstd", file[:minCompressed-1], ""},
		{"zstd, gzip", noise, "zstd"},
	} {
		shrunk, coding := Shrink(test.file, test.accepted)
		if coding != test.coding || int64(len(shrunk)) > shrunkBytes(int64(len(test.file))) {
			t.Errorf("%q: %d bytes in %q", test.accepted, len(shrunk), coding)
		}
		back := test.file
		var err error
		switch coding {
		case "zstd":
			back, err = Unshrink(bytes.NewReader(shrunk), int64(len(test.file)))
		case "gzip":
			var r *gzip.Reader
			if r, err = gzip.NewReader(bytes.NewReader(shrunk)); err == nil {
				back, err = io.ReadAll(r)
			}
		}
		if err != nil || !bytes.Equal(back, test.file) {
			t.Errorf("%q: %d bytes come back, error %v", test.accepted, len(back), err)
		}
	}
}

// TestShrinkerInPieces: a file that is added in pieces is compressed piece by piece, into a frame with its length.
func TestShrinkerInPieces(t *testing.T) {
	file, rng := make([]byte, 3<<20), rand.New(rand.NewPCG(1, 2))
	for i := range file {
		file[i] = byte(rng.IntN(16)) // half of it can be saved
	}
	for _, piece := range []int{1 << 10, 100_000, 256 << 10, len(file)} {
		s := NewShrinker(int64(len(file)), "zstd")
		var shrunk []byte
		most := 0
		for rest := file; len(rest) > 0; {
			n := min(piece, len(rest))
			out, err := s.Add(rest[:n], n == len(rest))
			if err != nil {
				t.Fatal(err)
			}
			rest, shrunk, most = rest[n:], append(shrunk, out...), max(most, len(out))
		}
		s.Release()
		if want := piece + 256<<10; most > want {
			t.Errorf("pieces of %d: got up to %d bytes at once, want at most %d", piece, most, want)
		}
		back, err := Unshrink(bytes.NewReader(shrunk), int64(len(file)))
		if err != nil || !bytes.Equal(back, file) {
			t.Errorf("pieces of %d: got %d bytes back, %v; want the file", piece, len(back), err)
		}
	}
	s := NewShrinker(int64(len(file)), "zstd")
	defer s.Release()
	if _, err := s.Add(file[1:], true); err == nil {
		t.Error("a file that is shorter than was said: got no error")
	}
}

// TestShrinkersTakeLittle: the memory of a stalled download.
func TestShrinkersTakeLittle(t *testing.T) {
	const count = 8
	for _, coding := range []string{"zstd", "gzip"} {
		var before, after runtime.MemStats
		var shrinkers [count]*Shrinker
		piece := make([]byte, 256<<10)
		_, _ = rand.NewChaCha8([32]byte{}).Read(piece)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range shrinkers {
			shrinkers[i] = NewShrinker(16<<20, coding)
			for range 8 {
				if _, err := shrinkers[i].Add(piece, false); err != nil {
					t.Fatal(err)
				}
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / count; got > ShrinkerBytes {
			t.Errorf("%s: got %d bytes each, want at most %d", coding, got, ShrinkerBytes)
		}
		for _, s := range shrinkers {
			s.Release()
		}
	}
}

// frameOf returns b as one zstd frame that states its length.
func frameOf(t testing.TB, b []byte, options ...zstd.EOption) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(b, nil)
}

// TestUnshrinkRefuses: hostile frames are refused, and take no more memory than is allowed.
func TestUnshrinkRefuses(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 64<<20)
	bomb, largest := frameOf(t, zeros), frameOf(t, zeros[:limit])
	small := slices.Clip(frameOf(t, zeros[:999])) // with its length, which frames under 256 bytes lack
	if len(bomb) > limit {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	var unsaid bytes.Buffer
	stream, err := zstd.NewWriter(&unsaid)
	if err == nil {
		_, err = stream.Write(zeros[:9])
	}
	if err = errors.Join(err, stream.Close()); err != nil {
		t.Fatal(err)
	}
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}
	// A frame of one byte, then blocks without content: more bytes than the output may have.
	empty := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 1, 0, 0, 0}, bytes.Repeat([]byte{0, 0, 0}, limit)...)
	understated := bytes.Clone(largest)
	understated[7]-- // the third byte of the length, which follows the magic and the descriptor
	// A byte, in a frame with a window of 2^(10 + w/8) bytes.
	window := func(w byte) []byte {
		return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, w, 1, 0, 0, 0}, 1|1<<3, 0, 0, 'a')
	}
	if content, err := Unshrink(bytes.NewReader(window(0x68)), limit); err != nil || string(content) != "a" {
		t.Errorf("the largest window: got %q, want a, error %v", content, err)
	}
	for name, test := range map[string]struct {
		from io.Reader
		want error
	}{
		"too large":               {bytes.NewReader(bomb), ErrTooLarge},
		"its length is not said":  {&unsaid, ErrBadAnswer},
		"another length is said":  {bytes.NewReader(understated), ErrBadAnswer},
		"a frame behind it":       {bytes.NewReader(append(small, small...)), ErrBadAnswer},
		"a byte behind it":        {bytes.NewReader(append(small, 0)), ErrBadAnswer},
		"nothing but a skippable": {bytes.NewReader(skippable), ErrBadAnswer},
		"blocks without content":  {bytes.NewReader(empty), ErrBadAnswer},
		"a large window":          {bytes.NewReader(window(0x70)), ErrBadAnswer},
		"cut off":                 {bytes.NewReader(largest[:len(largest)-1]), ErrBadAnswer},
		"no frame":                {strings.NewReader("HTTP"), ErrBadAnswer},
		"nothing":                 {strings.NewReader(""), ErrBadAnswer},
		"a connection ends":       {iotest.TimeoutReader(bytes.NewReader(largest[:9])), ErrUnreachable},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		content, err := Unshrink(test.from, limit)
		runtime.ReadMemStats(&after)
		if content != nil || !errors.Is(err, test.want) {
			t.Errorf("%s: %d bytes, error %v", name, len(content), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > maxWindow+4*limit {
			t.Errorf("%s takes %d bytes", name, took)
		}
	}
	if content, err := Unshrink(bytes.NewReader(largest), limit); err != nil || len(content) != limit {
		t.Errorf("the largest: %d bytes, error %v", len(content), err)
	}
}

// FuzzUnshrink: no input does harm, or decompresses to more than is allowed.
func FuzzUnshrink(f *testing.F) {
	const limit = 1 << 16
	f.Add(frameOf(f, []byte("a file")))
	f.Add(frameOf(f, make([]byte, limit)))
	f.Add(frameOf(f, make([]byte, limit+1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		content, err := Unshrink(bytes.NewReader(b), limit)
		switch {
		case err == nil && len(content) > limit:
			t.Errorf("%d bytes", len(content))
		case err != nil && !errors.Is(err, ErrBadAnswer) && !errors.Is(err, ErrTooLarge):
			t.Errorf("error %v", err)
		}
	})
}
