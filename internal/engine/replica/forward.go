package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/types"
)

const (
	// forwardTime bounds the handing on of one request's transactions, maxForwards how many requests do so at a time.
	forwardTime = 15 * time.Second
	maxForwards = 64
	// forwardItems and forwardBytes bound one batch to an upstream.
	forwardItems = 500
	forwardBytes = 1 << 20
)

// Why this node does not take a transaction that is to be handed on.
var (
	// ErrBusy: too many are being handed on at present, or this very one is.
	ErrBusy = errors.New("too many transactions are being handed on")
	// ErrReadOnly: this node hands none on.
	ErrReadOnly = errors.New("this node takes no transactions")
	// ErrNoPrimary: no upstream answers. The transaction may have arrived there.
	ErrNoPrimary = errors.New("no upstream answers")
)

// ElsewhereError says where a transaction may be sent to that this node does not take.
type ElsewhereError struct {
	Err     error // [ErrReadOnly] or [ErrNoPrimary]
	Primary string
}

func (e *ElsewhereError) Error() string { return fmt.Sprintf("%v: send it to %s", e.Err, e.Primary) }
func (e *ElsewhereError) Unwrap() error { return e.Err }

// Forwarder takes transactions on a node that makes no blocks: they go to an upstream, whose answer is passed on. Those
// that the upstream took are in the node's own pool too. So their senders find them here while they wait for a block,
// and [Forwarder.Resend] may send them again. A node without state does not keep them, as its pool knows no account.
type Forwarder struct {
	resender
	replica *Replica
	slots   chan struct{}
	flying  sync.Map // types.TxID → struct{}: transactions whose answer is waited for
}

// NewForwarder returns what hands transactions on, and puts those that were taken into the pool.
func NewForwarder(r *Replica, pool *mempool.Pool) *Forwarder {
	f := &Forwarder{replica: r, slots: make(chan struct{}, maxForwards)}
	f.resender = resender{pool: pool, send: f.sendOn, log: r.config.Log, at: make(map[types.TxID]time.Time)}
	return f
}

// AddMany sends transactions to the upstream in use, or to another where that does not answer: a transaction is taken
// once, however often it is sent.
func (f *Forwarder) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	results := make([]mempool.Result, len(encoded))
	sent := make([]int, 0, len(encoded)) // indices of what is sent
	for i, b := range encoded {
		tx, err := types.DecodeTx(b)
		if err != nil {
			results[i].Err = fmt.Errorf("%w: %w", mempool.ErrMalformed, err)
			continue
		}
		results[i].Tx = tx
		// Two nodes may take each other for the one that makes blocks, for a moment: what comes back is not sent again.
		if _, again := f.flying.LoadOrStore(tx.ID(), struct{}{}); again {
			results[i].Err = ErrBusy
			continue
		}
		defer f.flying.Delete(tx.ID())
		sent = append(sent, i)
	}
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()
	for len(sent) > 0 {
		n, size := 0, 0
		for n < len(sent) && n < forwardItems && (n == 0 || size+len(encoded[sent[n]]) <= forwardBytes) {
			size += len(encoded[sent[n]])
			n++
		}
		f.forward(ctx, encoded, sent[:n], results, source)
		sent = sent[n:]
	}
	return results
}

// forward sends the transactions of some indices as one batch.
func (f *Forwarder) forward(
	ctx context.Context, encoded [][]byte, indices []int, results []mempool.Result, source string,
) {
	batch := make([][]byte, len(indices))
	for i, index := range indices {
		batch[i] = encoded[index]
	}
	begun := time.Now()
	errs := f.send(ctx, batch)
	var taken [][]byte
	for i, index := range indices {
		results[index].Err = errs[i]
		// An upstream that knows it may have taken it from here: the answer was lost.
		known := refusal(errs[i])
		if errs[i] == nil || known != nil && known.Why == RefusedKnown {
			taken = append(taken, batch[i])
			f.note(results[index].Tx.ID(), begun)
		}
	}
	if len(taken) > 0 {
		// What this pool thinks of them decides nothing: the primary has taken them. Without state it takes none.
		f.pool.AddMany(ctx, taken, source)
	}
}

func (f *Forwarder) sendOn(ctx context.Context, batch [][]byte) []error {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	default:
		return repeated(ErrBusy, len(batch))
	}
	for _, u := range f.replica.preferred() {
		errs := u.Send(ctx, batch)
		if !unanswered(errs) {
			return errs
		}
		if ctx.Err() != nil {
			break
		}
	}
	return repeated(&ElsewhereError{ErrNoPrimary, f.replica.Primary()}, len(batch))
}

// unanswered reports whether a batch got no answer that says what became of it.
func unanswered(errs []error) bool {
	for _, err := range errs {
		if err != nil && refusal(err) == nil {
			return true
		}
	}
	return false
}

func repeated(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// preferred are the upstreams, the one in use first.
func (r *Replica) preferred() []*upstream {
	list := make([]*upstream, 0, len(r.upstreams))
	for _, wanted := range []bool{true, false} {
		for _, u := range r.upstreams {
			if u.used() == wanted {
				list = append(list, u)
			}
		}
	}
	return list
}

func (u *upstream) used() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.inUse
}

// Primary is where transactions may be sent to: the upstream in use, or the first.
func (r *Replica) Primary() string { return r.preferred()[0].Name() }

// Refuser takes no transactions: it names where they may be sent to.
type Refuser struct{ replica *Replica }

// NewRefuser returns what refuses transactions.
func NewRefuser(r *Replica) *Refuser { return &Refuser{r} }

// AddMany refuses all transactions.
func (f *Refuser) AddMany(_ context.Context, encoded [][]byte, _ string) []mempool.Result {
	elsewhere := &ElsewhereError{ErrReadOnly, f.replica.Primary()}
	results := make([]mempool.Result, len(encoded))
	for i := range results {
		results[i].Err = elsewhere
	}
	return results
}
