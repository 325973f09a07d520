package provers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/types"
)

// Worker proves blocks from a node's queue.
type Worker struct {
	Node   admin.Client
	Prover *proving.Prover
	Log    *slog.Logger

	// OnProof, unless nil, is called for each proof that the node has accepted, of one block or several.
	OnProof func(first, last types.Height, accesses, proofBytes int, took time.Duration)

	mu    sync.Mutex
	stats Stats
	fault error // from the last attempt
}

// Stats holds a worker's counts since its start.
type Stats struct {
	Proofs   uint64 // proofs that the node accepted
	Failures uint64
}

// Stats returns the worker's counts since its start.
func (w *Worker) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Ready reports whether the last attempt to get a block or to prove it succeeded, and if not, the reason.
func (w *Worker) Ready() (bool, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault != nil {
		return false, w.fault.Error()
	}
	return true, ""
}

// note records the outcome of an attempt.
func (w *Worker) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault = err; err != nil {
		w.stats.Failures++
	}
}

// retryAfter is the pause after a failed attempt.
const retryAfter = time.Second

// Run proves blocks until ctx ends, and returns its error. It retries after failures.
func (w *Worker) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := w.proveNext(ctx)
		if ctx.Err() != nil {
			break
		}
		if w.note(err); err != nil {
			w.Log.Warn("cannot fetch, prove or submit a block", "node", w.Node.URL, "error", err)
			select {
			case <-time.After(retryAfter):
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}

// proveNext waits for a task, proves it and submits the proof.
func (w *Worker) proveNext(ctx context.Context) error {
	encoded, err := w.do(ctx, http.MethodPost, nextPath, admin.JSON, nil)
	if err != nil || len(encoded) == 0 {
		return err
	}
	work, err := proving.DecodeWork(encoded)
	if err != nil {
		return err
	}
	span, start := work.Span(), time.Now()
	path := spanPath + strconv.FormatUint(uint64(span), 10)
	proof, accesses, err := work.ProveWith(w.Prover)
	if err != nil {
		_, refusal := w.do(ctx, http.MethodDelete, path+"?refuse=1", "", nil)
		return errors.Join(fmt.Errorf("cannot prove blocks %d to %d: %w", span.First(), span.Last(), err), refusal)
	}
	took := time.Since(start)
	if _, err := w.do(ctx, http.MethodPut, path, "application/octet-stream", proof); err != nil {
		return fmt.Errorf("hand in the proof of blocks %d to %d: %w", span.First(), span.Last(), err)
	}
	w.mu.Lock()
	w.stats.Proofs++
	w.mu.Unlock()
	if w.OnProof != nil {
		w.OnProof(span.First(), span.Last(), accesses, len(proof), took)
	}
	return nil
}

// do sends a request and returns the answer's body. An answer without success is an error with its text.
func (w *Worker) do(ctx context.Context, method, path, media string, body []byte) (answer []byte, err error) {
	response, err := w.Node.Do(ctx, method, path, media, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	size := max(0, min(response.ContentLength, proving.MaxTaskBytes)) // −1 if unknown
	read := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := read.ReadFrom(io.LimitReader(response.Body, proving.MaxTaskBytes)); err != nil {
		return nil, err
	}
	answer = read.Bytes()
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s: %.300s", response.Status, strings.TrimSpace(string(answer)))
	}
	return answer, nil
}
