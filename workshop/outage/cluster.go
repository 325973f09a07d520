package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	chainID    = 4245
	balance    = "10000000" // genesis balance of each account, in coins
	rpcPort    = "8777"
	adminPort  = "8778"
	linkPort   = "8779"
	pause      = 5 * time.Millisecond // polling interval
	awaitTime  = 3 * time.Minute
	statusTime = time.Second
)

// cluster is a set of nodes that act as one producer, each in its own network namespace.
type cluster struct {
	binary, dir, interval string
	network               *network
	onJoin                func(*member) // called for each member
	ownDisks              bool          // each has its own file system in a file, on which syncs take longer

	mu      sync.Mutex
	members []*member
	next    int // number of the next member
	mounted []string
}

// member is a node of the cluster. Its number, which its namespace shares, is never reused.
type member struct {
	number  int
	name    string
	dir     string
	pin     string
	client  *client.Client
	process *program.Process // nil while it is stopped
}

func (m *member) address(port string) string { return addressOf(m.number) + ":" + port }
func (m *member) rpc() string                { return "http://" + m.address(rpcPort) }
func (m *member) adminURL() string           { return "http://" + m.address(adminPort) }
func (m *member) tokenFile() string          { return filepath.Join(m.dir, "admin.token") }

// admin returns a client of the member's admin address.
func (m *member) admin() members.Client {
	return members.Client{Node: admin.Client{URL: m.adminURL(), TokenFile: m.tokenFile()}}
}

// cairn runs a command of the program, and decodes its output into result unless that is nil.
func (c *cluster) cairn(result any, args ...string) error {
	out, err := exec.Command(c.binary, append(args, "--json")...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("cairn %v: %w, %s%s", args, err, out, failed.Stderr)
	}
	if err != nil || result == nil {
		return err
	}
	document := struct{ Result any }{result}
	return json.Unmarshal(out, &document)
}

// found creates a chain with funded accounts, in the directory of a stopped member that is a single producer.
func (c *cluster) found(accounts []types.Account) (*member, error) {
	first, err := c.newMember()
	if err != nil {
		return nil, err
	}
	args := []string{"init", first.dir, "--network", string(types.Regtest), "--chain-id", strconv.Itoa(chainID)}
	for _, account := range accounts {
		args = append(args, "--alloc", account.String()+"="+balance)
	}
	if err := c.cairn(nil, args...); err != nil {
		return nil, err
	}
	return first, os.Rename(filepath.Join(first.dir, "admin.key"), c.adminKey())
}

// adminKey returns the file of the key of the chain's admin, which no member needs.
func (c *cluster) adminKey() string { return filepath.Join(c.dir, "admin.key") }

// newMember creates a namespace and a disk, and determines the directory.
func (c *cluster) newMember() (*member, error) {
	number := c.next
	c.next++
	disk := filepath.Join(c.dir, fmt.Sprintf("disk%d", number))
	if err := os.Mkdir(disk, 0o700); err != nil {
		return nil, err
	}
	if c.ownDisks {
		if err := c.mount(disk); err != nil {
			return nil, err
		}
	}
	m := &member{number: number, name: fmt.Sprintf("m%d", number), dir: filepath.Join(disk, "node")}
	var err error
	if m.client, err = client.New(m.rpc(), client.WithRetry(0)); err != nil {
		return nil, err
	}
	return m, c.network.add(number)
}

// begin turns a stopped producer into a cluster of one, starts it, and adds others.
func (c *cluster) begin(ctx context.Context, first *member, others int) error {
	var made struct{ Pin string }
	err := c.cairn(&made, "cluster", "init", "--data-dir", first.dir, "--name", first.name,
		"--address", first.address(linkPort))
	if err != nil {
		return err
	}
	first.pin = made.Pin
	c.put(first)
	if err := c.start(ctx, first); err != nil {
		return err
	}
	for range others {
		if _, err := c.join(ctx); err != nil {
			return err
		}
	}
	return nil
}

// put adds a member to the list.
func (c *cluster) put(m *member) {
	c.onJoin(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, m)
}

// drop removes a member from the list.
func (c *cluster) drop(gone *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []*member
	for _, m := range c.members {
		if m != gone {
			left = append(left, m)
		}
	}
	c.members = left
}

// all returns the members.
func (c *cluster) all() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*member(nil), c.members...)
}

// join adds a member with a new directory, and returns once it is a voter.
func (c *cluster) join(ctx context.Context) (*member, error) {
	m, err := c.newMember()
	if err != nil {
		return nil, err
	}
	leader, err := c.leader(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return nil, err
	}
	for _, file := range []string{"genesis.json", "protocol.key"} {
		content, err := os.ReadFile(filepath.Join(leader.dir, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(m.dir, file), content, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	var made struct{ Pin string }
	err = c.cairn(&made, "cluster", "join", "--data-dir", m.dir, "--name", m.name, "--address", m.address(linkPort),
		"--peer", leader.address(linkPort), "--peer-pin", leader.pin)
	if err != nil {
		return nil, err
	}
	m.pin = made.Pin
	err = c.cairn(nil, "cluster", "add", m.name, "--address", m.address(linkPort), "--pin", m.pin,
		"--admin", leader.adminURL(), "--admin-token-file", leader.tokenFile())
	if err != nil {
		return nil, err
	}
	c.put(m)
	if err := c.start(ctx, m); err != nil {
		return nil, err
	}
	return m, c.await(ctx, m.name+" votes", func(ctx context.Context) bool {
		for _, other := range c.all() {
			status, err := other.admin().Status(ctx)
			for _, p := range status.Members {
				if err == nil && p.Name == m.name && p.Voter {
					return true
				}
			}
		}
		return false
	})
}

// remove makes the leader remove a member.
func (c *cluster) remove(leader, m *member) error {
	return c.cairn(nil, "cluster", "remove", m.name,
		"--admin", leader.adminURL(), "--admin-token-file", leader.tokenFile())
}

// start starts a member on its directory, and returns once it serves.
func (c *cluster) start(ctx context.Context, m *member, settings ...string) error {
	return c.startEvery(ctx, m, c.interval, settings...)
}

// startEvery is like start, with another block time.
func (c *cluster) startEvery(ctx context.Context, m *member, interval string, settings ...string) error {
	args := []string{
		"ip", "netns", "exec", namespaceOf(m.number), c.binary, "node", "--data-dir", m.dir,
		"--rpc-addr", m.address(rpcPort), "--admin-addr", m.address(adminPort), "--block-time", interval,
		"--prove", "off", "--rate-limit", "0",
	}
	if m.pin != "" {
		args = append(args, "--cluster-addr", m.address(linkPort))
	}
	log := filepath.Join(c.dir, m.name)
	command := program.Command{Args: append(args, settings...), Log: log + ".log"}
	served, err := program.Serve(ctx, command, log+"-ready.json")
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	m.process = served.Process
	return nil
}

// kill kills a member, like a power cut, except that unsynced writes survive.
func (m *member) kill() {
	m.process.Kill()
	m.process = nil
}

// stop stops a member as an operator does.
func (m *member) stop() error {
	if m.process == nil {
		return nil
	}
	err := m.process.Stop()
	m.process = nil
	return err
}

// stop stops all members and closes their clients.
func (c *cluster) stop() (err error) {
	var ending sync.WaitGroup
	all := c.all()
	errs := make([]error, len(all))
	for i, m := range all {
		ending.Go(func() { errs[i] = m.stop() })
	}
	ending.Wait()
	for _, m := range all {
		m.client.Close()
	}
	return errors.Join(errs...)
}

// leader waits for a leader, and returns the running member that reports to lead.
func (c *cluster) leader(ctx context.Context) (leader *member, err error) {
	err = c.await(ctx, "there is a leader", func(ctx context.Context) bool {
		for _, m := range c.all() {
			if m.process != nil && m.ok(ctx, "/leader") {
				leader = m
				return true
			}
		}
		return false
	})
	return leader, err
}

// ready waits until a member knows a leader and is nearly up to date.
func (c *cluster) ready(ctx context.Context, m *member) error {
	err := c.await(ctx, m.name+" is ready", func(ctx context.Context) bool { return m.ok(ctx, "/ready") })
	if err != nil {
		status, asked := m.admin().Status(context.WithoutCancel(ctx))
		err = fmt.Errorf("%w: %+v, %v", err, status, asked)
		_ = m.process.Signal(syscall.SIGQUIT) // logs the stacks of its goroutines
		_ = m.process.Wait()
	}
	return err
}

// ok reports whether a path of the member's admin address returns status 200.
func (m *member) ok(ctx context.Context, path string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.adminURL()+path, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// await waits until is returns true. Each call of is has a second.
func (c *cluster) await(ctx context.Context, what string, is func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	look := func() bool {
		ctx, cancel := context.WithTimeout(ctx, statusTime)
		defer cancel()
		return is(ctx)
	}
	for !look() {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w", what, ctx.Err())
		}
	}
	return nil
}
