package proving

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
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// The paths under which a queue is served, on the node's admin address.
const (
	nextPath   = "/proving/next"
	heightPath = "/proving/block/"
)

// waitForTask is how long a request for a task waits for one.
const waitForTask = 20 * time.Second

// Handler serves the queue to provers: GET /proving/next answers with the next task, 204 where none comes in time;
// PUT /proving/block/HEIGHT takes its proof, and answers 422 with the reason where it does not hold; DELETE gives the
// block back, or with ?refuse=1 up.
func (q *Queue) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+nextPath, q.serveNext)
	mux.HandleFunc("PUT "+heightPath+"{height}", q.serveProof)
	mux.HandleFunc("DELETE "+heightPath+"{height}", q.serveReturn)
	return mux
}

func (q *Queue) serveNext(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), waitForTask)
	defer cancel()
	task, err := q.Next(ctx)
	switch {
	case ctx.Err() != nil:
		if task != nil {
			q.Release(task.Header.Header.Height)
		}
		w.WriteHeader(http.StatusNoContent)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		encoded := task.Encode()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
		if _, err := w.Write(encoded); err != nil {
			q.Release(task.Header.Header.Height) // the prover has gone
		}
	}
}

// maxProofBytes bounds a proof that is handed in. At the default gas limit a block touches at most 244,000 keys; with paths
// ground by 2^40 hashes they take 83 segments of 0.4 MB and as many other leaves: 50 MB.
const maxProofBytes = 64 << 20

func (q *Queue) serveProof(w http.ResponseWriter, r *http.Request) {
	height, err := strconv.ParseUint(r.PathValue("height"), 10, 64)
	if err != nil {
		http.Error(w, "not a height", http.StatusBadRequest)
		return
	}
	proof, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxProofBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch err := q.Accept(types.Height(height), proof); {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, ErrUnwanted):
		http.Error(w, err.Error(), http.StatusConflict)
	case errors.Is(err, blockproof.ErrProof):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (q *Queue) serveReturn(w http.ResponseWriter, r *http.Request) {
	height, err := strconv.ParseUint(r.PathValue("height"), 10, 64)
	if err != nil {
		http.Error(w, "not a height", http.StatusBadRequest)
		return
	}
	if r.URL.Query().Get("refuse") == "1" {
		q.Refuse(types.Height(height))
	} else {
		q.Release(types.Height(height))
	}
	w.WriteHeader(http.StatusNoContent)
}

// Worker proves blocks of a node's queue.
type Worker struct {
	URL    string // of the node's admin address
	Prover *Prover
	Client *http.Client
	Log    *slog.Logger

	// OnProof, unless nil, is told of each proof that the node has taken.
	OnProof func(height types.Height, accesses, proofBytes int, took time.Duration)
}

// retryAfter is how long a worker waits for a node that does not answer.
const retryAfter = time.Second

// Run proves until ctx ends, with its error; where the node cannot be reached it tries again.
func (w *Worker) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.proveNext(ctx); err != nil && ctx.Err() == nil {
			w.Log.Warn("proving failed", "node", w.URL, "error", err)
			select {
			case <-time.After(retryAfter):
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}

// proveNext waits for a task and hands its proof in.
func (w *Worker) proveNext(ctx context.Context) error {
	encoded, err := w.do(ctx, http.MethodGet, nextPath, nil)
	if err != nil || len(encoded) == 0 {
		return err
	}
	task, err := DecodeTask(encoded)
	if err != nil {
		return err
	}
	height, start := task.Header.Header.Height, time.Now()
	path := heightPath + strconv.FormatUint(uint64(height), 10)
	proof, err := w.Prover.Prove(task)
	if err != nil {
		_, refusal := w.do(ctx, http.MethodDelete, path+"?refuse=1", nil)
		return errors.Join(fmt.Errorf("block %d cannot be proven: %w", height, err), refusal)
	}
	took := time.Since(start)
	if _, err := w.do(ctx, http.MethodPut, path, proof); err != nil {
		return fmt.Errorf("hand in the proof of block %d: %w", height, err)
	}
	if w.OnProof != nil {
		w.OnProof(height, len(task.Accesses), len(proof), took)
	}
	return nil
}

// do sends a request and returns what answers it; an answer that is no success is an error with its text.
func (w *Worker) do(ctx context.Context, method, path string, body []byte) (answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(w.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := w.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	size := max(0, min(response.ContentLength, MaxTaskBytes)) // −1 where it is not known
	read := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := read.ReadFrom(io.LimitReader(response.Body, MaxTaskBytes)); err != nil {
		return nil, err
	}
	answer = read.Bytes()
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s: %.300s", response.Status, strings.TrimSpace(string(answer)))
	}
	return answer, nil
}
