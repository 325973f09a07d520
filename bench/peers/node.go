package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/bench"
)

const (
	startTime = time.Minute      // how long a node may take to serve
	stopTime  = 30 * time.Second // and to end
)

// peer is a node that takes part in the comparison.
type peer struct {
	name string
	// command is how a node with a fresh chain, blocks every second and limits above the load's is started.
	command func(dir, port string) []string
	// prepare makes a target of the running node.
	prepare func(ctx context.Context, url string, plan bench.Plan) (bench.Target, error)
}

// peersOf are the nodes whose binaries are given; the first is Cairn.
func peersOf(cairn, geth, anvil string) []peer {
	peers := []peer{{"cairn", func(dir, port string) []string {
		return []string{cairn, "dev", "--data-dir", dir, "--rpc-addr", "127.0.0.1:" + port, "--admin-addr", "127.0.0.1:0"}
	}, func(ctx context.Context, url string, plan bench.Plan) (bench.Target, error) {
		c, err := client.New(url)
		if err != nil {
			return nil, err
		}
		return bench.PrepareCairn(ctx, c, plan, nil, func(string) {})
	}}}
	ethereum := func(ctx context.Context, url string, plan bench.Plan) (bench.Target, error) {
		return prepareEthereum(ctx, url, plan)
	}
	if geth != "" {
		peers = append(peers, peer{"geth --dev", func(dir, port string) []string {
			return []string{geth, "--dev", "--dev.period", "1", "--dev.gaslimit", "2000000000", "--miner.gaslimit", "2000000000",
				"--datadir", dir, "--http", "--http.addr", "127.0.0.1", "--http.port", port, "--http.api", "eth", "--ipcdisable",
				"--authrpc.port", "0", "--port", "0", "--nodiscover", "--txpool.accountslots", "100000", "--txpool.globalslots",
				"10000000", "--txpool.accountqueue", "100000", "--txpool.globalqueue", "10000000", "--verbosity", "1"}
		}, ethereum})
	}
	if anvil != "" {
		peers = append(peers, peer{"anvil (in memory)", func(_, port string) []string {
			return []string{anvil, "--silent", "--host", "127.0.0.1", "--port", port, "--block-time", "1", "--gas-limit",
				"2000000000", "--max-transactions", "10000000", "--no-request-size-limit"}
		}, ethereum})
	}
	return peers
}

// process is a running node.
type process struct {
	url     string
	command *exec.Cmd
	ended   chan error
	output  string // path of what it printed
}

// start runs a node with a fresh chain in a directory, and returns once it serves.
func (p peer) start(ctx context.Context, dir string) (*process, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	defer output.Close()
	args := p.command(filepath.Join(dir, "data"), port)
	n := &process{url: "http://127.0.0.1:" + port, command: exec.Command(args[0], args[1:]...), ended: make(chan error, 1), output: output.Name()}
	n.command.Stdout, n.command.Stderr = output, output
	// Out of the terminal's group: an interrupt is for us to pass on.
	n.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.command.Start(); err != nil {
		return nil, err
	}
	go func() { n.ended <- n.command.Wait() }()
	if err := n.await(ctx, "127.0.0.1:"+port); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, errors.Join(err, n.stop()))
	}
	return n, nil
}

// await waits until the node takes connections.
func (n *process) await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case err := <-n.ended:
			n.ended <- err
			return fmt.Errorf("it ended before it served (%v): %s", err, n.tail())
		case <-ctx.Done():
			return fmt.Errorf("it does not serve after %s: %s", startTime, n.tail())
		}
	}
}

// tail is the end of what the node printed.
func (n *process) tail() string {
	text, err := os.ReadFile(n.output)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-500):]))
}

// stop ends the node: with patience first, by force then.
func (n *process) stop() error {
	if err := n.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-n.ended:
		return nil
	case <-time.After(stopTime):
	}
	if err := n.command.Process.Kill(); err != nil {
		return err
	}
	<-n.ended
	return nil
}

// freePort is a port that nothing listens on at present.
func freePort(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}
