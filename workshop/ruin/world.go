package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	paid    = 12 // transfers in blocks
	pending = 25 // transfers that are pending when the directories are copied
)

// world holds the directories to copy, and the answers of a node on undamaged ones.
type world struct {
	settings
	dir            string
	alone, cluster known
	followed       known // answers of a node that follows the one alone, which has the pending transactions
	members        []*member
}

// known holds the answers of an undamaged node.
type known struct {
	hashes  map[types.Height]types.BlockHash
	balance types.Amount // of the payer at the head
	head    types.Height
	paid    []types.TxID
	pending []types.TxID
}

// target is a directory on which to start a node.
type target struct {
	dir, log      string
	flags         []string
	known, others *known // answers of an undamaged node there, and of the nodes that run beside it or nil
}

// running is a running node on a target.
type running struct {
	target
	process    *program.Process
	client     *client.Client // set once it serves
	rpc, admin string         // its addresses
}

// told returns the node's log.
func (r *running) told() string {
	content, _ := os.ReadFile(r.log) // a missing log is empty
	return string(content)
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// signer returns the paying account.
func signer() client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte("ruin")))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return client.NewSigner(key)
}

// nodeFlags are the common flags of all nodes.
var nodeFlags = []string{
	"--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--rate-limit", "0", "--log-level", "info",
}

// run starts a node on a directory. As root it runs the node as nobody, so that file permissions apply.
func (w *world) run(place target, blockTime string) (*running, error) {
	r := &running{target: place}
	if err := errors.Join(os.RemoveAll(r.ready(w)), give(place.dir)); err != nil {
		return nil, err
	}
	args := []string{w.binary, "node", "--data-dir", place.dir, "--block-time", blockTime, "--ready-file", r.ready(w)}
	if os.Geteuid() == 0 {
		args = slices.Concat([]string{"setpriv", "--reuid", nobody, "--regid", nobody, "--clear-groups"}, args)
	}
	var err error
	r.process, err = program.Start(program.Command{Args: slices.Concat(args, nodeFlags, place.flags), Log: place.log})
	return r, err
}

func (r *running) ready(w *world) string { return filepath.Join(w.path("ready"), filepath.Base(r.dir)) }

// begin starts a node on a possibly damaged directory.
func (w *world) begin(place target) (*running, error) { return w.run(place, "1s") }

// serves waits for a node, and reports whether it serves before it ends.
func (w *world) serves(ctx context.Context, r *running) bool {
	n := new(program.Node)
	if err := r.process.AwaitReady(ctx, r.ready(w), n); err != nil {
		return false
	}
	var err error
	r.rpc, r.admin = n.RPC, n.Admin
	r.client, err = client.New(n.RPC)
	return err == nil
}

// scrape reads the metrics.
func (r *running) scrape(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.admin+"/metrics", nil)
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

// give gives a directory to user nobody, if this is root.
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

// copyDir copies a directory, including file modes.
func copyDir(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.Chmod(filepath.Join(to, strings.TrimPrefix(name, from)), info.Mode())
	})
}

// prepare makes the directories to damage: of a chain with pending transactions, after a stop and after a kill, of
// nodes that follow it, and the same for a cluster.
func (w *world) prepare(ctx context.Context) error {
	for _, name := range []string{"ready", "members", "saved"} {
		if err := errors.Join(os.Mkdir(w.path(name), 0o777), os.Chmod(w.path(name), 0o777)); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chmod(w.dir, 0o755), w.cairn(ctx, nil, w.initArgs("stopped")...)); err != nil {
		return err
	}
	place := target{dir: w.path("stopped"), log: w.path("stopped.log")}
	if err := w.with(ctx, place, "100ms", func(r *running) (err error) {
		w.alone.paid, err = pay(ctx, r.client, paid, true)
		return err
	}); err != nil {
		return err
	}
	if err := w.with(ctx, place, "1h", func(r *running) (err error) {
		if w.alone.pending, err = pay(ctx, r.client, pending, false); err != nil {
			return err
		}
		if err := errors.Join(w.alone.note(ctx, r.client), copyDir(w.path("killed"), w.path("stopped"))); err != nil {
			return err
		}
		return w.prepareFollowers(ctx, r)
	}); err != nil {
		return err
	}
	return w.prepareCluster(ctx)
}

// initArgs returns the arguments of a command that creates a network with a funded payer.
func (w *world) initArgs(dir string) []string {
	return []string{"init", w.path(dir), "--network", string(types.Regtest), "--chain-id", "4245",
		"--alloc", signer().Account().String() + "=1000000"}
}

// cairn runs a command of the program, and decodes its output unless result is nil.
func (w *world) cairn(ctx context.Context, result any, args ...string) error {
	out, err := exec.CommandContext(ctx, w.binary, append(args, "--json")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cairn %v: %w\n%s", args, err, out)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(out, &struct{ Result any }{result})
}

// with runs a node and calls do with it.
func (w *world) with(ctx context.Context, place target, blockTime string, do func(*running) error) error {
	r, err := w.run(place, blockTime)
	if err != nil {
		return err
	}
	defer r.process.Kill()
	if !w.serves(ctx, r) {
		return fmt.Errorf("the node on %s does not serve: %s", place.dir, r.told())
	}
	defer r.client.Close()
	return errors.Join(do(r), r.process.Stop())
}

// pay sends transfers and, with wait, waits for each to be included.
func pay(ctx context.Context, c *client.Client, count int, wait bool) (ids []types.TxID, err error) {
	for i := range count {
		to := types.Account(signerOf(i).Account())
		tx, err := c.Build(ctx, signer(), client.Transfer(to, types.CoinUnits), client.TxFields{})
		if err != nil {
			return nil, err
		}
		signed, err := client.Sign(ctx, signer(), tx)
		if err != nil {
			return nil, err
		}
		id, err := c.Send(ctx, signed)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		if !wait {
			continue
		}
		if _, err := c.WaitReceipt(ctx, id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func signerOf(i int) client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256(fmt.Appendf(nil, "ruin %d", i)))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return client.NewSigner(key)
}

// note records the answers of an undamaged node.
func (k *known) note(ctx context.Context, c *client.Client) (err error) {
	if k.head, err = c.BlockNumber(ctx); err != nil {
		return err
	}
	k.hashes = make(map[types.Height]types.BlockHash)
	for h := range k.head + 1 {
		block, err := c.BlockByNumber(ctx, api.AtHeight(h), false)
		if err != nil {
			return err
		}
		k.hashes[h] = block.Hash
	}
	k.balance, err = c.Balance(ctx, signer().Account(), api.AtHeight(k.head))
	return err
}
