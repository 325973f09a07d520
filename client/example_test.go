package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// node plays a node for the examples, with one account that has 3 coins. It returns its URL and how to stop it.
func node() (url string, stop func()) {
	server, err := jsonrpc.NewServer(jsonrpc.Options{},
		on(api.ChainID, api.Quantity(31337)), on(api.BlockNumber, api.Quantity(17)),
		on(api.GetBalance, api.Quantity(3*types.CoinUnits)), on(api.GetTransactionCount, api.Quantity(0)),
		on(api.GasPrice, api.GasPriceInfo{BaseFee: 10, SuggestedPriorityFee: 1, SuggestedMaxFee: 21}),
		on(api.EstimateGas, api.Quantity(10_000)),
		on(api.SendRawTransactionSync, api.Receipt{BlockHeight: 18, Status: 1, GasUsed: 10_000, EffectiveGasPrice: 11}),
	)
	if err != nil {
		log.Fatal(err)
	}
	http := httptest.NewServer(server)
	return http.URL, http.Close
}

func on[P, R any](method api.Method[P, R], result R) jsonrpc.Method {
	return jsonrpc.NewMethod(method.Name, func(context.Context, P) (R, error) { return result, nil })
}

func Example() {
	url, stop := node() // a node's JSON-RPC, such as http://127.0.0.1:8777
	defer stop()
	ctx := context.Background()

	c, err := client.New(url)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	key, err := crypto.NewPrivateKey([32]byte{31: 3})
	if err != nil {
		log.Fatal(err)
	}
	signer := client.NewSigner(key)
	to, err := types.Regtest.ParseAccount("f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9")
	if err != nil {
		log.Fatal(err)
	}
	tx, err := c.Build(ctx, signer, client.Transfer(to, 2*types.CoinUnits), client.TxFields{})
	if err != nil {
		log.Fatal(err)
	}
	signed, err := client.Sign(ctx, signer, tx)
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := c.SendAndWait(ctx, signed)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("included in block", receipt.BlockHeight, "with success:", client.Failure(receipt) == nil)
	// Output: included in block 18 with success: true
}

func ExampleClient_Build() {
	url, stop := node()
	defer stop()
	c, err := client.New(url)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	// The account has 3 coins.
	_, err = c.Build(
		context.Background(), client.KeyAccount{1}, client.Transfer(types.Account{2}, 5*types.CoinUnits), client.TxFields{},
	)
	fmt.Println(errors.Is(err, api.ErrCannotPay))
	// Output: true
}

func ExampleBatch() {
	url, stop := node()
	defer stop()
	c, err := client.New(url)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var batch client.Batch
	height := client.Add(&batch, api.BlockNumber, api.NoParams{})
	balance := client.Add(&batch, api.GetBalance, api.GetBalanceParams{Account: types.Account{1}.String()})
	if err := batch.Send(context.Background(), c); err != nil {
		log.Fatal(err)
	}
	h, err := height.Result()
	if err != nil {
		log.Fatal(err)
	}
	b, err := balance.Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("at height", uint64(h), "the account has", uint64(b), "units")
	// Output: at height 17 the account has 300000000 units
}
