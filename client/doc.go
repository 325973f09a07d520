// Package client is a typed client of a Cairn node's JSON-RPC methods. It builds, signs and sends transactions, and
// waits for their receipts.
//
//	c, err := client.New("http://127.0.0.1:8777")
//	signer := client.NewSigner(key)
//	tx, err := c.Build(ctx, signer, client.Transfer(to, 3*types.CoinUnits), client.TxFields{})
//	signed, err := client.Sign(ctx, signer, tx)
//	receipt, err := c.SendAndWait(ctx, signed)
//
// A [Signer] makes the witnesses of an account: a [KeySigner] with its key, a [TextSigner] with a Bitcoin wallet, a
// [PolicySigner] with the cosigners of a policy, among which may be keys of P-256 and passkeys. Cosigners on other
// machines pass on a [Draft]. [Sponsor] signs as the payer of another's fee.
//
// An error returned by the node is an [*Error]. Compare it with the values of package api by errors.Is:
//
//	if errors.Is(err, api.ErrNonceTooLow) { … }
//
// Programs that send often, or from several goroutines, should use package sender, which assigns nonces and never pays
// twice.
//
// If a node does not respond, the error is [ErrUnreachable]. Before that, reads are retried for 30 s, but calls that
// change something only if they did not reach the node: see [WithRetry], [WithFallback] and [WithTimeout]. Calls that
// exceed the size or gas limit of a batch request are repeated in smaller requests.
package client
