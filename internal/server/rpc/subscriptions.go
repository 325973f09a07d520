package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// subscriptionHandlers forward calls to the connection that they arrived on.
type subscriptionHandlers struct{}

func (h subscriptionHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.Subscribe, h.subscribe),
		bind(e, api.Unsubscribe, h.unsubscribe),
	}
}

// subscribe and unsubscribe exist only for messages on WebSocket connections.
func (h subscriptionHandlers) subscribe(ctx context.Context, p api.SubscribeParams) (api.Quantity, error) {
	to := request.Of(ctx).Subscriber
	if to == nil {
		return 0, onlyOverWebSocket(api.Subscribe.Name)
	}
	return to.Subscribe(ctx, p)
}

func (h subscriptionHandlers) unsubscribe(ctx context.Context, p api.UnsubscribeParams) (bool, error) {
	to := request.Of(ctx).Subscriber
	if to == nil {
		return false, onlyOverWebSocket(api.Unsubscribe.Name)
	}
	return to.Unsubscribe(api.Quantity(p.ID))
}

func onlyOverWebSocket(method string) error {
	return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "the method exists over WebSocket only", "method", method)
}

// Feed renders the content of subscriptions. It implements push.Source.
type Feed struct {
	blocks   *blockReader
	proofs   Proofs
	chain    *chainHandlers
	payments *paymentReader
	events   *eventHandlers
}

// SyncStatus returns the node's sync status.
func (f *Feed) SyncStatus() api.SyncStatus { return f.chain.syncStatus() }

// Block renders the block at a height with hashes. It returns nil if there is none, chain.ErrPruned if it is pruned.
func (f *Feed) Block(height types.Height) (*api.Block, error) {
	return f.blocks.block(context.Background(), height, hashes)
}

// BlockHeader renders the block at a height without its transactions. It returns nil if there is none, chain.ErrPruned
// if it is pruned.
func (f *Feed) BlockHeader(height types.Height) (*api.Block, error) {
	return f.blocks.block(context.Background(), height, none)
}

// TransactionCount returns the number of transactions in a block. It returns chain.ErrNotFound if there is no such
// block, chain.ErrPruned if it is pruned.
func (f *Feed) TransactionCount(height types.Height) (int, error) {
	return f.blocks.chain.TransactionCount(height)
}

// Events returns all events of a block in order, or false if there are more than most. It returns nil if there is no such
// block, chain.ErrPruned if it is pruned.
func (f *Feed) Events(height types.Height, most int) (events []api.Event, all bool, err error) {
	outline, err := f.blocks.chain.Outline(height, true)
	var receipts []types.Receipt
	if err == nil {
		receipts, err = f.blocks.receipts(height, len(outline.IDs))
	}
	if errors.Is(err, chain.ErrNotFound) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	count := 0
	for i := range receipts {
		count += len(receipts[i].Logs)
	}
	if count > most {
		return nil, false, nil
	}
	events = make([]api.Event, 0, count)
	header := outline.Header.Header
	of := chain.Event{Block: header.Hash(), Timestamp: header.Timestamp}
	for i, receipt := range receipts {
		for _, log := range receipt.Logs {
			e := of
			e.Log, e.Position, e.Transaction = log, chain.Position{Height: height, Index: uint32(i)}, outline.IDs[i]
			e.LogIndex = uint32(len(events))
			events = append(events, newEvent(&e))
		}
	}
	return events, true, nil
}

// EventPiece reads a piece of the events that match a filter, after a position. The piece has at most the given bytes
// of JSON, but at least one event if there is one. The work is bounded too, so a piece may be empty without being the
// last. It returns chain.ErrPruned if events after the position are pruned.
func (f *Feed) EventPiece(
	ctx context.Context, filter *api.SubscriptionFilter, after chain.Position, bytes int,
) ([]api.Event, chain.EventsEnd, error) {
	return f.events.eventPiece(ctx, filter, after, bytes)
}

// EventPosition returns the position that an event's cursor stands for, if it is in the chain.
func (f *Feed) EventPosition(text string) (chain.Position, error) {
	return f.events.cursors.position(text, "filter", "cursor")
}

// EventProgress renders the progress of a subscription that has received all events up to the given block.
func (f *Feed) EventProgress(height types.Height, block types.BlockHash) api.EventProgress {
	return api.EventProgress{BlockHeight: height, Cursor: newCursor(chain.EndOfEvents(height), block)}
}

// ProofNotice implements push.Source.
func (f *Feed) ProofNotice(height types.Height) (*api.ProofNotice, bool, error) {
	state, _, err := f.proofs.Status(height)
	if err != nil || state == proving.Queued || state == proving.Proving {
		return nil, err == nil, err
	}
	if state != proving.Proven {
		return nil, false, nil
	}
	bundle, err := f.proofs.Bundle(height)
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) { // removed meanwhile
		return nil, false, nil
	}
	return &api.ProofNotice{Height: height, Statement: api.StatementS1, Size: uint64(len(bundle.Proof))}, false, err
}

// RangeProofs implements push.Source.
func (f *Feed) RangeProofs() ([]api.RangeProofs, error) { return f.chain.rangeProofs() }

// ProofsChanged implements push.Source.
func (f *Feed) ProofsChanged() <-chan struct{} { return f.proofs.Changed() }

// PaymentFilter parses the filter of a subscription to payments and the cursor to resume from, nil for none. Its errors
// are for the client.
func (f *Feed) PaymentFilter(asked api.SubscriptionFilter) (chain.PaymentFilter, *chain.PaymentCursor, error) {
	filter, err := f.payments.filter(asked.Accounts, asked.Direction, asked.Kinds)
	if err != nil || asked.Cursor == "" {
		return filter, nil, err
	}
	after, err := parsePaymentCursor(asked.Cursor)
	if err != nil {
		return filter, nil, err
	}
	in, nobody := chain.PaymentRange{After: after}, chain.PaymentFilter{Accounts: map[types.Account]struct{}{}}
	_, _, err = f.payments.page(context.Background(), nobody, in, 1) // checks the cursor and reads no payments
	return filter, after, f.payments.refusal(err, in)
}

// Payments returns a page of payments, with the errors of chain.Store.Payments.
func (f *Feed) Payments(
	ctx context.Context, filter chain.PaymentFilter, in chain.PaymentRange,
) (api.PaymentPage, chain.PaymentsEnd, error) {
	return f.payments.page(ctx, filter, in, api.MaxPayments)
}

// Payment renders a payment of the block with the given header and hash.
func (f *Feed) Payment(p *chain.Payment, h *types.Header, hash types.BlockHash) api.Payment {
	return newPayment(p, h, hash)
}

// PaymentPage renders a page.
func (f *Feed) PaymentPage(payments []api.Payment, end chain.PaymentsEnd) api.PaymentPage {
	return newPaymentPage(payments, end)
}
