package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// catchUp is the cost of following a chain without state.
type catchUp struct {
	bytes float64 // received over its connections
	took  float64 // in seconds
	cpu   float64 // of the replica, in seconds
}

// compare makes replicas without state follow one chain from a trusted block, alternately by ranges and block by block.
func (s settings) compare(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-replica-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	primary, err := start(ctx, s.binary, filepath.Join(dir, "primary"), "dev", "--rate-limit", "0", "--block-time", "1s",
		"--proof-retention", "0")
	if err != nil {
		return fmt.Errorf("the primary: %w", err)
	}
	defer func() { err = errors.Join(err, primary.stop()) }()
	trusted, err := s.build(ctx, primary)
	if err != nil {
		return err
	}
	last, err := primary.ranges(ctx)
	if err != nil {
		return err
	}
	if last <= trusted.Height {
		return fmt.Errorf("%d transfers make fewer than 16 blocks: send more", s.senders*s.perSender)
	}
	blocks := float64(last - trusted.Height)
	fmt.Printf("%.0f blocks with up to %d transfers, by and to %d accounts in an order of chance.\n", blocks, s.perBlock,
		s.senders)
	fmt.Print("A replica without state follows over loopback.\n\n")
	fmt.Print("| round | by | MB | KB a block | s | blocks a second | replica's CPU, s |\n")
	fmt.Print("|---|---|---:|---:|---:|---:|---:|\n")
	for i := range s.rounds {
		var took [2]catchUp
		for k, by := range []string{"blocks", "ranges"} {
			at := filepath.Join(dir, fmt.Sprint(by, i))
			c, err := s.follow(ctx, primary, at, by == "ranges", trusted, last)
			if err != nil {
				return fmt.Errorf("round %d, by %s: %w", i+1, by, err)
			}
			took[k] = c
			fmt.Printf("| %d | %s | %.1f | %.1f | %.1f | %.0f | %.1f |\n",
				i+1, by, c.bytes/1e6, c.bytes/1e3/blocks, c.took, blocks/c.took, c.cpu)
		}
		less := func(of func(catchUp) float64) float64 { return 100 * (1 - of(took[1])/of(took[0])) }
		bytes, time := less(func(c catchUp) float64 { return c.bytes }), less(func(c catchUp) float64 { return c.took })
		cpu := less(func(c catchUp) float64 { return c.cpu })
		fmt.Printf("| %d | less | %.0f %% | | %.0f %% | | %.0f %% |\n", i+1, bytes, time, cpu)
	}
	return nil
}

// mostRangeGas bounds the gas of blocks with a common proof (docs/proofs.md).
const mostRangeGas = 1 << 30

// ranges waits until the chain has the proofs of its ranges of 16 blocks, which come after those of the blocks. It also
// waits for ranges of 256 blocks, if that many blocks like the last one can have a common proof. It returns the last
// block of the ranges of 16.
func (n *node) ranges(ctx context.Context) (last types.Height, err error) {
	head, err := n.client.BlockNumber(ctx)
	if err != nil {
		return 0, err
	}
	block, err := n.client.BlockByNumber(ctx, api.AtHeight(head), false)
	if err != nil {
		return 0, err
	}
	long := block.GasUsed <= mostRangeGas/longestRange
	return head / 16 * 16, n.proven(ctx, func(info api.NodeInfo) bool {
		newest := make(map[uint64]types.Height)
		for _, r := range info.RangeProofs {
			newest[r.Blocks] = r.Newest
		}
		return newest[16] >= head/16*16 && (!long || newest[longestRange] >= head/longestRange*longestRange)
	})
}

// follow measures a replica without state until it has a block.
func (s settings) follow(
	ctx context.Context, primary *node, dir string, ranges bool, trusted *api.Block, last types.Height,
) (c catchUp, err error) {
	info, err := primary.client.NodeInfo(ctx)
	if err != nil {
		return c, err
	}
	counted, err := newCounter(strings.TrimPrefix(primary.RPC, "http://"))
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, counted.Close()) }()
	lengths := "0"
	if ranges {
		lengths = "256"
	}
	begun := time.Now()
	replica, err := start(ctx, s.binary, dir, "node", "--mode", "replica", "--verify", "stateless", "--range-blocks",
		lengths, "--upstream", "http://"+counted.Addr().String(), "--genesis-hash", info.GenesisHash.String(),
		"--trusted-header", fmt.Sprintf("%d:%s", trusted.Height, trusted.Hash))
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, replica.stop()) }()
	if err := replica.reach(ctx, last); err != nil {
		return c, err
	}
	c.took, c.bytes = time.Since(begun).Seconds(), float64(counted.bytes.Load())
	c.cpu, err = replica.cpu(ctx)
	return c, err
}

// counter forwards connections to an address, and counts the bytes of the responses.
type counter struct {
	net.Listener
	bytes atomic.Int64
}

func newCounter(address string) (*counter, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{Listener: listener}
	go func() {
		for {
			from, err := c.Accept()
			if err != nil {
				return // it is closed
			}
			go c.handOn(from, address)
		}
	}()
	return c, nil
}

// handOn ends when either end closes the connection, so that the client notices.
func (c *counter) handOn(from net.Conn, address string) {
	defer from.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(from, c), to)
}

// Write counts bytes.
func (c *counter) Write(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	return len(b), nil
}
