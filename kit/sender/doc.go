// Package sender sends the transactions of one account for many callers at once. It gives out nonces, sends in order,
// looks for receipts, and sends again after a connection broke. It raises the fees of what blocks leave out, and fills
// a nonce that would stop others.
//
//	journal := sender.NewFile("payouts.journal")
//	s, err := sender.Open(ctx, c, signer, sender.Options{Journal: journal})
//	sent, err := s.Send(ctx, client.Transfer(to, amount), sender.Job{ID: "withdrawal 1001"})
//	receipt, err := sent.Receipt(ctx)
//
// A job with an ID is done once, as what was signed is in the journal before it leaves. So a program that was killed
// sends the same jobs again with the same IDs and pays nobody twice. The format of a journal in a file is that of the
// TypeScript SDK. Damage to it costs the lines that it is in: Open refuses the journal with a [*DamageError] that names
// them and the jobs there, and [File.Salvage] sets them aside.
//
// What the node refuses is a [*client.Error], to be told apart by errors.Is and the values of package api, with its
// amounts in Data. What the sender itself refuses is one of this package's errors.
package sender
