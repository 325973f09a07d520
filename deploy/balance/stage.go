package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/testkit/program"
	"github.com/cairn-chain/cairn/types"
)

// stage is a primary and two replicas.
type stage struct {
	settings
	dir      string
	primary  *program.Node
	replicas []*replica
}

// replica is one that may be away.
type replica struct {
	command program.Command
	file    string // its ready file
	admin   string
	node    *program.Node
}

// sender is who sends through the balancer.
func sender() client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte("balance")))
	if err != nil {
		panic(err) // of one name in 2^127
	}
	return client.NewSigner(key)
}

// found begins a chain and starts all three nodes.
func (st *stage) found(ctx context.Context) (err error) {
	primary := filepath.Join(st.dir, "primary")
	out, err := exec.CommandContext(ctx, st.program, "init", primary, "--network", string(types.Regtest),
		"--alloc", sender().Account().String()+"=1000").CombinedOutput()
	if err != nil {
		return fmt.Errorf("init: %w, %s", err, out)
	}
	st.primary, err = program.Serve(ctx, program.Command{
		Args: []string{
			st.program, "node", "--data-dir", primary, "--rpc-addr", st.address(5), "--admin-addr", st.address(6),
			"--block-time", "250ms", "--prove", "off",
		},
		Log: primary + ".log",
	}, primary+"-ready.json")
	for i := range 2 {
		if err != nil {
			return err
		}
		path := filepath.Join(st.dir, fmt.Sprintf("replica%d", i+1))
		r := &replica{file: path + "-ready.json", admin: "http://" + st.address(2*i+2), command: program.Command{
			Args: []string{
				st.program, "node", "--mode", "replica", "--data-dir", path, "--genesis", filepath.Join(primary, "genesis.json"),
				"--upstream", st.primary.RPC, "--rpc-addr", st.address(2*i + 1), "--admin-addr", st.address(2*i + 2),
				"--trusted-proxy", "127.0.0.1",
			},
			Log: path + ".log",
		}}
		st.replicas = append(st.replicas, r)
		err = r.start(ctx)
	}
	return err
}

func (r *replica) start(ctx context.Context) (err error) {
	r.node, err = program.Serve(ctx, r.command, r.file)
	return err
}

// stop ends what runs.
func (st *stage) stop() (err error) {
	for _, r := range st.replicas {
		if r.node != nil {
			err = errors.Join(err, r.node.Stop())
		}
	}
	if st.primary != nil {
		err = errors.Join(err, st.primary.Stop())
	}
	return err
}

// ready waits until the replica says that it is.
func (r *replica) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.admin+"/ready", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			if err = response.Body.Close(); err == nil && response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the replica is not ready: %w", err)
		}
	}
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// event is what happens to the first replica, which is there again in the end.
type event struct {
	name string
	calm bool
	do   func(ctx context.Context) error
}

func (st *stage) events() []event {
	r := st.replicas[0]
	calm := func(ctx context.Context) error { return wait(ctx, st.calm) }
	back := func(ctx context.Context) error {
		if err := errors.Join(calm(ctx), r.start(ctx)); err != nil {
			return err
		}
		return errors.Join(r.ready(ctx), calm(ctx))
	}
	events := []event{
		{"nothing", true, calm},
		{"killed with -9, and started again", false, func(ctx context.Context) error {
			r.node.Kill()
			return back(ctx)
		}},
		{"stopped, and started again", false, func(ctx context.Context) error {
			if err := r.node.Stop(); err != nil {
				return err
			}
			return back(ctx)
		}},
		{"paused for 10 s", false, func(ctx context.Context) error {
			err := r.node.Signal(syscall.SIGSTOP)
			err = errors.Join(err, wait(ctx, 10*time.Second), r.node.Signal(syscall.SIGCONT))
			return errors.Join(err, calm(ctx))
		}},
	}
	if st.killOnly {
		return events[:2]
	}
	return events
}
