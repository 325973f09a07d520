package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// stage is a primary and two replicas. In a cluster, all are members, and primary is the first leader.
type stage struct {
	settings
	dir      string
	primary  *program.Node
	replicas []*replica
}

// replica is a node behind the balancers.
type replica struct {
	command program.Command
	file    string // path of its ready file
	admin   string
	node    *program.Node
}

// sender returns the signer that sends through a balancer.
func sender(balancer string) client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(balancer)))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return client.NewSigner(key)
}

// found starts a chain and all three nodes.
func (st *stage) found(ctx context.Context) error {
	first := filepath.Join(st.dir, "primary")
	begin := []string{"init", first, "--network", string(types.Regtest), "--block-time", "250ms"}
	for _, name := range balancers {
		begin = append(begin, "--alloc", sender(name).Account().String()+"=1000")
	}
	if err := st.asks(ctx, new(struct{}), begin...); err != nil {
		return err
	}
	if st.cluster {
		return st.gather(ctx, first)
	}
	if err := st.begin(ctx, first); err != nil {
		return err
	}
	for i := range 2 {
		path := filepath.Join(st.dir, fmt.Sprintf("replica%d", i+1))
		if err := st.add(ctx, i, path, "--mode", "replica", "--genesis", filepath.Join(first, "genesis.json"),
			"--upstream", st.primary.RPC); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the first node.
func (st *stage) begin(ctx context.Context, path string, args ...string) (err error) {
	st.primary, err = program.Serve(ctx, st.node(path, 5, args), path+"-ready.json")
	return err
}

// add starts a node behind the balancers.
func (st *stage) add(ctx context.Context, i int, path string, args ...string) error {
	args = append(args, "--trusted-proxy", "127.0.0.1")
	r := &replica{command: st.node(path, 2*i+1, args), file: path + "-ready.json", admin: "http://" + st.address(2*i+2)}
	st.replicas = append(st.replicas, r)
	return r.start(ctx)
}

// node returns the command for a node whose JSON-RPC is on the numbered port and whose admin address is on the next.
func (st *stage) node(path string, number int, args []string) program.Command {
	always := []string{
		st.program, "node", "--data-dir", path, "--rpc-addr", st.address(number), "--admin-addr", st.address(number + 1),
		"--prove", "off",
	}
	return program.Command{Args: append(always, args...), Log: path + ".log"}
}

// asks runs a command and decodes its result.
func (st *stage) asks(ctx context.Context, result any, args ...string) error {
	command := exec.CommandContext(ctx, st.program, append(args, "--json")...)
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("cairn %s: %w: %s%s", args[0], err, output, &said)
	}
	return json.Unmarshal(output, &struct {
		Result any `json:"result"`
	}{result})
}

// gather turns a chain's directory into a cluster's, and adds the two members behind the balancers.
func (st *stage) gather(ctx context.Context, first string) error {
	var own struct {
		Pin string `json:"pin"`
	}
	link := st.address(8)
	if err := st.asks(ctx, &own, "cluster", "init", "--data-dir", first, "--name", "a", "--address", link); err != nil {
		return err
	}
	if err := st.begin(ctx, first, "--cluster-addr", link); err != nil {
		return err
	}
	if err := await(ctx, st.primary.Admin, true); err != nil { // until it leads
		return err
	}
	pin := own.Pin
	for i, name := range []string{"b", "c"} {
		path, address := filepath.Join(st.dir, name), st.address(9+i)
		if err := copyFiles(path, first, "genesis.json", "protocol.key"); err != nil {
			return err
		}
		if err := st.asks(ctx, &own, "cluster", "join", "--data-dir", path, "--name", name, "--address", address,
			"--peer", link, "--peer-pin", pin); err != nil {
			return err
		}
		adds := []string{"cluster", "add", name, "--address", address, "--pin", own.Pin}
		if err := st.asks(ctx, new(struct{}), append(adds, st.primary.AdminFlags()...)...); err != nil {
			return err
		}
		if err := st.add(ctx, i, path, "--cluster-addr", address); err != nil {
			return err
		}
		if err := st.votes(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// copyFiles creates a directory with copies of another directory's files, readable only by the owner.
func copyFiles(to, from string, names ...string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// votes waits until a member is a voter.
func (st *stage) votes(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var status struct {
			Members []struct {
				Name  string `json:"name"`
				Voter bool   `json:"voter"`
			} `json:"members"`
		}
		if err := st.asks(ctx, &status, "cluster", "status", "--admin", st.primary.Admin); err != nil {
			return err
		}
		for _, m := range status.Members {
			if m.Name == name && m.Voter {
				return nil
			}
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%s has no vote: %w", name, err)
		}
	}
}

func (r *replica) start(ctx context.Context) (err error) {
	r.node, err = program.Serve(ctx, r.command, r.file)
	return err
}

// kill permanently kills the replica.
func (r *replica) kill() {
	r.node.Kill()
	r.node = nil
}

// killPrimary permanently kills the primary.
func (st *stage) killPrimary() {
	st.primary.Kill()
	st.primary = nil
}

// stop stops all running nodes.
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

// await waits until a node's admin address reports that it is ready, or not ready.
func await(ctx context.Context, admin string, ready bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/ready", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			if err = response.Body.Close(); err == nil && ready == (response.StatusCode == http.StatusOK) {
				return nil
			}
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%s: ready is not %t: %w", admin, ready, err)
		}
	}
}

// wait waits for a duration.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// event is a failure of the first replica, which is running again at the end.
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
		return errors.Join(await(ctx, r.admin, true), calm(ctx))
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
