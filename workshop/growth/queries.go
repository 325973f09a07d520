package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

const (
	pageSize  = 100              // items per page
	queryTime = 30 * time.Second // time limit for queries of a kind
	warmUp    = 20               // uncounted queries of a kind
)

// query is a kind of query.
type query struct {
	name  string
	items int // least number of items in the response, for lists
	// call returns the next query's method and parameters.
	call func(r *rand.Rand) (method string, params []any)
}

// queryTimes holds the durations of queries of a kind, from the request to the decoded response.
type queryTimes struct {
	name  string
	took  []time.Duration
	items float64 // mean number of items per response; 1 for a response that is not a list
}

// queriesAt holds the measurements after a number of transfers.
type queriesAt struct {
	transfers int
	blocks    types.Height
	disk      uint64
	times     []queryTimes
}

// measureQueries makes a chain of token transfers and queries a node about them sequentially.
func measureQueries(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-growth-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := newTokens(filepath.Join(dir, "tokens"))
	if err != nil {
		return err
	}
	var results []queriesAt
	for _, count := range s.transfers {
		fmt.Fprintf(os.Stderr, "%d transfers of a token\n", count)
		at, err := c.measureAt(ctx, s, count, dir)
		if err != nil {
			return fmt.Errorf("%d transfers of a token: %w", count, err)
		}
		results = append(results, at)
	}
	return writeQueries(results)
}

// measureAt adds transfers up to a number, and queries a node about them.
func (c *tokens) measureAt(ctx context.Context, s settings, count int, dir string) (at queriesAt, err error) {
	at = queriesAt{transfers: count}
	if at.disk, err = c.transferUntil(ctx, count); err != nil {
		return at, err
	}
	n, err := startNode(ctx, s.binary, c.dir, dir)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	node, err := client.New(n.RPC, client.WithRetry(0))
	if err != nil {
		return at, err
	}
	defer node.Close()
	if at.blocks, err = node.BlockNumber(ctx); err != nil {
		return at, err
	}
	for _, q := range c.queries(at.blocks) {
		times, err := q.measure(ctx, node, s.queries)
		if err != nil {
			return at, fmt.Errorf("%s: %w", q.name, err)
		}
		at.times = append(at.times, times)
	}
	return at, nil
}

// measure makes count queries, or fewer if the time limit is reached.
func (q query) measure(ctx context.Context, node *client.Client, count int) (queryTimes, error) {
	times := queryTimes{name: q.name}
	random := rand.New(rand.NewPCG(5, uint64(len(q.name))))
	deadline := time.Now().Add(queryTime)
	for i := 0; i < warmUp+count && (i <= warmUp || time.Now().Before(deadline)); i++ {
		method, params := q.call(random)
		var answer json.RawMessage
		begun := time.Now()
		if err := node.Raw(ctx, method, params, &answer); err != nil {
			return times, err
		}
		took := time.Since(begun)
		items := 1
		if answer[0] == '[' {
			var list []json.RawMessage
			if err := json.Unmarshal(answer, &list); err != nil {
				return times, err
			}
			items = len(list)
		}
		if items < q.items {
			return times, fmt.Errorf("%s %v gives %d items, not %d", method, params, items, q.items)
		}
		if i >= warmUp {
			times.took = append(times.took, took)
			times.items += float64(items)
		}
	}
	times.items /= float64(len(times.took))
	return times, nil
}

// queries returns the kinds of queries for a chain with the given head.
func (c *tokens) queries(head types.Height) []query {
	return append(c.eventQueries(head), c.tokenQueries(head)...)
}

func (c *tokens) eventQueries(head types.Height) []query {
	ids := func(topics ...*types.Account) (digests []*types.Digest) {
		name := types.Digest(sha256.Sum256([]byte("Transfer")))
		digests = append(digests, &name)
		for _, topic := range topics {
			digests = append(digests, (*types.Digest)(topic))
		}
		return digests
	}
	page := uint64(pageSize)
	events := func(change func(*rand.Rand, *api.EventFilter)) func(*rand.Rand) (string, []any) {
		return func(r *rand.Rand) (string, []any) {
			f := api.EventFilter{Limit: &page}
			change(r, &f)
			return api.GetEvents.Name, []any{f}
		}
	}
	cursor := func(r *rand.Rand) string { // of an event in the first nine tenths
		return fmt.Sprintf("%016x%08x", 2+r.Uint64N(max(uint64(head)*9/10, 1)), r.IntN(eventsPerBlock))
	}
	name := "Transfer"
	apart := "svc_getEvents of two accounts that are in every block and never meet"
	nobody := sink
	return []query{
		{"svc_getEvents of the token, after a cursor", 1, events(func(r *rand.Rand, f *api.EventFilter) {
			f.ContractID, f.Cursor = &c.token, cursor(r)
		})},
		{"svc_getEvents of the token by name, from a block", 1, events(func(r *rand.Rand, f *api.EventFilter) {
			from := types.Height(2 + r.Uint64N(uint64(head)-1))
			f.ContractID, f.EventName, f.FromBlock = &c.token, &name, &from
		})},
		{"svc_getEvents of any contract, after a cursor", 1, events(func(r *rand.Rand, f *api.EventFilter) {
			f.Cursor = cursor(r)
		})},
		{"svc_getEvents to an account", 1, events(func(r *rand.Rand, f *api.EventFilter) {
			to := c.holder(r.IntN(c.made))
			f.ContractID, f.Topics = &c.token, ids(nil, &to)
		})},
		{"svc_getEvents from the exchange, after a cursor", 1, events(func(r *rand.Rand, f *api.EventFilter) {
			f.ContractID, f.Topics, f.Cursor = &c.token, ids(&c.exchange), cursor(r)
		})},
		{"svc_getEvents from the exchange to an account", 1, events(func(r *rand.Rand, f *api.EventFilter) {
			to := c.holder(r.IntN(c.made/exchangeShare) * exchangeShare)
			f.ContractID, f.Topics = &c.token, ids(&c.exchange, &to)
		})},
		{"svc_getEvents of a contract with few", 1, events(func(_ *rand.Rand, f *api.EventFilter) {
			f.ContractID = &c.rare
		})},
		{"svc_getEvents of an account without any", 0, events(func(r *rand.Rand, f *api.EventFilter) {
			to := account(c.made + r.IntN(1_000_000))
			f.ContractID, f.Topics = &c.token, ids(nil, &to)
		})},
		{apart, 0, events(func(_ *rand.Rand, f *api.EventFilter) {
			f.ContractID, f.Topics = &c.token, ids(&c.exchange, &nobody)
		})},
	}
}

func (c *tokens) tokenQueries(head types.Height) []query {
	page, zero := uint64(pageSize), types.Account{}
	return []query{
		{"svc_getTokenHolders, the first page", pageSize, func(*rand.Rand) (string, []any) {
			return api.GetTokenHolders.Name, []any{c.token, api.HolderPage{Limit: &page}}
		}},
		{"svc_getTokenHolders, after a cursor", 1, func(r *rand.Rand) (string, []any) {
			return api.GetTokenHolders.Name, []any{c.token, api.HolderPage{Limit: &page, Cursor: holderCursor(r, c.made)}}
		}},
		{"svc_getTokenBalance", 1, func(r *rand.Rand) (string, []any) {
			return api.GetTokenBalance.Name, []any{c.token, c.holder(r.IntN(c.made))}
		}},
		{"svc_getStorageAt", 1, func(r *rand.Rand) (string, []any) {
			return api.GetStorageAt.Name, []any{c.token, api.Data(balanceKey(c.holder(r.IntN(c.made))))}
		}},
		{"svc_getStorageAt, after an earlier block", 1, func(r *rand.Rand) (string, []any) {
			key := balanceKey(c.holder(r.IntN(c.made)))
			return api.GetStorageAt.Name, []any{c.token, api.Data(key), api.AtHeight(types.Height(1 + r.Uint64N(uint64(head))))}
		}},
		{"svc_getStorageProof", 1, func(r *rand.Rand) (string, []any) {
			return api.GetStorageProof.Name, []any{c.token, api.Data(balanceKey(c.holder(r.IntN(c.made))))}
		}},
		{"svc_getTokenBalance of an account without any", 1, func(*rand.Rand) (string, []any) {
			return api.GetTokenBalance.Name, []any{c.token, zero}
		}},
	}
}

// holderCursor returns a cursor of svc_getTokenHolders after holders with a larger sum than a random one of the made
// transfers. It is a chain.Rank: a 128-bit sum with flipped sign bit, inverted, followed by the account.
func holderCursor(r *rand.Rand, made int) string {
	rank := binary.BigEndian.AppendUint64(nil, 1<<63-1)
	rank = binary.BigEndian.AppendUint64(rank, ^amount(pageSize+r.IntN(made-pageSize)))
	to := account(r.IntN(made))
	return hex.EncodeToString(append(rank, to[:]...))
}

// writeQueries writes the tables.
func writeQueries(results []queriesAt) error {
	var text strings.Builder
	text.WriteString("\nQueries of a token by one client over HTTP, one after the other, " +
		"pages of " + fmt.Sprint(pageSize) +
		" items: the token has as many Transfer events, holders and entries in storage " +
		"as there were transfers.\n\n" +
		"| p50 / p99 in ms, items of an answer |")
	for _, r := range results {
		fmt.Fprintf(&text, " %d transfers, %d blocks, %d MiB |", r.transfers, r.blocks, r.disk>>20)
	}
	text.WriteString("\n|---|" + strings.Repeat("---|", len(results)) + "\n")
	for i, first := range results[0].times {
		fmt.Fprintf(&text, "| %s |", first.name)
		for _, r := range results {
			t := r.times[i]
			slices.Sort(t.took)
			fmt.Fprintf(&text, " %.2f / %.2f, %.0f |", milliseconds(quantile(t.took, 0.5, itself)),
				milliseconds(quantile(t.took, 0.99, itself)), t.items)
		}
		text.WriteString("\n")
	}
	_, err := os.Stdout.WriteString(text.String())
	return err
}
