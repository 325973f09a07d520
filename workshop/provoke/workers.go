package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	members "github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// Ports after the node's, of the processes that work for it.
const (
	signerPort      = 20
	signerAdminPort = 21
	proverAdminPort = 22
)

// worker is a process that works for the node, which may be stopped and started again. Prometheus scrapes it.
type worker struct {
	*program.Process // nil while it is stopped

	command program.Command
	targets string // file that tells Prometheus of it
}

// newWorker starts a command whose admin address is at a port, and has Prometheus scrape it as a job.
func (st *stage) newWorker(job string, port int, args ...string) (*worker, error) {
	address := fmt.Sprintf("127.0.0.1:%d", st.firstPort+port)
	w := &worker{
		command: program.Command{
			Args: slices.Concat([]string{st.settings.program}, args, []string{"--admin-addr", address}),
			Log:  filepath.Join(st.dir, job+".log"),
		},
		targets: filepath.Join(filepath.Dir(st.dir), job+".json"),
	}
	st.workers = append(st.workers, w)
	targets := fmt.Appendf(nil, `[{"targets": [%q]}]`, address)
	return w, errors.Join(w.start(), os.WriteFile(w.targets, targets, 0o600))
}

func (w *worker) start() (err error) {
	w.Process, err = program.Start(w.command)
	return err
}

// stop ends the process with a signal and returns when it is gone.
func (w *worker) stop(signal os.Signal) error {
	if w.Process == nil {
		return nil
	}
	defer func() { w.Process = nil }()
	return w.End(signal)
}

// close ends the process for good.
func (w *worker) close() error { return errors.Join(w.stop(os.Interrupt), os.Remove(w.targets)) }

// useSigner gives the node's key to a signer, and starts the node without it.
func useSigner(ctx context.Context, st *stage) error {
	if err := st.stop(os.Interrupt); err != nil {
		return err
	}
	data, key := filepath.Join(st.dir, "signer"), filepath.Join(st.data, "protocol.key")
	var made struct{ Pin, Producer string }
	if err := st.asks(ctx, &made, "signer", "init", "--data-dir", data,
		"--genesis", filepath.Join(st.data, "genesis.json"), "--protocol-key", key); err != nil {
		return err
	}
	var known joined
	if err := st.asks(ctx, &known, "signer", "link", "--data-dir", st.data); err != nil {
		return err
	}
	if err := os.Remove(key); err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", st.firstPort+signerPort)
	if _, err := st.newWorker("cairn-signer", signerAdminPort, "signer", "run", "--data-dir", data, "--listen", address,
		"--client", known.Pin); err != nil {
		return err
	}
	st.starts = []string{"--signer", address, "--signer-pin", made.Pin, "--signer-producer", made.Producer}
	return st.start(ctx, st.starts...)
}

// useProver has a process of its own prove the node's blocks.
func useProver(ctx context.Context, st *stage) error {
	st.starts = []string{"--prove", "elsewhere"}
	if err := errors.Join(st.stop(os.Interrupt), st.start(ctx, st.starts...)); err != nil {
		return err
	}
	_, err := st.newWorker("cairn-prover", proverAdminPort, slices.Concat([]string{"prove"}, st.adminFlags())...)
	return err
}

// loseWorker kills what works for the node until ctx ends.
func loseWorker(ctx context.Context, st *stage) error {
	w := st.workers[0]
	if err := w.stop(os.Kill); err != nil {
		return err
	}
	return until(ctx, func(context.Context) error { return w.start() })
}

// loseNode kills the node until ctx ends: what works for it is left alone.
func loseNode(ctx context.Context, st *stage) error {
	if err := st.stop(os.Kill); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error { return st.start(ctx, st.starts...) })
}

// keepOlder gives the node a signer, and keeps a copy of its directory from before some of the blocks that it signs.
func keepOlder(ctx context.Context, st *stage) error {
	if err := errors.Join(useSigner(ctx, st), st.reach(ctx, 2), st.stop(os.Interrupt)); err != nil {
		return err
	}
	if err := execute(ctx, "cp", "-a", st.data, st.data+".older"); err != nil { // with the modes of keys
		return err
	}
	return errors.Join(st.start(ctx, st.starts...), st.reach(ctx, 6))
}

// runOlder starts the node on the older copy of its directory until ctx ends.
func runOlder(ctx context.Context, st *stage) error {
	exchange := func(ctx context.Context, away, here string) error {
		if err := st.stop(os.Interrupt); err != nil {
			return err
		}
		if err := errors.Join(os.Rename(st.data, st.data+away), os.Rename(st.data+here, st.data)); err != nil {
			return err
		}
		return st.start(ctx, st.starts...)
	}
	if err := exchange(ctx, ".newer", ".older"); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error { return exchange(ctx, ".older", ".newer") })
}

// askAsStranger connects to the signer with a key that it does not know, again and again until ctx ends.
func askAsStranger(ctx context.Context, st *stage) error {
	key, err := members.NewKey()
	if err != nil {
		return err
	}
	identity, err := members.ReadIdentity(key)
	if err != nil {
		return err
	}
	dialer := tls.Dialer{Config: identity.TLS(nil, "cairn-signer/2")}
	err = every(ctx, time.Second, func() (bool, error) {
		conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", st.firstPort+signerPort))
		if err == nil {
			err = conn.Close()
		}
		if ctx.Err() != nil {
			return true, nil
		}
		return false, err
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
