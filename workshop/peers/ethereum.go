package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/cairn-chain/cairn/kit/loadgen"
)

const (
	transferGas = 21_000
	// maxFee is 1,000 gwei: more than any base fee that a run reaches.
	maxFee = 1_000_000_000_000
	// setupTime limits the time for including the funding transactions.
	setupTime = time.Minute
)

// ethereum is a target with the JSON-RPC of an Ethereum node and funded senders.
type ethereum struct {
	url     string
	signer  types.Signer
	chainID *big.Int
	keys    []*ecdsa.PrivateKey
	senders []common.Address
	nonces  []uint64
}

var _ loadgen.Target = (*ethereum)(nil)

// prepareEthereum creates senders and funds them from the node's first account, which is unlocked in a development
// node.
func prepareEthereum(ctx context.Context, url string, plan loadgen.Plan) (*ethereum, error) {
	e := &ethereum{url: url}
	var chainID hexutil.Big
	if err := e.call(ctx, "eth_chainId", &chainID); err != nil {
		return nil, err
	}
	e.chainID = chainID.ToInt()
	e.signer = types.LatestSignerForChainID(e.chainID)
	for i := range plan.Senders {
		key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Appendf(nil, "cairn bench sender %d", i)))
		if err != nil {
			return nil, err
		}
		e.keys = append(e.keys, key)
		e.senders = append(e.senders, crypto.PubkeyToAddress(key.PublicKey))
	}
	return e, e.fund(ctx, plan.PerSender)
}

// fund gives each sender the maximum cost of its transfers, and reads the nonces.
func (e *ethereum) fund(ctx context.Context, perSender int) error {
	var accounts []common.Address
	if err := e.call(ctx, "eth_accounts", &accounts); err != nil {
		return err
	}
	if len(accounts) == 0 {
		return errors.New("the node has no unlocked account")
	}
	each := new(big.Int).Mul(big.NewInt(transferGas*maxFee), big.NewInt(int64(perSender)+1))
	// Set the nonce, as geth's own choice lags behind recent transactions.
	var nonce hexutil.Uint64
	if err := e.call(ctx, "eth_getTransactionCount", &nonce, accounts[0], "latest"); err != nil {
		return err
	}
	var last common.Hash
	for i, sender := range e.senders {
		if err := e.call(ctx, "eth_sendTransaction", &last, map[string]any{
			"from": accounts[0], "to": sender, "value": (*hexutil.Big)(each), "gas": hexutil.Uint64(transferGas),
			"nonce": nonce + hexutil.Uint64(i),
		}); err != nil {
			return err
		}
	}
	if err := e.await(ctx, last); err != nil {
		return err
	}
	for _, sender := range e.senders {
		var nonce hexutil.Uint64
		if err := e.call(ctx, "eth_getTransactionCount", &nonce, sender, "latest"); err != nil {
			return err
		}
		e.nonces = append(e.nonces, uint64(nonce))
	}
	return nil
}

// await waits until a transaction is included.
func (e *ethereum) await(ctx context.Context, hash common.Hash) error {
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	for {
		var receipt *struct{ Status hexutil.Uint64 }
		if err := e.call(ctx, "eth_getTransactionReceipt", &receipt, hash); err != nil && ctx.Err() != nil {
			return err
		}
		if receipt != nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the funding transactions are in no block after %s", setupTime)
		}
	}
}

// Transfers implements [loadgen.Target].
func (e *ethereum) Transfers(sender, first, count int) (calls []loadgen.Call, err error) {
	for i := range count {
		call, err := e.transfer(sender, first+i)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// transfer returns a sender's index-th transfer: one wei to another sender (EIP-1559).
func (e *ethereum) transfer(sender, index int) (loadgen.Call, error) {
	to := e.senders[(sender+len(e.senders)/2+index)%len(e.senders)]
	tx, err := types.SignNewTx(e.keys[sender], e.signer, &types.DynamicFeeTx{
		ChainID:   e.chainID,
		Nonce:     e.nonces[sender] + uint64(index),
		GasTipCap: big.NewInt(1_000_000_000),
		GasFeeCap: big.NewInt(maxFee),
		Gas:       transferGas,
		To:        &to,
		Value:     big.NewInt(1),
	})
	if err != nil {
		return loadgen.Call{}, err
	}
	encoded, err := tx.MarshalBinary()
	if err != nil {
		return loadgen.Call{}, err
	}
	hash := [32]byte(tx.Hash())
	return loadgen.NewCall("eth_sendRawTransaction", `["`+hexutil.Encode(encoded)+`"]`, &hash), nil
}

// Read implements [loadgen.Target].
func (e *ethereum) Read(number int) loadgen.Call {
	return loadgen.NewCall("eth_getBalance", `["`+e.senders[number%len(e.senders)].Hex()+`","latest"]`, nil)
}

// Judge implements [loadgen.Target]. It matches the messages of geth and anvil, which have no error codes for these
// cases.
func (e *ethereum) Judge(refusal loadgen.CallError) loadgen.Verdict {
	switch {
	case strings.Contains(refusal.Message, "already known"), strings.Contains(refusal.Message, "already imported"):
		return loadgen.Known
	case strings.Contains(refusal.Message, "txpool is full"):
		return loadgen.TryAgain
	}
	return loadgen.Refused
}

// Height implements [loadgen.Chain].
func (e *ethereum) Height(ctx context.Context) (uint64, error) {
	var height hexutil.Uint64
	err := e.call(ctx, "eth_blockNumber", &height)
	return uint64(height), err
}

// BlockTransactions implements [loadgen.Chain].
func (e *ethereum) BlockTransactions(ctx context.Context, height uint64) ([][32]byte, error) {
	var block struct {
		Transactions []common.Hash `json:"transactions"`
	}
	if err := e.call(ctx, "eth_getBlockByNumber", &block, hexutil.Uint64(height), false); err != nil {
		return nil, err
	}
	hashes := make([][32]byte, len(block.Transactions))
	for i, hash := range block.Transactions {
		hashes[i] = hash
	}
	return hashes, nil
}

// call makes a call outside the measured load.
func (e *ethereum) call(ctx context.Context, method string, result any, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Result json.RawMessage    `json:"result"`
		Error  *loadgen.CallError `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s (code %d)", method, answer.Error.Message, answer.Error.Code)
	}
	return json.Unmarshal(answer.Result, result)
}
