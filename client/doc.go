// Package client talks to a Cairn node: typed calls of its JSON-RPC methods, transactions built, signed, sent and
// waited for.
//
//	c, err := client.New("http://127.0.0.1:8777")
//	signer := client.NewSigner(key)
//	tx, err := c.Build(ctx, signer.Account(), client.Transfer(to, 3*types.CoinUnits), client.TxFields{})
//	signed, err := signer.Sign(tx)
//	receipt, err := c.SendAndWait(ctx, signed)
//
// An error that the node answers with is an [*Error], to be told apart with errors.Is and the values of package api:
//
//	if errors.Is(err, api.ErrNonceTooLow) { … }
//
// Programs that send often, or from several goroutines, let package sender do it: it gives out nonces, and pays nobody
// twice.
//
// A node that gives no answer is [ErrUnreachable]. Reads are asked again for 30 s before that, and what sends only if it
// did not arrive: see [WithRetry], [WithFallback] and [WithTimeout]. What a request has no room or gas for is asked again
// in smaller requests.
package client
