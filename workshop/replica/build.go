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

// longestRange is the number of blocks in the longest ranges with a proof.
const longestRange = 256

// build makes blocks of s.perBlock transfers each on a primary, and waits for every block's proof before the next, so
// the proofs are those of a chain whose prover keeps up. Each account sends once, in random order, before one sends
// again. The blocks up to the trusted one, which it returns, are not measured.
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

// align switches to manual blocks, makes empty ones up to the end of a longest range, and returns that block once all
// are proven.
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

// proven waits until a node has the wanted proofs.
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
