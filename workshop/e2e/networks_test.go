package e2e

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// A payment signed for one network is refused by another, made by the same command.
func TestNetworksAreApart(t *testing.T) {
	t.Parallel()
	alice := client.NewSigner(keyOf("alice"))
	nodes := make([]*client.Client, 2)
	for i := range nodes {
		dir := initialize(t, "--alloc", alice.Account().String()+"=100", "--block-time", "0")
		var err error
		if nodes[i], err = client.New(start(t, "node", "--data-dir", dir).RPC); err != nil {
			t.Fatal(err)
		}
		defer nodes[i].Close()
	}
	tx, err := nodes[0].Build(t.Context(), alice, client.Transfer(types.Account{1}, 5), client.TxFields{})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := client.Sign(t.Context(), alice, tx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[1].Send(t.Context(), signed); !errors.Is(err, api.ErrWrongChain) {
		t.Errorf("sent to the other network: got %v, want %v", err, api.ErrWrongChain)
	}
	if _, err := nodes[0].Send(t.Context(), signed); err != nil {
		t.Errorf("sent to its own network: error %v", err)
	}
}
