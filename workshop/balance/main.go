// Command balance checks that the load balancer configurations of this directory hide failures behind them. It runs a
// primary and two replicas, or a cluster of three, and puts nginx or HAProxy, with the shipped configuration on other
// ports, in front of two of them. Some clients read through the balancer and one sends. One of the two nodes is then
// killed, stopped and paused in turn, and comes back each time. No read and no send may fail, and without a failure
// each client must stay on one replica.
//
// Finally the primary is lost for good. No node is ready then, but reads must still succeed.
//
// It needs Linux and the programs nginx and haproxy, from the Debian packages of these names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

func main() {
	var s settings
	flag.StringVar(&s.program, "program", "../bin/cairn", "Cairn's binary")
	flag.StringVar(&s.configs, "configs", "../deploy", "directory of nginx.conf and haproxy.cfg")
	flag.IntVar(&s.firstPort, "port", 21500, "first of eleven ports: of a balancer, the replicas, the primary, the other balancer and the members' links")
	flag.DurationVar(&s.calm, "calm", 4*time.Second, "pause after each change")
	flag.BoolVar(&s.killOnly, "kill-only", false, "only kill a replica; do not stop and pause one")
	flag.BoolVar(&s.cluster, "cluster", false, "run the three nodes as a cluster")
	flag.Parse()
	program.Main("balance", s.run)
}

type settings struct {
	program, configs string
	firstPort        int
	calm             time.Duration
	killOnly         bool
	cluster          bool
}

// balancers lists the programs, in the order in which each is tried alone.
var balancers = []string{"nginx", "haproxy"}

// shipped lists the ports of the shipped configurations, in the order of our numbers.
var shipped = []string{"8080", "8787", "8788", "8797", "8798"}

func (s settings) port(number int) string { return strconv.Itoa(s.firstPort + number) }

// address returns the address of a numbered port on this machine.
func (s settings) address(number int) string { return "127.0.0.1:" + s.port(number) }

// run tries both balancers.
func (s settings) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "cairn-balance-")
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	st := &stage{settings: s, dir: dir}
	if err = st.found(ctx); err == nil {
		fmt.Println("| balancer | what happens to a replica | reads | failed | longest, s | sends | failed |")
		fmt.Println("|---|---|---:|---:|---:|---:|---:|")
		for _, balancer := range balancers {
			err = errors.Join(err, st.try(ctx, balancer))
		}
		if err == nil {
			err = st.lose(ctx)
		}
	}
	if err = errors.Join(err, st.stop()); err != nil {
		return fmt.Errorf("%w\nthe output is in %s", err, dir)
	}
	return os.RemoveAll(dir)
}

// balancer starts a balancer with the shipped configuration on our ports. It listens on the numbered port.
func (s settings) balancer(name, dir string, number int) (*program.Process, error) {
	files := map[string]string{"nginx": "nginx.conf", "haproxy": "haproxy.cfg"}
	content, err := os.ReadFile(filepath.Join(s.configs, files[name]))
	if err != nil {
		return nil, err
	}
	text := string(content)
	for i, port := range shipped {
		if i == 0 {
			i = number
		}
		text = strings.ReplaceAll(text, "127.0.0.1:"+port, s.address(i))
		text = strings.ReplaceAll(text, " port "+port, " port "+s.port(i))
	}
	args := []string{"haproxy", "-db", "-f", filepath.Join(dir, files[name])}
	if name == "nginx" {
		text = fmt.Sprintf("daemon off;\npid %s/nginx.pid;\nerror_log %s/nginx.error;\nevents { }\n"+
			"http {\naccess_log off;\n%s%s}\n", dir, dir, temporary(dir), text)
		args = []string{"nginx", "-p", dir, "-c", filepath.Join(dir, files[name])}
	}
	if err := os.WriteFile(filepath.Join(dir, files[name]), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return program.Start(program.Command{Args: args, Log: filepath.Join(dir, name+".log")})
}

// temporary returns nginx directives that keep its temporary files in a directory, as the defaults are writable only by
// root.
func temporary(dir string) (directives string) {
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		directives += fmt.Sprintf("%s_temp_path %s;\n", of, filepath.Join(dir, of))
	}
	return directives
}

// before starts a balancer on the numbered port, and returns once it has reached both replicas.
func (st *stage) before(ctx context.Context, name string, number int) (*traffic, error) {
	for _, replica := range st.replicas {
		if err := await(ctx, replica.admin, true); err != nil {
			return nil, err
		}
	}
	balancer, err := st.balancer(name, st.dir, number)
	if err != nil {
		return nil, err
	}
	t := newTraffic(name, st.address(number), balancer)
	if err := t.reach(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), t.end())
	}
	return t, nil
}

// try runs the events for a replica behind a balancer.
func (st *stage) try(ctx context.Context, name string) error {
	t, err := st.before(ctx, name, 0)
	if err != nil {
		return err
	}
	for _, event := range st.events() {
		if err = happens(ctx, event, t); err != nil {
			break
		}
	}
	return errors.Join(err, t.end())
}

// happens runs an event while clients use balancers, and checks the results of the clients.
func happens(ctx context.Context, event event, traffics ...*traffic) error {
	saw, err := during(ctx, event.do, traffics)
	if err != nil {
		return fmt.Errorf("%s: %w", event.name, err)
	}
	for i, seen := range saw {
		fmt.Printf("| %s | %s | %d | %d | %.2f | %d | %d |\n", traffics[i].name, event.name, seen.reads, len(seen.failed),
			seen.longest.Seconds(), seen.sends, len(seen.unsent))
		failed := errors.Join(append(seen.failed, seen.unsent...)...)
		if event.calm && seen.moved > 0 {
			failed = errors.Join(failed, fmt.Errorf("%d clients did not stay on one replica", seen.moved))
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s, %s: %w", traffics[i].name, event.name, failed))
		}
	}
	return err
}

// lose loses the primary behind both balancers. In a cluster it first loses the leader, which clients must not notice,
// and then the majority. Reads must continue from the remaining node, which is not ready, and sends must fail with the
// error for an unreachable primary.
func (st *stage) lose(ctx context.Context) (err error) {
	var traffics []*traffic
	for i, name := range balancers {
		t, err := st.before(ctx, name, 7*i)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.end()) }()
		traffics = append(traffics, t)
	}
	last, left := st.killPrimary, st.replicas
	if st.cluster {
		leader := event{name: "the leader is killed", do: func(ctx context.Context) error {
			st.killPrimary()
			return wait(ctx, st.calm)
		}}
		if err := happens(ctx, leader, traffics...); err != nil {
			return err
		}
		last, left = st.replicas[1].kill, st.replicas[:1]
	}
	for _, t := range traffics {
		t.readOnly = true
	}
	lost := event{name: "what makes blocks is killed for good", do: func(ctx context.Context) error {
		last()
		for _, r := range left {
			if err := await(ctx, r.admin, false); err != nil {
				return err
			}
		}
		return wait(ctx, st.calm)
	}}
	if err := happens(ctx, lost, traffics...); err != nil {
		return err
	}
	for _, t := range traffics {
		if err := t.send(ctx); !errors.Is(err, api.ErrNoPrimary) {
			return fmt.Errorf("%s, %s: a send: got %w, want %w", t.name, lost.name, err, api.ErrNoPrimary)
		}
	}
	return nil
}
