package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

const (
	callerCount            = 5
	deployGas    types.Gas = 900_000_000
	addGas       types.Gas = 1_000_000
	callPause              = 50 * time.Millisecond // pause between the operations of a caller
	receiptPause           = 20 * time.Millisecond
	answerTime             = 2 * time.Second // time limit of a request, after which another member is tried
)

// callerOf returns the account of a numbered caller. Number 0 deploys.
func callerOf(number int) client.Signer { return signerOf(fmt.Sprintf("caller %d", number)) }

// callers returns the accounts funded at genesis.
func callers() (accounts []types.Account) {
	for i := range callerCount {
		accounts = append(accounts, callerOf(i).Account())
	}
	return accounts
}

// register is a counter in a contract. An operation adds a number and returns the sum, in one transaction.
type register struct {
	world    *world
	contract types.ContractID
	begun    time.Time

	mu      sync.Mutex
	history []porcupine.Operation
}

// counting is the model of the counter. An operation without a known end has no output, and may take effect at any
// later time.
var counting = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		sum := state.(uint64) + input.(uint64)
		return output == nil || output.(uint64) == sum, sum
	},
}

// deploy deploys the counter.
func (w *world) deploy(ctx context.Context) (*register, error) {
	code, err := os.ReadFile(w.counter)
	if err != nil {
		return nil, err
	}
	payload, err := client.Deploy("counter", code, nil, 0)
	if err != nil {
		return nil, err
	}
	r := &register{world: w, begun: time.Now()}
	receipt, err := r.invoke(ctx, 0, 0, deployGas, payload)
	if err != nil {
		return nil, err
	}
	r.contract = *receipt.ContractAddress
	return r, nil
}

// invoke sends a transaction to one member after the other until one returns its receipt.
func (r *register) invoke(ctx context.Context, caller int, nonce uint64, gas types.Gas, action client.Action) (
	api.Receipt, error) {
	s := callerOf(caller)
	signed, err := client.Sign(ctx, s, types.Transaction{
		Target:               action.Target,
		ChainID:              chainID,
		Sender:               s.Account(),
		Nonce:                nonce,
		GasLimit:             gas,
		MaxFeePerGas:         maxFee,
		MaxPriorityFeePerGas: tip,
		Value:                action.Value,
		Payload:              action.Payload,
	})
	if err != nil {
		return api.Receipt{}, err
	}
	taken := false
	for {
		members := r.world.all()
		m := members[rand.N(len(members))]
		receipt, sent, err := ask(ctx, m.client, signed, taken)
		taken = taken || sent
		if receipt != nil {
			return *receipt, client.Failure(*receipt)
		}
		if err == nil {
			err = wait(ctx, receiptPause)
		}
		if err != nil {
			return api.Receipt{}, err
		}
	}
}

// ask sends a transaction to a member, unless one has accepted it, and requests the receipt. An unreachable member is
// not an error.
func ask(ctx context.Context, c *client.Client, tx types.SignedTransaction, taken bool) (
	receipt *api.Receipt, sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if !taken {
		_, err = c.Send(ctx, tx)
		refused := new(client.Error)
		switch {
		case err == nil, errors.Is(err, api.ErrAlreadyKnown):
			sent = true
		case passing(err):
			return nil, false, nil
		case errors.As(err, &refused):
			return nil, false, err
		default:
			return nil, false, nil
		}
	}
	receipt, err = c.Receipt(ctx, tx.ID())
	if err != nil {
		receipt = nil
	}
	return receipt, sent, nil
}

// use makes one caller's operations sequentially until ctx ends.
func (r *register) use(ctx context.Context, caller int) error {
	nonce := uint64(0)
	if caller == 0 {
		nonce = 1 // after the deploy
	}
	for ; ctx.Err() == nil; nonce++ {
		amount := rand.Uint64N(10) // 0 is a read
		payload, err := client.Call(r.contract, "add", map[string]uint64{"amount": amount}, 0)
		if err != nil {
			return err
		}
		operation := porcupine.Operation{ClientId: caller, Input: amount, Call: int64(time.Since(r.begun))}
		receipt, err := r.invoke(ctx, caller, nonce, addGas, payload)
		operation.Return = int64(time.Since(r.begun))
		switch {
		case ctx.Err() != nil:
			operation.Return = int64(365 * 24 * time.Hour) // it may still take effect
		case err != nil:
			return err
		default:
			count, err := countOf(receipt.ReturnData)
			if err != nil {
				return err
			}
			operation.Output = count
		}
		r.mu.Lock()
		r.history = append(r.history, operation)
		r.mu.Unlock()
		_ = wait(ctx, callPause) // the loop condition sees the end of ctx
	}
	return nil
}

// countOf returns the number in the contract's output.
func countOf(data []byte) (uint64, error) {
	var text json.Number
	if err := json.Unmarshal(data, &text); err != nil {
		return 0, fmt.Errorf("the contract gave %q: %w", data, err)
	}
	return strconv.ParseUint(text.String(), 10, 64)
}

// checkTime limits the search for an order of the operations.
const checkTime = 5 * time.Minute

// check searches for an order of the operations that is possible for a counter.
func (r *register) check() error {
	result, _ := porcupine.CheckOperationsVerbose(counting, r.history, checkTime)
	r.world.print("| operations on the contract's counter by %d callers; linearizable | %d; %s |",
		callerCount, len(r.history), result)
	if result != porcupine.Ok {
		return fmt.Errorf("the history of %d operations is not linearizable: %s", len(r.history), result)
	}
	return nil
}
