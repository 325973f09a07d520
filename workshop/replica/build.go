package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
)

// longestRange is how many blocks the longest ranges have that are followed by.
const longestRange = 256

// build has a primary make blocks of s.perBlock transfers each, and waits for every block's proof before it goes on. So
// the proofs are those of a chain whose prover keeps up. Each account sends once, in an order of chance, before one
// sends again. What comes before, which is not measured, ends with the block that is trusted.
func (s settings) build(ctx context.Context, primary *node) (trusted *api.Block, err error) {
	plan := loadgen.Plan{
		Load: loadgen.Transfers, Connections: s.senders, Senders: s.senders, PerSender: s.perSender,
	}
	target, err := loadgen.PrepareCairn(ctx, primary.client, plan, nil, func(string) {})
	if err != nil {
		return nil, err
	}
	calls, err := loadgen.Prepare(ctx, target, plan, nil)
	if err != nil {
		return nil, err
	}
	if trusted, err = primary.align(ctx); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var block []loadgen.Call
	transfers, begun, head := 0, time.Now(), trusted.Height
	for round := range s.perSender {
		for i, sender := range rng.Perm(s.senders) {
			block = append(block, calls[sender][round])
			last := round == s.perSender-1 && i == s.senders-1
			if len(block) < s.perBlock && !last {
				continue
			}
			if err := primary.mine(ctx, block); err != nil {
				return nil, err
			}
			transfers, block = transfers+len(block), block[:0]
			head++
		}
	}
	blocks := head - trusted.Height
	fmt.Printf("%d blocks with %d transfers were made and proven in %.0f s, %.0f ms each.\n\n", blocks, transfers,
		time.Since(begun).Seconds(), time.Since(begun).Seconds()*1e3/float64(blocks))
	return trusted, nil
}

// align has blocks made by hand only, empty ones up to the last of a longest range, and returns that one once all are
// proven.
func (n *node) align(ctx context.Context) (trusted *api.Block, err error) {
	if err := n.client.Dev().SetManual(ctx); err != nil {
		return nil, err
	}
	head, err := n.client.BlockNumber(ctx)
	if err != nil {
		return nil, err
	}
	if head, err = n.client.Dev().Mine(ctx, longestRange-uint64(head)%longestRange); err != nil {
		return nil, err
	}
	if err := n.provenTo(ctx, head); err != nil {
		return nil, err
	}
	return n.client.BlockByNumber(ctx, api.AtHeight(head), false)
}

// mine sends transfers, makes a block of them, and waits for its proof.
func (n *node) mine(ctx context.Context, calls []loadgen.Call) error {
	var batch client.Batch
	sent := make([]client.Pending[types.TxID], len(calls))
	for i, call := range calls {
		var object struct{ Params []api.Data }
		if err := json.Unmarshal(append(append([]byte{'{'}, call.Members...), '}'), &object); err != nil {
			return err
		}
		params := api.RawTransactionParams{Transaction: api.LooseData(object.Params[0])}
		sent[i] = client.Add(&batch, api.SendRawTransaction, params)
	}
	if err := batch.Send(ctx, n.client); err != nil {
		return err
	}
	for i := range sent {
		if _, err := sent[i].Result(); err != nil {
			return err
		}
	}
	head, err := n.client.Dev().Mine(ctx, 1)
	if err != nil {
		return err
	}
	block, err := n.client.BlockByNumber(ctx, api.AtHeight(head), false)
	if err != nil {
		return err
	}
	if block == nil || block.TxCount != uint64(len(calls)) {
		return fmt.Errorf("block %d does not have the %d transfers", head, len(calls))
	}
	return n.provenTo(ctx, head)
}

func (n *node) provenTo(ctx context.Context, head types.Height) error {
	return n.proven(ctx, func(info api.NodeInfo) bool { return info.Proofs != nil && info.Proofs.Newest >= head })
}

// proven waits until a node has the proofs that are asked for.
func (n *node) proven(ctx context.Context, has func(api.NodeInfo) bool) error {
	for {
		info, err := n.client.NodeInfo(ctx)
		if err != nil || has(info) {
			return err
		}
		select {
		case <-time.After(pollTime):
		case <-n.Ended():
			return n.EndedEarly()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
