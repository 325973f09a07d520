// Command history measures queries of past states. It makes a chain with a model that keeps every state, and runs a
// node on it. It queries values at random heights, compares each response with the model, and prints a Markdown table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

func main() {
	blocks := flag.Int("blocks", 100_000, "blocks of the chain")
	perBlock := flag.Int("transactions", 4, "transactions per block; every second one is a token's")
	queries := flag.Int("queries", 5_000, "queries of each kind")
	rpc := flag.String("rpc-addr", "127.0.0.1:0", "address of the node's JSON-RPC")
	admin := flag.String("admin-addr", "127.0.0.1:0", "the node's admin address")
	binary := flag.String("cairn", "../bin/cairn", "Cairn's binary")
	token := flag.String("token", "../contracts/wasm/nep20.wasm", "the token's code")
	dir := flag.String("dir", os.TempDir(), "parent directory of the chain")
	flag.Parse()
	program.Main("history", func(ctx context.Context) error {
		work, err := os.MkdirTemp(*dir, "cairn-history-")
		if err != nil {
			return err
		}
		err = measure(
			ctx, work, *blocks, *perBlock, *queries, *token,
			[]string{*binary, "node", "--rpc-addr", *rpc, "--admin-addr", *admin},
		)
		return errors.Join(err, os.RemoveAll(work))
	})
}

func measure(
	ctx context.Context, dir string, blocks, perBlock, queries int, token string, command []string,
) (err error) {
	h, err := newHistory(filepath.Join(dir, "chain"))
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := h.make(blocks, perBlock, token, func(done int) {
		if done%10_000 == 0 {
			fmt.Fprintf(os.Stderr, "%d blocks, %s\n", done, time.Since(begun).Round(time.Second))
		}
	}); err != nil {
		return err
	}
	// A node that makes no blocks during the queries.
	n, err := program.Serve(
		ctx, program.Command{Args: append(command, "--data-dir", h.dir, "--block-time", "1h", "--json")},
		filepath.Join(dir, "ready.json"),
	)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	c, err := client.New(n.RPC, client.WithRetry(0))
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Printf("| %d blocks of %d transactions, %d queries each | median ms | 99 %% ms | slowest ms | wrong "+
		"|\n|---|---:|---:|---:|---:|\n", blocks, perBlock, queries)
	for _, k := range h.kinds() {
		if err := k.run(ctx, c, h, queries); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// kind is a kind of query. Each query asks for one account after one block, and reports whether the response is right.
type kind struct {
	name string
	last types.Height // number of latest blocks to query; 0: all
	ask  func(ctx context.Context, c *client.Client, a types.Account, h types.Height) (right bool, err error)
}

func (h *history) kinds() []kind {
	return []kind{
		{name: "balance", ask: func(ctx context.Context, c *client.Client, a types.Account, at types.Height) (bool, error) {
			got, err := c.Balance(ctx, a, api.AtHeight(at))
			return uint64(got) == of(h.balances, a).at(at), err
		}},
		{name: "nonce", ask: func(ctx context.Context, c *client.Client, a types.Account, at types.Height) (bool, error) {
			got, err := c.Nonce(ctx, a, api.NonceRef{Block: api.AtHeight(at)})
			return got == of(h.nonces, a).at(at), err
		}},
		{name: "token balance by view call", ask: func(
			ctx context.Context, c *client.Client, a types.Account, at types.Height,
		) (bool, error) {
			got, err := c.View(ctx, h.token, "balanceOf", fmt.Appendf(nil, `{"address":%q}`, a), api.AtHeight(max(at, 1)))
			return string(got) == fmt.Sprint(of(h.tokens, a).at(max(at, 1))), err
		}},
		{name: "storage", ask: func(ctx context.Context, c *client.Client, a types.Account, at types.Height) (bool, error) {
			got, err := c.StorageAt(ctx, h.token, append([]byte("\x07balance"), a[:]...), api.AtHeight(max(at, 1)))
			return (len(got) > 0) == (of(h.tokens, a).at(max(at, 1)) > 0), err
		}},
		{name: "block", ask: func(ctx context.Context, c *client.Client, _ types.Account, at types.Height) (bool, error) {
			got, err := c.BlockByNumber(ctx, api.AtHeight(at), false)
			return got != nil && got.Height == at, err
		}},
		{name: "proof of an account, of the last 1,000 blocks", last: 1000, ask: func(
			ctx context.Context, c *client.Client, a types.Account, at types.Height,
		) (bool, error) {
			got, err := c.AccountProof(ctx, a, api.AtHeight(at))
			return got.Height == at && (got.Value != nil) == (of(h.balances, a).at(at) > 0), err
		}},
	}
}

// run makes random queries sequentially and prints a line.
func (k kind) run(ctx context.Context, c *client.Client, h *history, queries int) error {
	r := rand.New(rand.NewPCG(3, uint64(len(k.name))))
	from := types.Height(0)
	if k.last > 0 {
		from = h.head - min(h.head, k.last)
	}
	took, wrong := make([]time.Duration, queries), 0
	for i := range took {
		account := types.Account(h.keys[r.IntN(people)].PublicKey())
		at := from + types.Height(r.Uint64N(uint64(h.head-from)+1))
		begun := time.Now()
		right, err := k.ask(ctx, c, account, at)
		took[i] = time.Since(begun)
		if err != nil {
			return fmt.Errorf("after block %d: %w", at, err)
		}
		if !right {
			wrong++
		}
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	fmt.Printf(
		"| %s | %.2f | %.2f | %.2f | %d |\n", k.name, ms(took[queries/2]), ms(took[queries*99/100]),
		ms(took[queries-1]), wrong,
	)
	if wrong > 0 {
		return fmt.Errorf("%d of %d answers are not the model's", wrong, queries)
	}
	return nil
}
