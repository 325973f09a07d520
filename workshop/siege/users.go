package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

const (
	honest = attackers // number of the honest user
	// attackGas is the gas of a hostile call: three fill a block.
	attackGas types.Gas = 330_000_000
	deployGas types.Gas = 900_000_000
	// An attacker's max fee and priority fee per gas, which exceed the suggestion for honest users.
	attackFee, attackTip types.Amount = 10_000, 100
	attackPause                       = 100 * time.Millisecond // interval of checking whether a call is still pending
	inclusionTime                     = 2 * time.Minute
)

// attacks lists the contract that each attacker calls.
var attacks = []struct{ name, genes string }{
	{"98 locals and 126 blocks", "ladder width=98 depth=126 ladders=1"},
	{"nests of calls", "graph contracts=1 depth=32 fan=8 stride=1 turns=10000 pages=7 touched=100 output=0 " +
		"functions=0 globals=0 elements=0 data=0 filled=0 exports=0 types=0 entered=0 call1=17 bytes1=0 key1=0 mode1=0"},
	{"loads that wait for each other", "chase offset=0 parts=400 step=4093"},
}

// signerOf returns the account of a number.
func signerOf(number int) client.Signer {
	key, err := crypto.NewPrivateKey(sha256.Sum256(fmt.Appendf(nil, "siege %d", number)))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return client.NewSigner(key)
}

// pay sends a transfer as a wallet does, and returns the number of blocks until its inclusion.
func (w *world) pay(ctx context.Context, from int) (blocks uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, inclusionTime)
	defer cancel()
	c, s := w.nodes[0].client, signerOf(from)
	tx, err := c.Build(ctx, s, client.Transfer(signerOf(0).Account(), 1), client.TxFields{})
	if err != nil {
		return 0, err
	}
	signed, err := client.Sign(ctx, s, tx)
	if err != nil {
		return 0, err
	}
	height, err := c.BlockNumber(ctx)
	if err != nil {
		return 0, err
	}
	receipt, err := c.SendAndWait(ctx, signed)
	if err == nil {
		err = client.Failure(receipt)
	}
	if err != nil {
		return 0, err
	}
	return uint64(receipt.BlockHeight - height), nil
}

// transaction returns a signed transaction of an attacker.
func (w *world) transaction(ctx context.Context, from int, gas types.Gas, action client.Action) (
	signed types.SignedTransaction, err error) {
	fee, tip, s := attackFee, attackTip, signerOf(from)
	fields := client.TxFields{GasLimit: &gas, MaxFee: &fee, Priority: &tip}
	tx, err := w.nodes[0].client.Build(ctx, s, action, fields)
	if err != nil {
		return signed, err
	}
	return client.Sign(ctx, s, tx)
}

// deploy deploys the attackers' contracts.
func (w *world) deploy(ctx context.Context) (contracts []types.ContractID, err error) {
	for i, a := range attacks {
		g, err := hunt.Parse(a.genes)
		if err != nil {
			return nil, err
		}
		signed, err := w.transaction(ctx, i, deployGas, client.Action{
			Payload: types.Deploy{Name: "hostile", Code: g.Build().Code},
		})
		if err != nil {
			return nil, err
		}
		receipt, err := w.nodes[0].client.SendAndWait(ctx, signed)
		if err == nil {
			err = client.Failure(receipt)
		}
		if err != nil {
			return nil, fmt.Errorf("deploy %s: %w", a.name, err)
		}
		contracts = append(contracts, *receipt.ContractAddress)
	}
	return contracts, nil
}

// arguments returns the arguments for a call of an attack's contract.
func arguments(i int, contract types.ContractID) []byte {
	g, err := hunt.Parse(attacks[i].genes)
	if err != nil {
		panic(err) // they were deployed
	}
	return slices.Concat(g.Build().Args, contract[:])
}

// resend keeps one call of an attacker pending: it replaces each that was included or dropped.
func (w *world) resend(ctx context.Context, s *sight, i int, contract types.ContractID) {
	call := client.Action{
		Target: types.Account(contract), Payload: types.Call{Function: "run", Args: arguments(i, contract)},
	}
	for ctx.Err() == nil {
		signed, err := w.transaction(ctx, i, attackGas, call)
		var id types.TxID
		if err == nil {
			id, err = w.nodes[0].client.Send(ctx, signed)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.note(func() { s.refused[i][reasonOf(err)]++ })
		} else {
			s.note(func() { s.sent[i]++ })
			w.awaitGone(ctx, id)
		}
		wait(ctx, attackPause)
	}
}

// awaitGone waits until a transaction is no longer pending.
func (w *world) awaitGone(ctx context.Context, id types.TxID) {
	for ctx.Err() == nil {
		status, err := w.nodes[0].client.TransactionStatus(ctx, id)
		if err == nil && status.Status != api.StatusPending {
			return
		}
		wait(ctx, attackPause)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// reasonOf returns a word for a node's refusal.
func reasonOf(err error) string {
	refused := new(jsonrpc.Error)
	if errors.As(err, &refused) {
		return fmt.Sprint(refused.Code)
	}
	return err.Error()
}

// view requests views that use as much as allowed, from the producer and the replica alternately.
func (w *world) view(ctx context.Context, s *sight, caller int, contracts []types.ContractID) {
	for n := caller; ctx.Err() == nil; n++ {
		i := n % len(contracts)
		_, err := w.nodes[n%2].client.View(ctx, contracts[i], "run", arguments(i, contracts[i]), api.Latest())
		refused := new(jsonrpc.Error)
		s.note(func() {
			if err == nil || errors.As(err, &refused) {
				s.views++
			} else if ctx.Err() == nil {
				s.faults = append(s.faults, fmt.Errorf("a view: %w", err))
			}
		})
		wait(ctx, attackPause)
	}
}
