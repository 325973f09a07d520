// Package sender sends the transactions of one account for many concurrent callers. It assigns nonces, sends in order,
// waits for receipts, and resends after connection failures. It raises the fees of transactions that blocks leave out,
// and fills nonce gaps.
//
//	journal := sender.NewFile("payouts.journal")
//	s, err := sender.Open(ctx, c, signer, sender.Options{Journal: journal})
//	sent, err := s.Send(ctx, client.Transfer(to, amount), sender.Job{ID: "withdrawal 1001"})
//	receipt, err := sent.Receipt(ctx)
//
// A job with an ID is done only once, as each signed transaction is in the journal before it is sent. A program that
// was killed can therefore submit the same jobs again with the same IDs without paying twice. Journal files have the
// same format as those of the TypeScript SDK. Damage affects only the damaged lines: Open refuses the journal with a
// [*DamageError] that lists these lines and the jobs in them, and [File.Salvage] sets them aside.
//
// If the node refuses a job, the error is a [*client.Error], which errors.Is compares with the values of package api;
// its Data has the amounts. Other refusals are errors of this package.
package sender
