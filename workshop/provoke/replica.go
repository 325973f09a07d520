package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// upstreamPort is the offset of a primary's JSON-RPC port from that of its replica.
const upstreamPort = 3

// produce holds the arguments of a primary with a replica. With five blocks per second, a replica is soon behind.
var produce = []string{"--block-time", "200ms", "--prove", "off"}

// link connects a replica to its primary. It is a proxy that can falsify responses.
type link struct {
	server *http.Server
	url    string
	lies   atomic.Bool
}

func newLink(target string) (*link, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{url: "http://" + listener.Addr().String()}
	l.server = &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: l.bend,
	}}
	go func() { _ = l.server.Serve(listener) }() // close ends it
	return l, nil
}

func (l *link) close() error { return l.server.Close() }

// maxAnswer bounds the falsified responses in bytes: nodes send less.
const maxAnswer = 128 << 20

// bend flips a bit of every block in a response while the link lies.
func (l *link) bend(r *http.Response) error {
	if !l.lies.Load() || r.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	answer, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(falsify(answer)))
	return nil
}

// falsify changes one hexadecimal digit in each block's bytes, within a field of the first header.
func falsify(answer []byte) []byte {
	mark := []byte(`"raw":"0x`)
	const digit = 100 // offset in the bytes of a header, which are longer
	for rest := answer; ; {
		_, raw, found := bytes.Cut(rest, mark)
		if !found || len(raw) <= digit {
			return answer
		}
		if raw[digit] == '0' {
			raw[digit] = '1'
		} else {
			raw[digit] = '0'
		}
		rest = raw
	}
}

// follow starts the primary and returns the arguments for its replica.
func (st *stage) follow(ctx context.Context) ([]string, error) {
	var err error
	if st.link, err = newLink(st.upstream.url()); err != nil {
		return nil, err
	}
	if err := st.upstream.start(ctx, produce...); err != nil {
		return nil, err
	}
	primary, err := client.New(st.upstream.url(), client.WithRetry(0))
	if err != nil {
		return nil, err
	}
	defer primary.Close()
	info, err := primary.NodeInfo(ctx)
	if err != nil {
		return nil, err
	}
	return append([]string{
		"--mode", "replica", "--upstream", st.link.url, "--genesis-hash", info.GenesisHash.String(),
	}, st.args...), nil
}

// synced waits until the replica has the newest block.
func (st *stage) synced(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healed)
	defer cancel()
	return every(ctx, scrape/2, func() (bool, error) {
		status, err := st.client.SyncStatus(ctx)
		return err == nil && status.Synced && status.LocalHeight > 0, err
	})
}

// reach waits until the node has the block of a height.
func (st *stage) reach(ctx context.Context, height types.Height) error {
	ctx, cancel := context.WithTimeout(ctx, healed)
	defer cancel()
	return every(ctx, scrape/2, func() (bool, error) {
		status, err := st.client.SyncStatus(ctx)
		return err == nil && types.Height(status.LocalHeight) >= height, err
	})
}

// noUpstream stops the primary.
func noUpstream(ctx context.Context, st *stage) error {
	if err := st.upstream.stop(os.Kill); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error { return st.upstream.start(ctx, produce...) })
}

// lie falsifies the primary's responses in transit.
func lie(ctx context.Context, st *stage) error {
	st.link.lies.Store(true)
	return until(ctx, func(context.Context) error {
		st.link.lies.Store(false)
		return nil
	})
}

// backup copies the primary's directory, and waits until the replica has a block that is missing in the copy.
func backup(ctx context.Context, st *stage) error {
	if err := st.upstream.stop(os.Interrupt); err != nil {
		return err
	}
	if err := execute(ctx, "cp", "-a", st.upstream.data, filepath.Join(st.dir, "copy")); err != nil {
		return err
	}
	copied, err := st.client.BlockNumber(ctx)
	if err != nil {
		return err
	}
	if err := st.upstream.start(ctx, produce...); err != nil {
		return err
	}
	const further = 10 // blocks, so that the copy lacks some even if the replica lacked the last
	return every(ctx, scrape/2, func() (bool, error) {
		head, err := st.client.BlockNumber(ctx)
		return head > copied+further, err
	})
}

// restore runs the primary on the copy of its directory, so that it signs other blocks at heights that the replica has.
// The repair follows docs/operators.md: run the chain that the replica has, and move the evidence away.
func restore(ctx context.Context, st *stage) error {
	if err := st.runCopy(ctx); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		const evidence = "halted.json"
		err := errors.Join(
			st.stop(os.Interrupt), st.runLive(ctx), os.Rename(filepath.Join(st.data, evidence), filepath.Join(st.dir, evidence)),
		)
		if err != nil {
			return fmt.Errorf("make the chain whole again: %w", err)
		}
		return st.start(ctx, st.starts...)
	})
}

// runCopy runs the primary on the copy of its directory; runLive runs it on its own directory again.
func (st *stage) runCopy(ctx context.Context) error {
	live := st.upstream.data
	if err := errors.Join(
		st.upstream.stop(os.Kill), os.Rename(live, st.kept()), os.Rename(filepath.Join(st.dir, "copy"), live),
	); err != nil {
		return err
	}
	return st.upstream.start(ctx, produce...)
}

func (st *stage) runLive(ctx context.Context, args ...string) error {
	live := st.upstream.data
	if err := errors.Join(st.upstream.stop(os.Interrupt), os.RemoveAll(live), os.Rename(st.kept(), live)); err != nil {
		return err
	}
	return st.upstream.start(ctx, append(slices.Clone(produce), args...)...)
}

// kept is the path of the primary's directory while it runs on the copy.
func (st *stage) kept() string { return filepath.Join(st.dir, "kept") }

// retire copies the primary's directory, and then hands over production to another key and waits until the replica has
// blocks of that key.
func retire(ctx context.Context, st *stage) error {
	if err := backup(ctx, st); err != nil {
		return err
	}
	file, next, err := st.nextKey()
	if err != nil {
		return err
	}
	if err := st.upstream.configure(ctx, st, "--producer", next); err != nil {
		return err
	}
	err = errors.Join(
		st.upstream.stop(os.Interrupt), st.upstream.start(ctx, append(slices.Clone(produce), "--protocol-key", file)...),
	)
	if err != nil {
		return err
	}
	return every(ctx, scrape/2, func() (bool, error) {
		p, err := st.client.Parameters(ctx)
		return err == nil && types.Account(p.Producer).String() == next, err
	})
}

// comeBack runs the primary on the copy, with the retired key, and restores its own directory at the end.
func comeBack(ctx context.Context, st *stage) error {
	if err := st.runCopy(ctx); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		return st.runLive(ctx, "--protocol-key", filepath.Join(st.dir, "next.key"))
	})
}
