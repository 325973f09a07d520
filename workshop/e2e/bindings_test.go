package e2e

import (
	"context"
	"encoding/hex"
	"errors"
	"math/big"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/kit/bindings/generated/nep20"
	"github.com/cairn-chain/cairn/kit/bindings/generated/typed"
	"github.com/cairn-chain/cairn/types"
)

// driver sends transactions of the first development account.
type driver struct {
	t      *testing.T
	client *client.Client
	signer client.Signer
}

func newDriver(t *testing.T) *driver {
	t.Helper()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	secret, err := hex.DecodeString(node.Accounts[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := crypto.NewPrivateKey([32]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return &driver{t, c, client.NewSigner(key)}
}

// send sends an action made by a binding. Calls have a fixed gas limit, so that even a reverting call is included in a
// block.
func (d *driver) send(action client.Action, err error) api.Receipt {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	var fields client.TxFields
	if _, call := action.Payload.(types.Call); call {
		limit := types.Gas(20_000_000)
		fields.GasLimit = &limit
	}
	tx, err := d.client.Build(d.t.Context(), d.signer, action, fields)
	if err != nil {
		d.t.Fatal(err)
	}
	signed, err := client.Sign(d.t.Context(), d.signer, tx)
	if err != nil {
		d.t.Fatal(err)
	}
	receipt, err := d.client.SendAndWait(d.t.Context(), signed)
	if err != nil {
		d.t.Fatal(err)
	}
	return receipt
}

func module(t *testing.T, name string) []byte {
	t.Helper()
	code, err := os.ReadFile("../../contracts/wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// Generated Go uses a token on a real node: deploy, calls, results, events and views.
func TestGoBindingsOfAToken(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	ctx, alice, bob := t.Context(), d.signer.Account(), types.Account{31: 7}
	deployed := d.send(nep20.Deploy("Gold", module(t, "nep20"), 0, "Gold", "GLD", 2, 1<<63))
	if err := client.Failure(deployed); err != nil {
		t.Fatal(err)
	}
	gold := nep20.At(*deployed.ContractAddress)
	receipt := d.send(gold.Transfer(bob, 1<<53+1))
	moved, err := nep20.TransferResult(receipt.ReturnData)
	if err != nil || !moved || receipt.ReturnData[0] != 1 {
		t.Fatalf("moved %v, error %v, returned %x", moved, err, receipt.ReturnData)
	}
	event, err := nep20.ReadTransferEvent(receipt.Logs[0].Data)
	if want := (nep20.TransferEvent{From: alice, To: bob, Amount: 1<<53 + 1}); err != nil || event != want {
		t.Errorf("got %+v, want %+v, error %v", event, want, err)
	}
	symbol, err := gold.Symbol(ctx, d.client, api.Latest())
	if err != nil || symbol != "GLD" {
		t.Errorf("got %q, want \"GLD\", error %v", symbol, err)
	}
	for at, want := range map[api.BlockRef]uint64{api.Latest(): 1<<53 + 1, api.AtHeight(deployed.BlockHeight): 0} {
		if has, err := gold.BalanceOf(ctx, d.client, at, bob); err != nil || has != want {
			t.Errorf("got %d, want %d, error %v", has, want, err)
		}
	}
}

// Generated Go uses a contract with every type on a real node.
func TestGoBindingsOfEveryType(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	ctx, alice := t.Context(), d.signer.Account()
	deploy, err := client.Deploy("types", module(t, "types"), nil, 0)
	k := typed.At(*d.send(deploy, err).ContractAddress)

	note := "hi"
	offer := typed.Offer{Seller: alice, Price: 5, Note: &note}
	kept := d.send(k.Keep(7, offer, typed.StateSold{To: alice, Price: 1 << 60}))
	if err := client.Failure(kept); err != nil {
		t.Fatal(err)
	}
	pair, err := k.Kept(ctx, d.client, api.Latest(), 7)
	if err != nil || pair.Item1 == nil || *pair.Item1.Note != note || pair.Item1.Price != 5 ||
		*pair.Item2 != (typed.StateSold{To: alice, Price: 1 << 60}) {
		t.Errorf("got %+v, error %v", pair, err)
	}
	if pair, err := k.Kept(ctx, d.client, api.Latest(), 8); err != nil || pair.Item1 != nil {
		t.Errorf("got %+v, error %v, want Item1 nil", pair, err)
	}
	wide, err := abi.Uint128Of(new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1)))
	if err != nil {
		t.Fatal(err)
	}
	logs := d.send(k.See(wide, typed.StateOpen{}, offer)).Logs
	seen, err := typed.ReadSeenEvent(logs[0].Data)
	if err != nil || seen.Wide != wide || seen.Small != -1 || seen.State != (typed.StateOpen{}) ||
		seen.Below.String() != "-"+wide.String() || seen.Pair != (typed.TupleU64Bool{Item1: 1<<64 - 1, Item2: true}) {
		t.Errorf("got %+v, error %v", seen, err)
	}
	checkViews(ctx, t, d, k)

	receipt := d.send(k.Refuse(7, 10))
	var low typed.TooLowError
	if err := typed.Explain(client.Failure(receipt)); !errors.As(err, &low) || low.Have != 7 || low.Need != 10 {
		t.Errorf("error %v", err)
	}
	var closed typed.ClosedError
	if err := typed.Explain(client.Failure(d.send(k.Refuse(7, 7)))); !errors.As(err, &closed) ||
		!errors.Is(err, api.ErrExecutionFailed) {
		t.Errorf("error %v", err)
	}
	for _, wrong := range []error{
		second(k.Keep(7, offer, nil)), second(k.Text(ctx, d.client, api.Latest(), "\xff")),
	} {
		if !errors.Is(wrong, abi.ErrArgument) {
			t.Errorf("error %v, want %v", wrong, abi.ErrArgument)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func checkViews(ctx context.Context, t *testing.T, d *driver, k typed.Contract) {
	t.Helper()
	latest := api.Latest()
	if v, err := k.I8(ctx, d.client, latest, -128); v != -128 || err != nil {
		t.Errorf("got %d, want %d, error %v", v, -128, err)
	}
	if v, err := k.I64(ctx, d.client, latest, -1<<63); v != -1<<63 || err != nil {
		t.Errorf("got %d, want %d, error %v", v, -1<<63, err)
	}
	least, err := abi.Int128Of(new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127)))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := k.I128(ctx, d.client, latest, least); v != least || err != nil {
		t.Errorf("got %s, want %s, error %v", v, least, err)
	}
	if v, err := k.Four(ctx, d.client, latest, [4]byte{1, 2, 3, 4}); v != [4]byte{1, 2, 3, 4} || err != nil {
		t.Errorf("got %x, error %v", v, err)
	}
	pairs := []typed.TupleU64Bool{{Item1: 1}, {Item1: 2, Item2: true}}
	if v, err := k.Pairs(ctx, d.client, latest, pairs); len(v) != 2 || v[1] != pairs[1] || err != nil {
		t.Errorf("got %+v, error %v", v, err)
	}
	if v, err := k.Offers(ctx, d.client, latest, nil); len(v) != 0 || err != nil {
		t.Errorf("got %+v, error %v", v, err)
	}
	if v, err := k.Optional(ctx, d.client, latest, nil); v != nil || err != nil {
		t.Errorf("got %v, error %v", v, err)
	}
}
