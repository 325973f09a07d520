package rpc

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// paymentWork bounds the transactions that are read for one page.
const paymentWork = 5000

// paymentReader reads payments.
type paymentReader struct {
	chain   paymentStore
	network types.Network
	reverts bool // blocks can be reverted on this chain
}

type paymentHandlers struct{ *paymentReader }

func (h *paymentHandlers) methods(e *clientErrors) []method {
	return []method{bind(e, api.GetPayments, h.getPayments)}
}

func (h *paymentHandlers) getPayments(ctx context.Context, p api.GetPaymentsParams) (api.PaymentPage, error) {
	f := &p.Filter
	count, err := memberLimit("filter", f.Limit, api.DefaultPayments, api.MaxPayments)
	if err != nil {
		return api.PaymentPage{}, err
	}
	filter, err := h.filter(f.Accounts, f.Direction, f.Kinds)
	if err != nil {
		return api.PaymentPage{}, err
	}
	in := chain.PaymentRange{From: f.FromBlock, To: f.ToBlock, Descending: f.Order == api.OrderDescending}
	if err := checkRange(h.chain, in.From, in.To); err != nil {
		return api.PaymentPage{}, err
	}
	if f.Order != "" && f.Order != api.OrderAscending && !in.Descending {
		return api.PaymentPage{}, unknownWord("order")
	}
	if f.Cursor != "" {
		if in.After, err = parsePaymentCursor(f.Cursor); err != nil {
			return api.PaymentPage{}, err
		}
	}
	if err := heavy(ctx, count); err != nil {
		return api.PaymentPage{}, err
	}
	ctx, cancel := context.WithDeadline(ctx, request.Of(ctx).Until())
	defer cancel()
	page, _, err := h.page(ctx, filter, in, count)
	return page, h.refusal(err, in)
}

// refusal returns the client's error. A cursor above the head belongs to a reverted block if this chain reverts blocks,
// and otherwise to a block that this node does not have yet.
func (r *paymentReader) refusal(err error, in chain.PaymentRange) error {
	switch {
	case !errors.Is(err, chain.ErrAboveHead):
		return err
	case in.After != nil && r.reverts:
		return api.ErrTakenBack
	default:
		return withData(api.ErrAboveHead, "param", "filter", "max", r.chain.Head().Header.Height)
	}
}

// page reads a page of at most count payments. It may end early when ctx's time is up, or after the work: in.Work or,
// by default, paymentWork.
func (r *paymentReader) page(
	ctx context.Context, f chain.PaymentFilter, in chain.PaymentRange, count int,
) (api.PaymentPage, chain.PaymentsEnd, error) {
	in.Work = cmp.Or(in.Work, paymentWork)
	payments := []api.Payment{}
	end, err := r.chain.Payments(ctx, f, in, func(p *chain.Payment, h *types.Header, hash types.BlockHash) bool {
		payments = append(payments, newPayment(p, h, hash))
		return len(payments) < count
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
		if end == (chain.PaymentsEnd{}) {
			err = api.ErrTimeUp
		}
	}
	return newPaymentPage(payments, end), end, err
}

func newPaymentPage(payments []api.Payment, end chain.PaymentsEnd) api.PaymentPage {
	return api.PaymentPage{
		Payments: payments, Resume: paymentCursor(end.Cursor), Height: end.Cursor.Height, Complete: end.Complete,
	}
}

// newPayment renders a payment of the block with the given header and hash.
func newPayment(p *chain.Payment, h *types.Header, hash types.BlockHash) api.Payment {
	payment := api.Payment{
		Cursor:           paymentCursor(p.Cursor(hash)),
		BlockHeight:      p.Height,
		BlockHash:        hash,
		Timestamp:        seconds(h.Timestamp),
		TransactionHash:  p.Transaction,
		TransactionIndex: p.Index,
		Kind:             api.PaymentKind(p.Kind),
		From:             p.From,
		To:               p.To,
		Amount:           api.Quantity(p.Amount),
		Memo:             newMemo(p.Memo),
	}
	if p.Place > 0 {
		payment.Log = new(p.Place - 1)
	}
	return payment
}

// filter translates a client's filter of payments.
func (r *paymentReader) filter(
	accounts []string, direction api.Direction, kinds []api.PaymentKind,
) (f chain.PaymentFilter, err error) {
	f.In, f.Out = direction != api.DirectionOut, direction != api.DirectionIn
	if direction != "" && f.In && f.Out && direction != api.DirectionBoth {
		return f, unknownWord("direction")
	}
	for _, kind := range kinds {
		declared := slices.Index(api.PaymentKinds(), kind)
		if declared < 0 {
			return f, unknownWord("kinds")
		}
		// Each kind once, and no text of the client: a filter is kept as long as its subscription, and checked against
		// each payment.
		if kind := exec.PaymentKind(api.PaymentKinds()[declared]); !slices.Contains(f.Kinds, kind) {
			f.Kinds = append(f.Kinds, kind)
		}
	}
	if len(accounts) > api.MaxPaymentAccounts {
		err := withData(api.ErrOutOfRange, "param", "filter", "member", "accounts", "max", api.MaxPaymentAccounts)
		err.Message = "too many accounts"
		return f, err
	}
	if accounts != nil {
		f.Accounts = make(map[types.Account]struct{}, len(accounts))
	}
	for i, text := range accounts {
		account, err := parseAccount(r.network, text)
		if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
			refused.Data["param"], refused.Data["member"] = "filter", fmt.Sprintf("accounts[%d]", i)
			return f, refused
		}
		f.Accounts[account] = struct{}{}
	}
	return f, nil
}

// unknownWord returns the error for a filter member with an unknown word.
func unknownWord(member string) error {
	return withData(api.ErrUnknownWord, "param", "filter", "member", member)
}

// A payment's cursor is its height, transaction, place and the prefix of the block's hash, big-endian, in hex.
const paymentCursorBytes = 8 + 4 + 4 + 4

func paymentCursor(c chain.PaymentCursor) string {
	var room [paymentCursorBytes]byte
	b := binary.BigEndian.AppendUint64(room[:0], uint64(c.Height))
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, c.Index), c.Place)
	return hex.EncodeToString(append(b, c.Block[:]...))
}

// parsePaymentCursor parses a cursor that paymentCursor returned.
func parsePaymentCursor(text string) (*chain.PaymentCursor, error) {
	b, err := hex.DecodeString(text[:min(len(text), 2*paymentCursorBytes+1)])
	if err != nil || len(b) != paymentCursorBytes {
		return nil, withData(api.ErrBadCursor, "param", "filter", "member", "cursor")
	}
	return &chain.PaymentCursor{
		Position: chain.Position{
			Height: types.Height(binary.BigEndian.Uint64(b)), Index: binary.BigEndian.Uint32(b[8:]),
		},
		Place: binary.BigEndian.Uint32(b[12:]), Block: [4]byte(b[16:]),
	}, nil
}
