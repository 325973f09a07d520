package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// freshRounds is the number of times that each method is called right after a block becomes known, by receipt and by
// notification.
const freshRounds = 4

// asker deploys copies of a token, each in its own block, and calls methods about the newest one.
type asker struct {
	t      *testing.T
	client *client.Client
	signer client.Signer
	chain  uint64
	code   types.ContractID // the token whose code the others have
	nonce  uint64
	name   types.CodeHash // hash of the code
}

// sign signs without asking the node, which must not learn of the transaction.
func (a *asker) sign(nonce uint64, gas types.Gas, action client.Action) types.SignedTransaction {
	a.t.Helper()
	signed, err := client.Sign(a.t.Context(), a.signer, types.Transaction{
		ChainID: a.chain, Sender: a.signer.Account(), Nonce: nonce, GasLimit: gas,
		MaxFeePerGas: 1_000, MaxPriorityFeePerGas: 1,
		Target: action.Target, Value: action.Value, Payload: action.Payload,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return signed
}

// deploy deploys the next contract: the first by its code, the others as instances of the first.
func (a *asker) deploy() (signed types.SignedTransaction, id types.ContractID) {
	a.t.Helper()
	args, err := json.Marshal(map[string]any{"name": "Gold", "symbol": "GLD", "decimals": 2, "initialSupply": 1 + a.nonce})
	if err != nil {
		a.t.Fatal(err)
	}
	id = types.NewContractID(a.signer.Account(), a.nonce)
	made := client.Action{Target: types.Account(a.code), Payload: types.Instantiate{Name: "gold", InitArgs: args}}
	if a.nonce == 0 {
		code, err := os.ReadFile("../../contracts/wasm/nep20.wasm")
		if err != nil {
			a.t.Fatal(err)
		}
		made = client.Action{Payload: types.Deploy{Name: "gold", Code: code, InitArgs: args}}
		a.code = id
	}
	signed = a.sign(a.nonce, 100_000_000, made)
	a.nonce++
	return signed, id
}

// params returns a method's parameters, all about the newest block.
func (a *asker) params(d api.Declaration, tx types.SignedTransaction, id types.ContractID, at *api.Receipt) (params []any) {
	for i := range d.Params.NumField() {
		field := d.Params.Field(i)
		if field.Tag.Get("jsonrpc") == "optional" && field.Name != "Block" {
			params = append(params, nil)
			continue
		}
		var value any
		switch name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name {
		case "account":
			value = a.signer.Account()
		case "address":
			value = "bcrt1p6g8r5e8jvnvukaqgdauwag8lfkzvz3dng4057kv7avnpxpkghdkszxhwd4"
		case "contract", "token":
			value = id
		case "block":
			value = "latest"
		case "hash":
			if value = at.TransactionHash; field.Type == reflect.TypeFor[types.BlockHash]() {
				value = at.BlockHash
			}
		case "nonce":
			value = api.Quantity(tx.Transaction.Nonce)
		case "function_name":
			value = "totalSupply"
		case "key", "proof":
			value = "0x00"
		case "code_hash":
			value = a.name
		case "calls":
			value = []any{map[string]any{"contract_id": id, "function": "totalSupply"}}
		case "range":
			value = map[string]any{"from_height": at.BlockHeight, "to_height": at.BlockHeight + 1}
		case "filter":
			value = map[string]any{"from_block": at.BlockHeight}
		case "transaction":
			call := client.CallEncoded(id, "transfer", []byte(`{"to":"`+id.String()+`","amount":1}`), 0)
			value = api.Data(a.sign(a.nonce, 5_000_000, call).Encode())
			if strings.HasPrefix(d.Name, "svc_send") {
				value = api.Data(tx.Encode()) // a known transaction
			}
		case "message":
			value = api.Data("hello")
		case "witness":
			value = api.Data(types.EncodeWitness(tx.Witness)) // the witness of a transaction, so it is invalid
		default:
			a.t.Fatalf("%s has a parameter %s: say here what to ask it about a new block", d.Name, name)
		}
		params = append(params, value)
	}
	return params
}

// answer returns a method's answer or error, without the parts that change with time.
func (a *asker) answer(method string, params []any) string {
	a.t.Helper()
	var result any
	err := a.client.Raw(a.t.Context(), method, params, &result)
	var refused *client.Error
	if err != nil && !errors.As(err, &refused) {
		a.t.Fatal(err)
	}
	if refused != nil {
		result = []any{refused.Code, refused.Data}
	}
	if method == api.GetMempoolStats.Name {
		return "" // sums over the pool, which reaches a new head a moment after the chain
	}
	text, err := json.Marshal(steady(result))
	if err != nil {
		a.t.Fatal(err)
	}
	return string(text)
}

// Right after a block is known, by a receipt or by a notification, every method already gives the answer of that block,
// the same as later if nothing else happens.
func TestEveryMethodKnowsTheNewBlock(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0", "--prove", "off", "--rate-limit", "0")
	c, signer := fundedSigner(t, node, 3, 1_000_000)
	a := &asker{t: t, client: c, signer: signer, chain: chainIDOf(t, c)}
	first, id := a.deploy()
	if receipt, err := c.SendAndWait(t.Context(), first); err != nil || client.Failure(receipt) != nil {
		t.Fatalf("the first token: got %+v, error %v", receipt, err)
	}
	record, err := c.Contract(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	a.name = record.CodeHash
	told := newTeller(t, c)
	asked := 0
	for _, d := range api.Declarations() {
		if strings.HasPrefix(d.Name, "dev_") || strings.HasSuffix(d.Name, "subscribe") {
			continue // they change the chain, or belong to a connection
		}
		asked++
		for round := range 2 * freshRounds {
			tx, id := a.deploy()
			var at *api.Receipt
			if round%2 == 0 {
				at = a.byReceipt(tx)
			} else {
				at = a.byNotification(tx, told)
			}
			params := a.params(d, tx, id, at)
			got := a.answer(d.Name, params)
			a.answer("dev_snapshot", nil) // waits until the node has finished the block
			if want := a.answer(d.Name, params); got != want {
				t.Errorf("%s right after block %d: got %.300s, want what it says later, %.300s", d.Name, at.BlockHeight, got, want)
			}
		}
	}
	if asked < 45 {
		t.Errorf("got %d methods asked, want all that read", asked)
	}
}

// byReceipt sends a transaction, and returns as soon as the node has its receipt.
func (a *asker) byReceipt(tx types.SignedTransaction) *api.Receipt {
	a.t.Helper()
	receipt, err := client.Invoke(a.t.Context(), a.client, api.SendRawTransactionSync, api.RawTransactionParams{Transaction: tx.Encode()})
	if err != nil || client.Failure(receipt) != nil {
		a.t.Fatalf("a deploy: got %+v, error %v", receipt, err)
	}
	return &receipt
}

// byNotification sends a transaction, and returns as soon as its block is announced, with the receipt's values.
func (a *asker) byNotification(tx types.SignedTransaction, told *teller) *api.Receipt {
	a.t.Helper()
	if _, err := client.Invoke(a.t.Context(), a.client, api.SendRawTransaction, api.RawTransactionParams{Transaction: tx.Encode()}); err != nil {
		a.t.Fatal(err)
	}
	block := told.with(tx.ID())
	return &api.Receipt{TransactionHash: tx.ID(), BlockHeight: block.Height, BlockHash: block.Hash}
}

// teller receives notifications of new blocks.
type teller struct {
	t      *testing.T
	blocks chan api.Block
}

func newTeller(t *testing.T, c *client.Client) *teller {
	t.Helper()
	head, err := c.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from := head + 1
	ctx, cancel := context.WithCancel(t.Context())
	told := &teller{t, make(chan api.Block, 1024)}
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() {
		for block, err := range c.SubscribeBlocks(ctx, &from) {
			if err != nil {
				return
			}
			told.blocks <- block
		}
	})
	return told
}

// with waits for the block that contains a transaction.
func (h *teller) with(id types.TxID) api.Block {
	h.t.Helper()
	for block := range h.blocks {
		for _, has := range block.Transactions.Hashes {
			if has == id {
				return block
			}
		}
	}
	panic(fmt.Sprint("no more blocks, and none with ", id))
}
