package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrTooLarge: a file is larger than was asked for.
var ErrTooLarge = errors.New("it is too large")

// fileEncoder compresses files whole, as many at a time as there are cores. Its frames say how long a file is.
var fileEncoder = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("jsonrpc: zstd refuses its options: " + err.Error())
	}
	return e
}()

// Shrink compresses a file for whom an Accept-Encoding says what it accepts, and names the coding: zstd, or gzip where
// that is not accepted. It names none if neither is, or the file is under 16 KiB or would not become smaller.
func Shrink(file []byte, accepted string) (shrunk []byte, coding string) {
	switch {
	case len(file) < minCompressed:
		return nil, ""
	case Accepts([]byte(accepted), "zstd"):
		shrunk, coding = fileEncoder.EncodeAll(file, nil), "zstd"
	case Accepts([]byte(accepted), "gzip"):
		shrunk, coding = appendGzip(nil, file), "gzip"
	}
	if coding == "" || len(shrunk) >= len(file) {
		return nil, ""
	}
	return shrunk, coding
}

// Accepts reports whether an Accept-Encoding lists a coding, which is in lower case, without a weight. A false no costs
// only bytes, so any weight counts as one.
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

// Unshrink reads a file of at most limit bytes that [Shrink] compressed with zstd. That is one frame, which says its
// content's length, in no more bytes than limit, and nothing behind it but skippable frames. Memory is taken for the
// content once, after its length is known to be allowed, and for a window of at most 8 MiB. Errors are [ErrTooLarge],
// [ErrBadAnswer] for what is no such frame, and [ErrUnreachable] with what from gives.
func Unshrink(from io.Reader, limit int64) ([]byte, error) {
	source := &source{from: from}
	content, err := readFrame(bufio.NewReader(io.LimitReader(source, limit)), limit)
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

// source remembers why it could not be read.
type source struct {
	from io.Reader
	err  error // other than io.EOF
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// readFrame reads one frame of zstd that says its content's length, to the end of in.
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
		return nil, errors.New("the frame does not say its content's length")
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
