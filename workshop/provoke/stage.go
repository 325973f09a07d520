package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// stage is a new chain with a running node, monitored by Prometheus, and an account with coins.
type stage struct {
	settings
	cause
	node
	starts   []string  // arguments of the node
	upstream *node     // primary of the node if that is a replica
	members  []*node   // other members of its cluster
	link     *link     // connection to upstream
	workers  []*worker // the node's signer, which has the key, or prover
	mounted  bool
	treasury crypto.PrivateKey
	client   *client.Client // of the node
	largest  []byte         // largest block, for damage to the history
	height   types.Height   // of that block
}

func newStage(ctx context.Context, s settings, c cause, dir string) (st *stage, err error) {
	st = &stage{settings: s, cause: c, node: node{
		program: s.program,
		name:    "node",
		dir:     dir,
		data:    filepath.Join(dir, "disk", "chain"),
		port:    s.firstPort,
		under:   c.runner,
	}, starts: c.args}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	if err := os.MkdirAll(filepath.Join(dir, "disk"), 0o700); err != nil {
		return st, err
	}
	if c.diskMiB > 0 {
		if err := st.mount(ctx); err != nil {
			return st, err
		}
	}
	if st.treasury, err = crypto.GenerateKey(rand.Reader); err != nil {
		return st, err
	}
	primary := &st.node
	if c.follows {
		st.upstream = &node{
			program: s.program,
			name:    "upstream",
			dir:     dir,
			data:    filepath.Join(dir, "upstream"),
			port:    s.firstPort + upstreamPort,
		}
		primary = st.upstream
	}
	if err := st.cairn(
		ctx, "init", primary.data, "--alloc", types.Account(st.treasury.PublicKey()).String()+"=1000000",
	); err != nil {
		return st, err
	}
	if c.follows {
		if st.starts, err = st.follow(ctx); err != nil {
			return st, err
		}
	}
	if st.client, err = client.New(st.url(), client.WithRetry(0)); err != nil {
		return st, err
	}
	if c.clustered {
		return st, st.gather(ctx)
	}
	if err := st.start(ctx, st.starts...); err != nil || !c.follows {
		return st, err
	}
	return st, st.synced(ctx)
}

// mount gives the node its own disk: an ext4 file system in a file.
func (st *stage) mount(ctx context.Context) error {
	image := filepath.Join(st.dir, "disk.img")
	for _, command := range [][]string{
		{"truncate", "--size", fmt.Sprintf("%dM", st.diskMiB), image},
		{"mkfs.ext4", "-q", "-m", "0", image},
		{"mount", "-o", "loop", image, filepath.Join(st.dir, "disk")},
	} {
		if err := execute(ctx, command...); err != nil {
			return err
		}
	}
	st.mounted = true
	return nil
}

// execute runs a command. Its error includes the output.
func execute(ctx context.Context, command ...string) error {
	output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command[0], err, output)
	}
	return nil
}

// cairn runs one of the program's commands.
func (st *stage) cairn(ctx context.Context, args ...string) error {
	return execute(ctx, append([]string{st.settings.program}, args...)...)
}

// close stops all processes and unmounts the node's disk.
func (st *stage) close() error {
	if st.client != nil {
		st.client.Close()
	}
	err := st.stop(os.Interrupt)
	if st.upstream != nil {
		err = errors.Join(err, st.upstream.stop(os.Interrupt))
	}
	for _, n := range st.members {
		err = errors.Join(err, n.stop(os.Interrupt))
	}
	if st.link != nil {
		err = errors.Join(err, st.link.close())
	}
	for _, w := range st.workers {
		err = errors.Join(err, w.close())
	}
	if st.mounted {
		err = errors.Join(
			err, execute(context.Background(), "umount", filepath.Join(st.dir, "disk")),
			os.Remove(filepath.Join(st.dir, "disk.img")),
		)
	}
	return err
}
