package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// serveTime is how long a node may take to serve; pollTime is between two looks at something that has no signal.
	serveTime = time.Minute
	pollTime  = 100 * time.Millisecond
	// maxMetrics bounds what is read of a node's metrics, in bytes.
	maxMetrics = 4 << 20
	// ticks are those of a second in /proc (proc(5): 100 on every system that Go runs on).
	ticks = 100
)

// cores is how many the machine has.
var cores = float64(runtime.NumCPU())

// node is a development chain, with a prover beside it unless it proves by itself.
type node struct {
	RPC   string `json:"rpc"`
	Admin string `json:"admin"`

	process *exec.Cmd
	prover  *exec.Cmd // nil unless proofs are made elsewhere
	dir     string
	ended   chan struct{}
}

// startNode starts a node, and a prover for it where proofs are made elsewhere.
func startNode(ctx context.Context, s settings, mode string) (n *node, err error) {
	n = &node{ended: make(chan struct{})}
	if n.dir, err = os.MkdirTemp(s.dir, "cairn-proving-"); err != nil {
		return nil, err
	}
	ready, bits := filepath.Join(n.dir, "ready.json"), strconv.Itoa(s.proofBits)
	n.process = exec.Command(s.binary, "dev", "--data-dir", filepath.Join(n.dir, "chain"), "--block-time", s.blockTime.String(), "--prove", mode,
		"--proof-bits", bits, "--rpc-addr", s.rpcAddr, "--admin-addr", s.adminAddr, "--ready-file", ready)
	n.process.Stderr = os.Stderr
	if err := n.process.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.dir))
	}
	go func() {
		_ = n.process.Wait() // asked to end, or its last words say why it did
		close(n.ended)
	}()
	if err = n.awaitReady(ctx, ready); err == nil && mode == elsewhere {
		n.prover = exec.Command(s.binary, "prove", "--admin", n.Admin, "--proof-bits", bits, "--quiet")
		n.prover.Stderr = os.Stderr
		if err = n.prover.Start(); err != nil {
			n.prover = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, n.stop())
	}
	return n, nil
}

func (n *node) awaitReady(ctx context.Context, ready string) error {
	ctx, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	for {
		text, err := os.ReadFile(ready)
		if err == nil {
			return json.Unmarshal(text, n)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-time.After(pollTime):
		case <-n.ended:
			return errors.New("the node ended before it served")
		case <-ctx.Done():
			return fmt.Errorf("the node does not serve: %w", ctx.Err())
		}
	}
}

// stop ends node and prover, and removes the chain.
func (n *node) stop() (err error) {
	if n.prover != nil {
		if err = n.prover.Process.Signal(syscall.SIGTERM); err == nil {
			err = n.prover.Wait()
		}
	}
	if signal := n.process.Process.Signal(syscall.SIGTERM); signal != nil && !errors.Is(signal, os.ErrProcessDone) {
		err = errors.Join(err, signal)
	} else {
		<-n.ended
	}
	return errors.Join(err, os.RemoveAll(n.dir))
}

// sample is what the node tells of itself, and the system of its processes.
type sample struct {
	lag, proofs        float64 // blocks that wait for a proof; proofs made since the start
	nodeCPU, proverCPU float64 // seconds since the start
}

// sample reads the node's metrics and the processes' times.
func (n *node) sample(ctx context.Context) (s sample, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Admin+"/metrics", nil)
	if err != nil {
		return s, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, err
	}
	defer response.Body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(io.LimitReader(response.Body, maxMetrics))
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = value
		}
	}
	if err := lines.Err(); err != nil {
		return s, err
	}
	s.lag, s.proofs, s.nodeCPU = values["cairn_proof_lag_blocks"], values["cairn_proofs_total"], values["process_cpu_seconds_total"]
	s.proverCPU, err = n.proverCPU()
	return s, err
}

// proverCPU is what the prover took: the process beside the node, or the one that the node started.
func (n *node) proverCPU() (seconds float64, err error) {
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range processes {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, text, _ := strings.Cut(string(stat), ") ") // after the name, which may have anything in it
		fields := strings.Fields(text)
		if len(fields) < 13 {
			return 0, fmt.Errorf("%s: %q", path, stat)
		}
		beside := n.prover != nil && filepath.Base(filepath.Dir(path)) == strconv.Itoa(n.prover.Process.Pid)
		if !beside && fields[1] != strconv.Itoa(n.process.Process.Pid) { // ppid
			continue
		}
		for _, field := range fields[11:13] { // utime, stime
			spent, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			seconds += spent / ticks
		}
	}
	return seconds, nil
}

// mostLag is the most blocks that waited for a proof at a time, until ctx ends.
func (n *node) mostLag(ctx context.Context) (most float64) {
	for {
		if s, err := n.sample(ctx); err == nil { // a look that fails is made up for by the next
			most = max(most, s.lag)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return most
		}
	}
}
