package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/upstream"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// liar serves one bundle as the proof of block 1, or of the range that begins there, and the headers that a victim
// knows.
type liar struct {
	blocks int
	gas    types.Gas
	limit  int64
	server *http.Server
	url    string

	mu              sync.Mutex
	answer          string
	bundle, headers []byte
}

func newUpstream(gas types.Gas, blocks int) (*liar, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &liar{gas: gas, blocks: blocks, url: "http://" + listener.Addr().String()}
	headers := make([]types.SignedHeader, 1+blocks)
	for i := range blocks {
		headers[1+i].Header.GasUsed = gas / types.Gas(blocks)
	}
	l.limit = mostBytes(headers)
	mux := http.NewServeMux()
	mux.HandleFunc("/proof/", l.serve)
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, _ = w.Write(l.headers) // a client that left misses nothing
	})
	l.server = &http.Server{Handler: mux}
	go func() { _ = l.server.Serve(listener) }() // close ends it
	return l, nil
}

func (l *liar) close() { _ = l.server.Close() }

// serve sends the bundle. The client may disconnect at any time.
func (l *liar) serve(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	send(w, l.answer, l.bundle, l.limit)
}

func send(w http.ResponseWriter, answer string, bundle []byte, limit int64) {
	switch answer {
	case "plain":
		w.Header().Set("Content-Length", strconv.Itoa(len(bundle)))
	case "zstd":
		if shrunk, coding := jsonrpc.Shrink(bundle, "zstd"); coding != "" {
			w.Header().Set("Content-Encoding", coding)
			bundle = shrunk
		}
	case "announced":
		w.Header().Set("Content-Length", strconv.FormatInt(limit, 10))
		bundle = bundle[:min(len(bundle), 1<<20)]
	}
	_, _ = w.Write(bundle)
}

// try makes a child process refuse a lie.
func (l *liar) try(ctx context.Context, lie lie) (cost, error) {
	list := lie.list()
	headers, err := lie.headers(l.gas, l.blocks)
	if err != nil {
		return cost{}, err
	}
	l.mu.Lock()
	l.answer, l.bundle = lie.Answer, lie.bundle(headers, list)
	l.headers = nil
	for i := range headers {
		l.headers = append(l.headers, headers[i].Encode()...)
	}
	l.mu.Unlock()
	program, err := os.Executable()
	if err != nil {
		return cost{}, err
	}
	victim := exec.CommandContext(ctx, program, "-verify", l.url)
	var said, failed bytes.Buffer
	victim.Stdout, victim.Stderr = &said, &failed
	if err := victim.Run(); err != nil {
		return cost{}, fmt.Errorf("%w: %s", err, &failed)
	}
	var c cost
	return c, json.Unmarshal(said.Bytes(), &c)
}

// victim fetches a bundle as a replica without state does, and reports the cost of refusing it.
func (s settings) victim(ctx context.Context) error {
	encoded, err := fetchHeaders(s.verify)
	if err != nil {
		return err
	}
	var headers []types.SignedHeader
	for of := range slices.Chunk(encoded, types.SignedHeaderBytes) {
		header, err := types.DecodeSignedHeader(of)
		if err != nil {
			return err
		}
		headers = append(headers, header)
	}
	blockproof.Circuit().Digest() // a node computes it at its start
	node, err := upstream.New(s.verify)
	if err != nil {
		return err
	}
	var c cost
	began := time.Now()
	bundle, refused := fetch(ctx, node, headers)
	c.Fetch = time.Since(began)
	began = time.Now()
	used := processor()
	if refused == nil {
		refused = verify(bundle, headers)
	}
	c.Verify, c.CPU = time.Since(began), processor()-used
	if refused == nil {
		return errors.New("the bundle is not refused")
	}
	c.Why = refused.Error()
	if c.Peak, err = peak("/proc/self/status"); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// mostBytes returns the greatest size that a replica accepts for the bundle of a block, or of a range, after its
// predecessor.
func mostBytes(headers []types.SignedHeader) int64 {
	if len(headers) == 2 {
		return replica.MostBundle(headers[1])
	}
	return replica.MostRange(headers[1:])
}

func fetch(ctx context.Context, node *upstream.Node, headers []types.SignedHeader) ([]byte, error) {
	if len(headers) == 2 {
		return node.Bundle(ctx, 1, mostBytes(headers))
	}
	return node.Range(ctx, 1, types.Height(len(headers)-1), mostBytes(headers))
}

func verify(encoded []byte, headers []types.SignedHeader) error {
	if len(headers) == 2 {
		b, err := blockproof.DecodeBundleOf(encoded, headers[0], headers[1])
		if err == nil {
			_, err = b.Verify(128, parallel.Run)
		}
		return err
	}
	r, err := blockproof.DecodeRangeOf(encoded, headers)
	if err == nil {
		_, err = r.Verify(128, parallel.Run)
	}
	return err
}

func fetchHeaders(url string) (encoded []byte, err error) {
	response, err := http.Get(url + "/headers")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	return io.ReadAll(response.Body)
}

// peak returns the peak resident memory of a process in bytes.
func peak(status string) (uint64, error) {
	content, err := os.ReadFile(status)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseUint(fields[1], 10, 54)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no VmHWM", status)
}

// processor returns the processor time used by this process.
func processor() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // never fails
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
