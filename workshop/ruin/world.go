package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	paid    = 12 // transfers in blocks
	pending = 25 // transfers that wait when the directories are copied
)

// world is the two directories that are copied, and what a node says on them that nobody damaged.
type world struct {
	settings
	dir     string
	hashes  map[types.Height]types.BlockHash
	balance types.Amount // of the payer at the last of them
	head    types.Height
	paid    []types.TxID
	pending []types.TxID
	admin   string // the admin address of the node that runs
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// signer is the account that pays.
func signer() client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte("ruin")))
	if err != nil {
		panic(err) // of one name in 2^127
	}
	return client.NewSigner(key)
}

// command runs a node on a directory. As root it runs it as nobody, whom permissions bind.
func (w *world) command(dir, log, blockTime string) program.Command {
	port := func(i int) string {
		if w.port == 0 {
			return "127.0.0.1:0"
		}
		return "127.0.0.1:" + strconv.Itoa(w.port+i)
	}
	var args []string
	if os.Geteuid() == 0 {
		args = []string{"setpriv", "--reuid", nobody, "--regid", nobody, "--clear-groups"}
	}
	return program.Command{
		Args: append(args, w.binary, "node", "--data-dir", dir, "--rpc-addr", port(0), "--admin-addr", port(1),
			"--block-time", blockTime, "--prove", "off", "--rate-limit", "0", "--log-level", "info"),
		Log: log,
	}
}

// serve starts a node on the directory that is filled.
func (w *world) serve(ctx context.Context, blockTime string) (*program.Node, error) {
	if err := give(w.path("stopped")); err != nil {
		return nil, err
	}
	return program.Serve(ctx, w.command(w.path("stopped"), w.path("stopped.log"), blockTime), w.ready())
}

// begin starts a node on the copy that is damaged.
func (w *world) begin(log string) (*program.Process, error) {
	if err := errors.Join(os.RemoveAll(w.ready()), give(w.path("disk"))); err != nil {
		return nil, err
	}
	command := w.command(w.path("disk/copy"), log, "1s")
	command.Args = append(command.Args, "--ready-file", w.ready())
	return program.Start(command)
}

func (w *world) ready() string { return filepath.Join(w.path("ready"), "node.json") }

// scrape reads the metrics.
func (w *world) scrape(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.admin+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil // the node has ended, which is judged elsewhere
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

const nobody = "65534"

// give gives a directory to nobody, if this is root.
func give(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	id, err := strconv.Atoi(nobody)
	if err != nil {
		return err
	}
	return filepath.WalkDir(path, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, id, id)
	})
}

// prepare makes a chain with pending transactions, and leaves it as a node does that is stopped, and that is killed.
func (w *world) prepare(ctx context.Context) error {
	if err := os.Mkdir(w.path("ready"), 0o777); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(w.dir, 0o755), os.Chmod(w.path("ready"), 0o777)); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, w.binary, "init", w.path("stopped"), "--network", string(types.Regtest), "--chain-id",
		"4245", "--alloc", signer().Account().String()+"=1000000")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make a network: %w\n%s", err, output)
	}
	if err := w.fill(ctx, "100ms", paid, &w.paid, nil); err != nil {
		return err
	}
	return w.fill(ctx, "1h", pending, &w.pending, func() error {
		return os.CopyFS(w.path("killed"), os.DirFS(w.path("stopped")))
	})
}

// fill runs a node that takes transfers, notes what it says, and stops it. done is called before that.
func (w *world) fill(ctx context.Context, blockTime string, count int, ids *[]types.TxID, done func() error) (err error) {
	n, err := w.serve(ctx, blockTime)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	c, err := client.New(n.RPC)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range count {
		to := types.Account(signerOf(i).Account())
		tx, err := c.Build(ctx, signer().Account(), client.Transfer(to, types.CoinUnits), client.TxFields{})
		if err != nil {
			return err
		}
		signed, err := signer().Sign(tx)
		if err != nil {
			return err
		}
		id, err := c.Send(ctx, signed)
		if err != nil {
			return err
		}
		*ids = append(*ids, id)
		if done != nil {
			continue
		}
		if _, err := c.WaitReceipt(ctx, id); err != nil {
			return err
		}
	}
	if done != nil {
		if err := w.note(ctx, c); err != nil {
			return err
		}
		return done()
	}
	return nil
}

func signerOf(i int) client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256(fmt.Appendf(nil, "ruin %d", i)))
	if err != nil {
		panic(err) // of one name in 2^127
	}
	return client.NewSigner(key)
}

// note notes what a sound node says.
func (w *world) note(ctx context.Context, c *client.Client) (err error) {
	if w.head, err = c.BlockNumber(ctx); err != nil {
		return err
	}
	w.hashes = make(map[types.Height]types.BlockHash)
	for h := range w.head + 1 {
		block, err := c.BlockByNumber(ctx, api.AtHeight(h), false)
		if err != nil {
			return err
		}
		w.hashes[h] = block.Hash
	}
	w.balance, err = c.Balance(ctx, signer().Account(), api.AtHeight(w.head))
	return err
}
