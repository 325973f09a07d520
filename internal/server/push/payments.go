package push

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"unsafe"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

const (
	// paymentBlocks is how many of the newest blocks are read once for all subscribers. A subscription further behind
	// reads an index of its own accounts, so that payments to others do not slow it down.
	paymentBlocks = 4
	// paymentWork bounds the transactions read in one turn of a subscription that is behind. Each account costs the
	// look-up of a row, so with many accounts the bound is their number.
	paymentWork = 256
	// smallPage is the greatest number of payments in a page that is rendered without a turn; paymentMemory is the
	// memory for rendering one.
	smallPage     = 16
	paymentMemory = 2 << 10
	// paymentText is about the size of a payment in JSON, in bytes.
	paymentText = 640
	// accountBytes is the size of an account in a filter.
	accountBytes = 80
)

// errReverted is returned when the last block of a subscription was reverted.
var errReverted = errors.New("the chain was taken back")

// blockPayments holds all payments of a block.
type blockPayments struct {
	header   types.Header
	hash     types.BlockHash
	payments []chain.Payment
	parties  func() []party // an index of the payments by account, in ascending order; made at the first call
}

// party is the prefix of an account that sent or received a payment.
type party struct {
	account uint64
	payment uint32
}

func (p party) compare(other party) int {
	if p.account != other.account {
		if p.account < other.account {
			return -1
		}
		return 1
	}
	return int(p.payment) - int(other.payment)
}

func beginning(account types.Account) uint64 { return binary.BigEndian.Uint64(account[:]) }

// readPayments reads a block's payments once for all subscribers.
func (s *Server) readPayments(height types.Height) (any, int, error) {
	header, payments, err := s.config.Chain.BlockPayments(height)
	if err != nil {
		return nil, 0, gone(err)
	}
	b := &blockPayments{header: header, hash: header.Hash(), payments: payments}
	b.parties = sync.OnceValue(func() []party {
		parties := make([]party, 0, 2*len(payments))
		for i := range payments {
			parties = append(parties, party{beginning(payments[i].From), uint32(i)},
				party{beginning(payments[i].To), uint32(i)})
		}
		slices.SortFunc(parties, party.compare)
		return parties
	})
	return b, cap(payments) * int(unsafe.Sizeof(chain.Payment{})+2*unsafe.Sizeof(party{})), nil
}

// of returns the payments that match a filter, in order, after a cursor.
func (b *blockPayments) of(f *chain.PaymentFilter, after *chain.PaymentCursor) (found []*chain.Payment) {
	take := func(i uint32) {
		p := &b.payments[i]
		if f.Matches(&p.Payment) && (after == nil || p.Cursor(b.hash).Compare(*after) > 0) {
			found = append(found, p)
		}
	}
	if f.Accounts == nil || len(f.Accounts) > len(b.payments) {
		for i := range b.payments {
			take(uint32(i))
		}
		return found
	}
	parties := b.parties()
	var indices []uint32
	for account := range f.Accounts {
		i, _ := slices.BinarySearchFunc(parties, party{account: beginning(account)}, party.compare)
		for ; i < len(parties) && parties[i].account == beginning(account); i++ {
			indices = append(indices, parties[i].payment)
		}
	}
	slices.Sort(indices)
	for _, i := range slices.Compact(indices) {
		take(i)
	}
	return found
}

// paymentFeed is a subscription to payments. It sends pages, each with a cursor for everything that it covers.
type paymentFeed struct {
	*subscription
	filter   chain.PaymentFilter
	after    *chain.PaymentCursor // everything up to here was sent; nil before the oldest block
	reported types.Height         // height of the last page
	live     bool                 // the last page was complete
}

func (s *Server) preparePayments(sub *subscription, f api.SubscriptionFilter) (err error) {
	feed := &paymentFeed{subscription: sub}
	if feed.filter, feed.after, err = s.config.Source.PaymentFilter(f); err != nil {
		return err
	}
	from := f.FromBlock
	if feed.after != nil {
		from = new(feed.after.Next())
	}
	if err := s.begin(sub, from); err != nil {
		return err
	}
	if next := types.Height(sub.next.Load()); feed.after == nil && next > s.config.Chain.OldestHeight() {
		header, err := s.config.Chain.Header(next - 1)
		if err != nil {
			return err
		}
		feed.after = new(chain.EndOfBlock(next-1, header.Header.Hash()))
	}
	sub.keeps = accountBytes * len(feed.filter.Accounts)
	sub.behind = sub.blocksBehind
	sub.run = feed.run
	return nil
}

// run sends the starting cursor, then past payments, then new ones.
func (f *paymentFeed) run(ctx context.Context) error {
	follows := f.connection.server.config.Chain
	if f.after != nil {
		end := chain.PaymentsEnd{Cursor: *f.after, Complete: f.after.Next() > follows.Head().Header.Height}
		if err := f.sendPayments(ctx, nil, nil, end); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		seen := follows.HeadHash() // read before the head: if it changes in between, WaitHead returns at once
		head, next := follows.Head().Header.Height, types.Height(f.next.Load())
		err := f.checkReorg()
		switch {
		case err != nil:
		case next > head:
			err = follows.WaitHead(ctx, seen)
		default:
			err = f.sendNext(ctx, next, head)
		}
		if err != nil && !errors.Is(err, errGone) { // after errGone, stands finds out
			return err
		}
	}
	return ctx.Err()
}

// checkReorg returns errReverted if the last block of the subscription has left the chain.
func (f *paymentFeed) checkReorg() error {
	if f.after == nil {
		return nil
	}
	hash, err := f.connection.server.cache.hash(f.after.Height)
	if errors.Is(err, errGone) || err == nil && !f.after.IsOf(hash) {
		return errReverted
	}
	return err
}

// sendNext sends a piece of the payments from block next on, from the shared block or from an index.
func (f *paymentFeed) sendNext(ctx context.Context, next, head types.Height) error {
	block, ok, err := shared[*blockPayments](f.connection.server.cache, payments, next)
	if err != nil {
		return err
	}
	if !ok {
		return f.catchUp(ctx, next)
	}
	return f.block(ctx, block, next, head)
}

// catchUp sends a piece of past payments from an index.
func (f *paymentFeed) catchUp(ctx context.Context, next types.Height) error {
	in := chain.PaymentRange{From: &next, After: f.after, Work: max(paymentWork, len(f.filter.Accounts))}
	var end chain.PaymentsEnd
	passed := false
	err := f.turn(ctx, paymentMemory*api.MaxPayments, func(ctx context.Context) ([][]byte, error) {
		page, reached, err := f.connection.server.config.Source.Payments(ctx, f.filter, in)
		if errors.Is(err, chain.ErrReverted) || errors.Is(err, chain.ErrAboveHead) {
			return nil, errGone
		}
		if end = reached; err != nil {
			return nil, err
		}
		if passed = len(page.Payments) == 0 && f.quiet(end); passed {
			return nil, nil
		}
		return [][]byte{page.AppendJSON(nil)}, nil
	})
	if err == nil {
		f.come(end, !passed)
	}
	return err
}

// quiet reports whether an empty page that ends at end need not be sent.
func (f *paymentFeed) quiet(end chain.PaymentsEnd) bool {
	reached := end.Complete && !f.live
	return !reached && end.Cursor.Height < f.reported+f.connection.server.quiet()
}

// block sends the matching payments of one of the newest blocks.
func (f *paymentFeed) block(ctx context.Context, b *blockPayments, height, head types.Height) error {
	goesOn := b.header.Parent
	if f.after != nil && f.after.Height == height {
		goesOn = b.hash
	}
	if f.after != nil && !f.after.IsOf(goesOn) {
		return errGone
	}
	found, err := f.matching(ctx, b)
	if err != nil {
		return err
	}
	end := chain.PaymentsEnd{Cursor: chain.EndOfBlock(height, b.hash), Complete: height == head}
	for len(found) > api.MaxPayments {
		part := found[:api.MaxPayments]
		found = found[api.MaxPayments:]
		if err := f.sendPayments(ctx, b, part, chain.PaymentsEnd{Cursor: part[len(part)-1].Cursor(b.hash)}); err != nil {
			return err
		}
	}
	if len(found) == 0 && f.quiet(end) {
		f.come(end, false)
		return nil
	}
	return f.sendPayments(ctx, b, found, end)
}

// matching returns the matching payments of a shared block. It takes a turn of the client if that is much work.
func (f *paymentFeed) matching(ctx context.Context, b *blockPayments) ([]*chain.Payment, error) {
	work := len(b.payments)
	if f.filter.Accounts != nil {
		work = min(work, len(f.filter.Accounts))
	}
	if work <= freeMatches {
		return b.of(&f.filter, f.after), nil
	}
	ticket := f.connection.server.config.Ticket(f.connection.request)
	defer ticket.Release()
	return inTurn(ctx, ticket, 0, func(context.Context) ([]*chain.Payment, error) { return b.of(&f.filter, f.after), nil })
}

// sendPayments sends payments of a block as a page and moves the subscription to end. A large page is rendered in a
// turn of the client.
func (f *paymentFeed) sendPayments(
	ctx context.Context, b *blockPayments, payments []*chain.Payment, end chain.PaymentsEnd,
) (err error) {
	source := f.connection.server.config.Source
	render := func(context.Context) ([][]byte, error) {
		rendered := make([]api.Payment, len(payments))
		for i, p := range payments {
			rendered[i] = source.Payment(p, &b.header, b.hash)
		}
		page := source.PaymentPage(rendered, end)
		return [][]byte{page.AppendJSON(make([]byte, 0, paymentText*(len(rendered)+1)))}, nil
	}
	if len(payments) > smallPage {
		err = f.turn(ctx, paymentMemory*int64(len(payments)), render)
	} else {
		err = f.small(ctx, render)
	}
	if err == nil {
		f.come(end, true)
	}
	return err
}

// come moves the subscription to the end of a page that was sent or passed over.
func (f *paymentFeed) come(end chain.PaymentsEnd, sent bool) {
	f.after = &end.Cursor
	f.next.Store(uint64(end.Cursor.Next()))
	if sent {
		f.reported, f.live = end.Cursor.Height, end.Complete
	}
}
