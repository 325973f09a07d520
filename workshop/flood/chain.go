package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	g "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
)

const (
	// poolTransfers is slightly fewer than the pool holds.
	poolTransfers                = 199_800
	transferSenders              = 200
	tokenSenders, tokenTransfers = 100, 100
	// The accounts that fund the load and deploy the contract.
	treasuryName, authorName = "flood treasury", "flood author"
	// wordyGas is the gas of the call that outputs zeros until its gas is used up.
	wordyGas types.Gas = 20_000_000
)

// chain names the most expensive things to read on a filled chain.
type chain struct {
	Fullest types.Height     // block with the most transactions
	Last    types.TxID       // its last transaction
	Wordy   types.TxID       // a call that outputs zeros until its gas is used up
	Large   types.ContractID // a contract with code of the maximum size
	// paths of downloads: the largest file of a snapshot, the proof of a block, and the accesses of the fullest block
	Snapshot, Proof, Accesses string
}

// filled returns the filled chain of the node's directory, which it fills unless an earlier run has.
func (n *node) filled(ctx context.Context, s settings, note func(string)) (c chain, err error) {
	kept := filepath.Join(n.dir, "chain.json")
	text, err := os.ReadFile(kept)
	if err == nil {
		return c, json.Unmarshal(text, &c)
	}
	if c, err = n.fill(ctx, s, note); err != nil {
		return c, fmt.Errorf("fill the chain: %w", err)
	}
	if text, err = json.Marshal(c); err != nil {
		return c, err
	}
	return c, os.WriteFile(kept, text, 0o600)
}

// fill makes transfers, in blocks that are as full as they get, 10,000 events of a token, and a contract with large code and much output.
func (n *node) fill(ctx context.Context, s settings, note func(string)) (c chain, err error) {
	node, err := client.New(n.RPC, client.WithRetry(0))
	if err != nil {
		return c, err
	}
	defer node.Close()
	for {
		made, err := c.look(ctx, node)
		if err != nil {
			return c, err
		}
		if made >= s.transfers {
			break
		}
		note(fmt.Sprintf("%d of %d transfers", made, s.transfers))
		if err := n.fillPool(ctx, node, min(s.transfers-made+transferSenders, poolTransfers)); err != nil {
			return c, err
		}
	}
	note("events")
	plan := loadgen.Plan{Load: loadgen.Tokens, Connections: 16, Senders: tokenSenders, PerSender: tokenTransfers}
	send, err := n.prepare(ctx, node, plan)
	if err == nil {
		err = send(ctx, time.Minute)
	}
	if err != nil {
		return c, err
	}
	if err := c.publish(ctx, node); err != nil {
		return c, err
	}
	note("a snapshot and a proof")
	return c, n.makeFiles(ctx, &c)
}

// makeFiles makes a snapshot of the state and a proof of block 1 while the node is stopped.
func (n *node) makeFiles(ctx context.Context, c *chain) error {
	if err := n.Stop(); err != nil {
		return err
	}
	data := filepath.Join(n.dir, "data")
	for _, arguments := range [][]string{{"snapshot", "create"}, {"db", "prove", "--from", "1", "--to", "1"}} {
		command := exec.CommandContext(ctx, n.command.Args[0], append(arguments, "--data-dir", data)...)
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", arguments[0], err, output)
		}
	}
	files, err := filepath.Glob(filepath.Join(data, "snapshots", "*", "*.zst"))
	if err != nil {
		return err
	}
	largest := int64(-1)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		if info.Size() > largest {
			largest, c.Snapshot = info.Size(), strings.TrimPrefix(file, data)
		}
	}
	c.Proof, c.Accesses = "/proof/1", fmt.Sprintf("/accesses/%d", c.Fullest)
	return n.serve(ctx)
}

// fillPool sends transfers while no blocks are made, and then waits until they are included, so that blocks are full
// however slow the machine is.
func (n *node) fillPool(ctx context.Context, node *client.Client, transfers int) error {
	plan := loadgen.Plan{
		Load: loadgen.Transfers, Connections: 16, Senders: transferSenders, PerSender: transfers / transferSenders,
	}
	send, err := n.prepare(ctx, node, plan)
	if err != nil {
		return err
	}
	if err := n.restart(ctx, "--block-time", "1h"); err != nil {
		return err
	}
	if err := send(ctx, 0); err != nil {
		return err
	}
	if err := n.restart(ctx, "--block-time", "1s"); err != nil {
		return err
	}
	pause := time.NewTicker(samplePause)
	defer pause.Stop()
	for {
		now, err := n.sample(ctx)
		if err != nil || now.pending == 0 {
			return err
		}
		select {
		case <-pause.C:
		case <-n.Ended():
			return fmt.Errorf("the node: %w", n.EndedEarly())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// prepare signs a load. The returned function sends it, and waits for a given time until it is included.
func (n *node) prepare(
	ctx context.Context, node *client.Client, plan loadgen.Plan,
) (send func(context.Context, time.Duration) error, err error) {
	treasury := keyOf(treasuryName)
	target, err := loadgen.PrepareCairn(ctx, node, plan, &treasury, func(string) {})
	if err != nil {
		return nil, err
	}
	queues, err := loadgen.Prepare(ctx, target, plan, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, settle time.Duration) error {
		report, err := loadgen.Run(ctx, target, plan, queues, loadgen.Options{URL: n.RPC, Batch: 100, Settle: settle})
		if err != nil {
			return err
		}
		if wanted := int64(plan.Senders * plan.PerSender); report.Inclusion.Accepted < wanted {
			return fmt.Errorf("the node took %d of %d transactions: %v", report.Inclusion.Accepted, wanted, report.Errors)
		}
		return ctx.Err()
	}, nil
}

// look finds the fullest block, and counts all transactions.
func (c *chain) look(ctx context.Context, node *client.Client) (made int, err error) {
	head, err := node.BlockNumber(ctx)
	if err != nil {
		return 0, err
	}
	var most uint64
	for height := types.Height(1); height <= head; height++ {
		block, err := node.BlockByNumber(ctx, api.AtHeight(height), false)
		if err != nil {
			return 0, err
		}
		made += int(block.TxCount)
		if block.TxCount > most {
			most = block.TxCount
			c.Fullest, c.Last = height, block.Transactions.Hashes[most-1]
		}
	}
	return made, nil
}

// publish deploys the contract and makes it output zeros, which fails with out of gas.
func (c *chain) publish(ctx context.Context, node *client.Client) error {
	author := signerOf(authorName)
	deploy, err := client.Deploy("wordy", wordyContract(), nil, 0)
	if err != nil {
		return err
	}
	receipt, err := include(ctx, node, author, deploy, client.TxFields{})
	if err == nil {
		err = client.Failure(receipt)
	}
	if err != nil {
		return fmt.Errorf("deploy a contract: %w", err)
	}
	c.Large = *receipt.ContractAddress
	call, err := client.Call(c.Large, "run", nil, 0)
	if err != nil {
		return err
	}
	gas := wordyGas
	receipt, err = include(ctx, node, author, call, client.TxFields{GasLimit: &gas})
	if err != nil {
		return fmt.Errorf("call a contract: %w", err)
	}
	c.Wordy = receipt.TransactionHash
	return nil
}

// include sends a transaction of an account and waits for its receipt.
func include(
	ctx context.Context, node *client.Client, from client.Signer, action client.Action, fields client.TxFields,
) (r api.Receipt, err error) {
	tx, err := node.Build(ctx, from, action, fields)
	if err != nil {
		return r, err
	}
	signed, err := client.Sign(ctx, from, tx)
	if err != nil {
		return r, err
	}
	return node.SendAndWait(ctx, signed)
}

// wordyContract returns a contract of the maximum size, most of it a custom section. Its function "run" outputs 1 KiB
// of zeros repeatedly; "view" does nothing.
func wordyContract() []byte {
	m := g.Contract(1, 1)
	procedure := m.AddType(nil, 0)
	debug := m.AddImport(g.HostImport{Name: "debug", Params: []byte{g.I32, g.I32}})
	run := m.AddFunction(procedure, nil, g.Concat(
		[]byte{g.LoopOp, g.Empty}, g.Const(g.I32, 0), g.Const(g.I32, 1024), g.Call(debug), g.Op(g.BrOp, 0), []byte{g.End},
	)...)
	m.Export("run", g.FunctionKind, run)
	m.Export("view", g.FunctionKind, m.AddFunction(procedure, nil))
	code := m.Encode()
	const header = 16 // of the section: ID, length and name
	name := g.Name("padding")
	return g.Concat(code, g.Section(0, g.Concat(name, make([]byte, types.MaxCodeBytes-len(code)-header))))
}
