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
	"sync"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	readers   = 12
	readPause = 10 * time.Millisecond
	readTime  = 20 * time.Second
)

// traffic is the load through a balancer.
type traffic struct {
	name     string // name of the balancer
	url      string
	balancer *program.Process
	readers  []*reader
	client   *client.Client
	readOnly bool // no sender
}

// reader is a client with its own address, by which the balancer recognizes it.
type reader struct {
	http   *http.Client
	height types.Height
	by     string // replica of the latest response
}

// seen holds the observations of the clients during an event.
type seen struct {
	mu             sync.Mutex
	reads, sends   int
	longest        time.Duration // longest read
	failed, unsent []error
	moved          int // number of readers that changed replicas
}

func newTraffic(name, address string, balancer *program.Process) *traffic {
	t := &traffic{name: name, url: "http://" + address, balancer: balancer}
	for i := range readers {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(10+7*i))}}
		transport := &http.Transport{DialContext: dialer.DialContext}
		t.readers = append(t.readers, &reader{http: &http.Client{Transport: transport}})
	}
	return t
}

// end stops the balancer.
func (t *traffic) end() error { return t.balancer.End(syscall.SIGTERM) }

// reach waits until the balancer has reached both replicas.
func (t *traffic) reach(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if t.client, err = client.New(t.url, client.WithRetry(0)); err != nil {
		return err
	}
	for {
		by := make(map[string]bool)
		for _, r := range t.readers {
			if err = r.read(ctx, t.url); err == nil {
				by[r.by] = true
			}
		}
		if len(by) == 2 {
			return nil
		}
		if ended := wait(ctx, 10*readPause); ended != nil {
			return fmt.Errorf("the balancer answers for %d replicas: %w, %w", len(by), ended, err)
		}
	}
}

// during runs do while the clients of the balancers read and send.
func during(ctx context.Context, do func(context.Context) error, traffics []*traffic) (saw []*seen, err error) {
	if len(traffics) == 0 {
		return nil, do(ctx)
	}
	first, err := traffics[0].during(ctx, func(ctx context.Context) (err error) {
		saw, err = during(ctx, do, traffics[1:])
		return err
	})
	return append([]*seen{first}, saw...), err
}

// during runs do while the clients read and send.
func (t *traffic) during(ctx context.Context, do func(context.Context) error) (*seen, error) {
	s := new(seen)
	working, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, r := range t.readers {
		running.Go(func() { r.readOn(working, t.url, s) })
	}
	if !t.readOnly {
		running.Go(func() { t.sendOn(working, s) })
	}
	err := do(ctx)
	stop()
	running.Wait()
	return s, err
}

// readOn reads until ctx ends.
func (r *reader) readOn(ctx context.Context, url string, s *seen) {
	first := ""
	moved := false
	for wait(ctx, readPause) == nil {
		begun, before, by := time.Now(), r.height, r.by
		err := r.read(context.WithoutCancel(ctx), url)
		if err == nil && r.by == by && r.height < before {
			err = fmt.Errorf("the head went back from block %d to %d at one replica", before, r.height)
		}
		if first == "" {
			first = r.by
		}
		moved = moved || r.by != first
		s.mu.Lock()
		if s.reads++; err != nil {
			s.failed = append(s.failed, err)
		}
		s.longest = max(s.longest, time.Since(begun))
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if moved {
		s.moved++
	}
}

const request = `{"jsonrpc":"2.0","id":1,"method":"svc_blockNumber","params":[]}`

// read requests the head.
func (r *reader) read(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(request)))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	response, err := r.http.Do(q)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	var answer struct{ Result *api.Quantity }
	err = json.Unmarshal(content, &answer)
	if err != nil || answer.Result == nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, content)
	}
	r.by, r.height = response.Header.Get("X-Served-By"), types.Height(*answer.Result)
	return nil
}

// sendOn sends transfers until ctx ends, waiting for each to be included.
func (t *traffic) sendOn(ctx context.Context, s *seen) {
	whole := context.WithoutCancel(ctx)
	for wait(ctx, readPause) == nil {
		err := t.send(whole)
		s.mu.Lock()
		if s.sends++; err != nil {
			s.unsent = append(s.unsent, err)
		}
		s.mu.Unlock()
	}
}

// send sends a transfer as a wallet does. The error that it is already known means that a first attempt succeeded.
func (t *traffic) send(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	me := sender(t.name)
	tx, err := t.client.Build(ctx, me, client.Transfer(me.Account(), 1), client.TxFields{})
	if err != nil {
		return err
	}
	signed, err := client.Sign(ctx, me, tx)
	if err != nil {
		return err
	}
	if _, err := t.client.Send(ctx, signed); err != nil && !errors.Is(err, api.ErrAlreadyKnown) {
		return err
	}
	receipt, err := t.client.WaitReceipt(ctx, signed.ID())
	if err != nil {
		return err
	}
	return client.Failure(receipt)
}
