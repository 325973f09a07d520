package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrTooLarge is returned for a file above the requested limit.
var ErrTooLarge = errors.New("it is too large")

const (
	// fileWindow is the window of a file's compression in bytes. Each slow download holds one.
	fileWindow = 512 << 10
	// ShrinkerBytes is the approximate memory of a [Shrinker] in use.
	ShrinkerBytes = 2 << 20
)

// fileWriters holds encoders that compress in the writer's goroutine.
var fileWriters = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(fileWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("jsonrpc: zstd refuses its options: " + err.Error())
	}
	return e
}}

// A Shrinker compresses a file that is added in pieces. Its zstd frame contains the length of the file, as [Unshrink]
// requires.
type Shrinker struct {
	out  bytes.Buffer
	zstd *zstd.Encoder // one of these is set
	gzip *gzip.Writer
}

// Coding returns the coding for a file of the given size and the client's Accept-Encoding: zstd, or gzip if zstd is not
// accepted. It returns "" if neither is accepted or the file is smaller than 16 KiB.
func Coding(size int64, accepted string) string {
	if size >= minCompressed {
		for _, coding := range []string{"zstd", "gzip"} {
			if Accepts([]byte(accepted), coding) {
				return coding
			}
		}
	}
	return ""
}

// NewShrinker returns a Shrinker for a file of the given size, in a coding that [Coding] returned. The caller must
// release it.
func NewShrinker(size int64, coding string) *Shrinker {
	s := new(Shrinker)
	if coding == "zstd" {
		s.zstd = fileWriters.Get().(*zstd.Encoder)
		s.zstd.ResetContentSize(&s.out, size)
	} else {
		s.gzip = gzipWriters.Get().(*gzip.Writer)
		s.gzip.Reset(&s.out)
	}
	return s
}

// Add adds the next piece of the file, with last set for the final one, and returns the newly compressed bytes,
// possibly none. They are valid until the next call. With zstd, Add fails if the pieces do not add up to the file's
// size.
func (s *Shrinker) Add(piece []byte, last bool) ([]byte, error) {
	s.out.Reset()
	var to io.WriteCloser = s.gzip
	if s.zstd != nil {
		to = s.zstd
	}
	_, err := to.Write(piece)
	if err == nil && last {
		err = to.Close()
	}
	return s.out.Bytes(), err
}

// Release returns the compressor to its pool.
func (s *Shrinker) Release() {
	if s.zstd != nil {
		s.zstd.Reset(nil)
		fileWriters.Put(s.zstd)
	} else {
		s.gzip.Reset(io.Discard)
		gzipWriters.Put(s.gzip)
	}
}

// Shrink compresses a whole file as a [Shrinker] does and returns the coding, or "" if the file is not to be
// compressed.
func Shrink(file []byte, accepted string) (shrunk []byte, coding string) {
	if coding = Coding(int64(len(file)), accepted); coding == "" {
		return nil, ""
	}
	s := NewShrinker(int64(len(file)), coding)
	defer s.Release()
	shrunk, err := s.Add(file, true)
	if err != nil {
		panic("jsonrpc: a buffer refuses bytes: " + err.Error())
	}
	return bytes.Clone(shrunk), coding
}

// Accepts reports whether an Accept-Encoding lists the coding, in lower case, without a weight. Any weight counts as
// refusal: that costs only bytes.
func Accepts(accepted []byte, coding string) bool {
	for one := range bytes.SplitSeq(accepted, []byte{','}) {
		if strings.EqualFold(string(bytes.Trim(one, " \t")), coding) {
			return true
		}
	}
	return false
}

// appendGzip appends b in gzip to dst.
func appendGzip(dst, b []byte) []byte {
	to := bytes.NewBuffer(dst)
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(to)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		panic("jsonrpc: a buffer refuses bytes: " + err.Error())
	}
	return to.Bytes()
}

// Unshrink reads a file of at most limit bytes that a [Shrinker] compressed with zstd: one frame of at most
// shrunkBytes(limit), which contains its content's length, followed by nothing but skippable frames. It allocates
// memory for the content once its length is known to be allowed, and for a window of at most 8 MiB. It returns
// [ErrTooLarge], [ErrBadAnswer] for any other input, or [ErrUnreachable] with the error of from.
func Unshrink(from io.Reader, limit int64) ([]byte, error) {
	source := &source{from: from}
	content, err := readFrame(bufio.NewReader(io.LimitReader(source, shrunkBytes(limit))), limit)
	switch {
	case source.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, source.err)
	case errors.Is(err, ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: it does not decompress: %w", ErrBadAnswer, err)
	}
	return content, nil
}

// shrunkBytes bounds the frame of an incompressible file: a few bytes for the frame and for each of its blocks (RFC
// 8878).
func shrunkBytes(file int64) int64 { return file + file>>10 + 64 }

// source records the error of its reader.
type source struct {
	from io.Reader
	err  error // any error but io.EOF
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// readFrame reads one zstd frame with its content's length, to the end of in.
func readFrame(in *bufio.Reader, limit int64) ([]byte, error) {
	start, err := in.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var header zstd.Header
	switch err := header.Decode(start); {
	case err != nil:
		return nil, err
	case header.Skippable || !header.HasFCS:
		return nil, errors.New("the frame does not contain the length of its content")
	case header.FrameContentSize > uint64(limit):
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, header.FrameContentSize, limit)
	}
	d := zstdReaders.Get().(*zstd.Decoder)
	defer zstdReaders.Put(d)
	if err := d.Reset(in); err != nil {
		return nil, err
	}
	content := make([]byte, header.FrameContentSize)
	if _, err := io.ReadFull(d, content); err != nil {
		return nil, err
	}
	if n, err := d.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, fmt.Errorf("something follows: %w", err)
	}
	return content, nil
}
