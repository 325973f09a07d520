// Command balance shows that the balancers of this directory hide what happens to a replica. It runs a primary and two
// replicas, and in front of them nginx or HAProxy with the shipped configuration on other ports. Some clients read, and
// one sends through it. Then one replica is killed, stopped and paused, and comes back each time. No read and no send
// may fail, and while all is well each client must stay on one replica.
//
// It needs Linux and the programs nginx and haproxy, which Debian has in packages of these names.
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
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/internal/testkit/program"
)

func main() {
	var s settings
	flag.StringVar(&s.program, "program", "bin/cairn", "the program that runs the nodes")
	flag.StringVar(&s.configs, "configs", "deploy", "directory of nginx.conf and haproxy.cfg")
	flag.IntVar(&s.firstPort, "port", 21500, "of seven: of the balancer, the replicas and the primary")
	flag.DurationVar(&s.calm, "calm", 4*time.Second, "how long things are as they are")
	flag.BoolVar(&s.killOnly, "kill-only", false, "only kill a replica; do not stop and pause one")
	flag.Parse()
	program.Main("balance", s.run)
}

type settings struct {
	program, configs string
	firstPort        int
	calm             time.Duration
	killOnly         bool
}

// shipped are the ports of the shipped configurations, from the first one of ours on.
var shipped = []string{"8080", "8787", "8788", "8797", "8798"}

func (s settings) port(number int) string { return strconv.Itoa(s.firstPort + number) }

// address is that of a port on this machine.
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
		for _, balancer := range []string{"nginx", "haproxy"} {
			err = errors.Join(err, st.try(ctx, balancer))
		}
	}
	if err = errors.Join(err, st.stop()); err != nil {
		return fmt.Errorf("%w\nwhat was printed is in %s", err, dir)
	}
	return os.RemoveAll(dir)
}

// balancer starts a balancer with the shipped configuration, on our ports.
func (s settings) balancer(name, dir string) (*program.Process, error) {
	files := map[string]string{"nginx": "nginx.conf", "haproxy": "haproxy.cfg"}
	content, err := os.ReadFile(filepath.Join(s.configs, files[name]))
	if err != nil {
		return nil, err
	}
	text := string(content)
	for i, port := range shipped {
		text = strings.ReplaceAll(text, "127.0.0.1:"+port, s.address(i))
		text = strings.ReplaceAll(text, "check port "+port, "check port "+s.port(i))
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

// temporary has nginx keep its temporary files in a directory, which others than root can write to.
func temporary(dir string) (directives string) {
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		directives += fmt.Sprintf("%s_temp_path %s;\n", of, filepath.Join(dir, of))
	}
	return directives
}

// try has things happen to a replica behind a balancer.
func (st *stage) try(ctx context.Context, name string) (err error) {
	balancer, err := st.balancer(name, st.dir)
	if err != nil {
		return err
	}
	defer func() {
		if ended := balancer.End(syscall.SIGTERM); ended != nil {
			err = errors.Join(err, ended)
		}
	}()
	for _, replica := range st.replicas {
		if err := replica.ready(ctx); err != nil {
			return err
		}
	}
	t := newTraffic(st)
	if err := t.reach(ctx); err != nil {
		return err
	}
	for _, event := range st.events() {
		seen, err := t.during(ctx, event.do)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, event.name, err)
		}
		fmt.Printf("| %s | %s | %d | %d | %.2f | %d | %d |\n", name, event.name, seen.reads, len(seen.failed),
			seen.longest.Seconds(), seen.sends, len(seen.unsent))
		for _, failure := range append(seen.failed, seen.unsent...) {
			err = errors.Join(err, failure)
		}
		if event.calm && seen.moved > 0 {
			err = errors.Join(err, fmt.Errorf("%d clients did not stay on one replica", seen.moved))
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, event.name, err)
		}
	}
	return nil
}
