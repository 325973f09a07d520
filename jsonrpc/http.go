package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	contentType = "application/json"
	// minCompressed is the size in bytes from which answers are compressed: compressing a smaller one would take longer
	// than producing it.
	minCompressed = 16 << 10
	// maxWindow bounds the memory in bytes that a zstd stream may require (RFC 9659).
	maxWindow = 8 << 20
)

// ServeHTTP answers the body of a POST as Serve does. Both bodies may be compressed with gzip or zstd. Every
// well-formed exchange has the status 200, even if calls fail, or 204 if there is nothing to answer. Otherwise the
// status is 400 (a body that breaks off or does not decompress), 405, 413 or 415, and the body is one sentence of text.
//
// The http.Server's timeouts must handle slow clients.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept-Encoding")
	body := bodies.Get().(*bytes.Buffer)
	body.Reset()
	defer func() {
		if body.Cap() <= maxPooledBytes {
			bodies.Put(body)
		}
	}()
	if refusal := s.readRequest(w, r, body); refusal != nil {
		refusal.write(w)
		return
	}
	buffer := answerBuffers.Get().(*[]byte)
	defer answerBuffers.Put(buffer)
	begun := false
	answer, broken := s.AppendTo(r.Context(), body.Bytes(), (*buffer)[:0], func(part []byte) error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", contentType)
		}
		_, err := w.Write(part)
		if goes, is := w.(interface{ Goes() }); is { // the server may extend the time limit for the rest
			goes.Goes()
		}
		return err
	})
	if cap(answer) <= maxPooledBytes {
		*buffer = answer
	}
	if broken != nil {
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
	if begun {
		_, _ = w.Write(answer) // an error means that the client has gone
		return
	}
	if len(answer) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", contentType)
	if shrunk, coding := s.shrink(r, answer); coding != "" {
		answer = shrunk
		w.Header().Set("Content-Encoding", coding)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	// An error means that the client has gone.
	_, _ = w.Write(answer)
}

// shrink compresses an answer in a turn, as the client accepts, and returns the coding. It returns "" if the answer is
// sent uncompressed.
func (s *Server) shrink(r *http.Request, answer []byte) (shrunk []byte, coding string) {
	accepted := strings.Join(r.Header.Values("Accept-Encoding"), ",")
	if Coding(int64(len(answer)), accepted) == "" {
		return nil, ""
	}
	turns := s.options.turns(len(answer))
	if turns.Enter(r.Context()) != nil {
		return nil, ""
	}
	defer turns.Leave(r.Context())
	return Shrink(answer, accepted)
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("jsonrpc: gzip refuses its level: " + err.Error())
	}
	return w
}}

// Compress appends the gzipped answer to dst, in a turn. It returns dst and false if the answer is too small to gain by
// it or ctx ends first.
func (s *Server) Compress(ctx context.Context, answer, dst []byte) (out []byte, compressed bool) {
	turns := s.options.turns(len(answer))
	if len(answer) < minCompressed || turns.Enter(ctx) != nil {
		return dst, false
	}
	defer turns.Leave(ctx)
	return appendGzip(dst, answer), true
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// A refusal is the answer to a malformed request.
type refusal struct {
	status   int
	sentence string
	header   string
	value    string
}

func (f *refusal) write(w http.ResponseWriter) {
	if f.header != "" {
		w.Header().Set(f.header, f.value)
	}
	http.Error(w, f.sentence, f.status)
}

// readRequest checks the request and reads its body into body, decompressed and bounded.
func (s *Server) readRequest(w http.ResponseWriter, r *http.Request, body *bytes.Buffer) *refusal {
	limit := int64(s.options.MaxRequestBytes)
	// The rest of an oversized body is not read: the connection ends with the answer.
	tooLarge := &refusal{http.StatusRequestEntityTooLarge,
		"The request is larger than " + strconv.FormatInt(limit, 10) + " bytes.", "Connection", "close"}
	switch {
	case r.Method != http.MethodPost:
		return &refusal{http.StatusMethodNotAllowed, "JSON-RPC accepts only POST.", "Allow", http.MethodPost}
	case !isJSON(r.Header):
		return &refusal{
			http.StatusUnsupportedMediaType, "The content type must be " + contentType + ".", "Accept", contentType,
		}
	case r.ContentLength > limit:
		return tooLarge
	}
	// The limit applies twice: to the body as sent, and as decompressed.
	plain, done, err := decompress(http.MaxBytesReader(w, r.Body, limit), r.Header.Values("Content-Encoding"))
	if errors.Is(err, errUnknownEncoding) {
		return &refusal{
			http.StatusUnsupportedMediaType, "The content encoding must be gzip or zstd.", "Accept-Encoding", "gzip, zstd",
		}
	}
	if err == nil {
		_, err = body.ReadFrom(http.MaxBytesReader(nil, io.NopCloser(plain), limit))
		done()
	}
	var overrun *http.MaxBytesError
	switch {
	case errors.As(err, &overrun):
		return tooLarge
	case err != nil:
		return &refusal{http.StatusBadRequest, "Cannot read the body.", "Connection", "close"}
	}
	return nil
}

// isJSON reports whether the header declares a JSON body, with any parameters.
func isJSON(header http.Header) bool {
	declared, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && declared == contentType
}

var errUnknownEncoding = errors.New("jsonrpc: unknown content encoding")

var (
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zstdReaders = sync.Pool{New: func() any {
		// With a concurrency of 1 the reader decodes in its caller's goroutine: a decoder that the pool drops leaks
		// nothing.
		d, err := zstd.NewReader(
			nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow),
		)
		if err != nil {
			panic("jsonrpc: zstd refuses its options: " + err.Error())
		}
		return d
	}}
)

// decompress returns a reader of the decompressed src, and a function to call when it has been read. It supports at
// most one content encoding.
func decompress(src io.Reader, encodings []string) (io.Reader, func(), error) {
	switch strings.ToLower(strings.Join(encodings, ",")) {
	case "", "identity":
		return src, func() {}, nil
	case "gzip":
		zr := gzipReaders.Get().(*gzip.Reader)
		if err := zr.Reset(src); err != nil {
			gzipReaders.Put(zr)
			return nil, nil, err
		}
		return zr, func() { gzipReaders.Put(zr) }, nil
	case "zstd":
		zr := zstdReaders.Get().(*zstd.Decoder)
		if err := zr.Reset(src); err != nil {
			zstdReaders.Put(zr)
			return nil, nil, err
		}
		return zr, func() { zstdReaders.Put(zr) }, nil
	}
	return nil, nil, errUnknownEncoding
}
