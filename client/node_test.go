package client

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// answer is a method of a node that the test plays.
func answer[P, R any](method api.Method[P, R], fn func(P) (R, error)) jsonrpc.Method {
	return jsonrpc.NewMethod(method.Name, func(_ context.Context, p P) (R, error) { return fn(p) })
}

// always answers with one value.
func always[P, R any](method api.Method[P, R], result R) jsonrpc.Method {
	return answer(method, func(P) (R, error) { return result, nil })
}

// connect serves methods over HTTP and returns a client of them. The client does not really wait between polls; its
// pauses are appended to the list.
func connect(t *testing.T, pauses *[]time.Duration, methods ...jsonrpc.Method) *Client {
	t.Helper()
	server, err := jsonrpc.NewServer(jsonrpc.Options{}, methods...)
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(server)
	t.Cleanup(http.Close)
	c, err := New(http.URL, WithWait(func(ctx context.Context, d time.Duration) error {
		if pauses != nil {
			*pauses = append(*pauses, d)
		}
		return ctx.Err()
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// signer signs with the private key 3 of test vector 0 of BIP-340.
func signer(t *testing.T) KeySigner {
	t.Helper()
	key, err := crypto.NewPrivateKey([32]byte{31: 3})
	if err != nil {
		t.Fatal(err)
	}
	return NewSigner(key)
}

// signedTransfer is a transaction of 5 units to the zero account.
func signedTransfer(t *testing.T) types.SignedTransaction {
	t.Helper()
	s := signer(t)
	signed, err := Sign(t.Context(), s, types.Transaction{
		Sender:               s.Account(),
		ChainID:              7,
		GasLimit:             10_000,
		MaxFeePerGas:         21,
		MaxPriorityFeePerGas: 1,
		Value:                5,
		Payload:              types.Transfer{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return signed
}
