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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/client"
)

const (
	serveTime  = time.Minute // how long a node may take to serve
	endTime    = time.Minute // and to end
	maxMetrics = 4 << 20     // bytes that are read of a node's metrics
)

// node is a running node.
type node struct {
	RPC   string `json:"rpc"`
	Admin string `json:"admin"`

	client  *client.Client
	command *exec.Cmd
	ended   chan struct{}
	err     error // how it ended
}

// start starts a node in a new directory and returns once it serves.
func start(ctx context.Context, binary, dir, command string, settings ...string) (*node, error) {
	ready := dir + "-ready.json"
	settings = append([]string{command, "--data-dir", dir, "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--ready-file", ready}, settings...)
	n := &node{command: exec.Command(binary, settings...), ended: make(chan struct{})}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	n.command.Stdout, n.command.Stderr = log, log
	// Out of the terminal's group: an interrupt is for us to pass on.
	n.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		n.err = n.command.Wait()
		close(n.ended)
	}()
	if err = n.awaitReady(ctx, ready); err == nil {
		n.client, err = client.New(n.RPC)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, tail(log.Name())), n.stop())
	}
	return n, nil
}

// tail is the end of a file.
func tail(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1000):])
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
			return fmt.Errorf("it ended before it served: %w", n.err)
		case <-ctx.Done():
			return fmt.Errorf("it does not serve: %w", ctx.Err())
		}
	}
}

// stop ends the node as an operator does.
func (n *node) stop() error {
	if n.client != nil {
		n.client.Close()
	}
	if err := n.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-n.ended:
		return n.err
	case <-time.After(endTime):
		err := n.command.Process.Kill()
		<-n.ended
		return errors.Join(fmt.Errorf("it still ran %s after SIGTERM", endTime), err)
	}
}

// cpu is the processor time in seconds that the node has used, as its metrics say.
func (n *node) cpu(ctx context.Context) (seconds float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(io.LimitReader(response.Body, maxMetrics))
	for lines.Scan() {
		if text, found := strings.CutPrefix(lines.Text(), "process_cpu_seconds_total "); found {
			return strconv.ParseFloat(text, 64)
		}
	}
	return 0, errors.Join(errors.New("the metrics do not say how much processor time was used"), lines.Err())
}
