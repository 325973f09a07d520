package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/turns"
	"github.com/cairn-chain/cairn/types"
)

const (
	// forwardTime bounds the handing on of one request's transactions.
	forwardTime = 15 * time.Second
	// maxForwards is how many batches are handed on at a time, clientForwards how many of one client, and waitingForwards
	// how many of a client's requests may wait for their turn. Some slots are free for others, however slow the
	// upstream and however much a client sends.
	maxForwards     = 64
	clientForwards  = 48
	waitingForwards = 64
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
	turns   *turns.Turns // of clients
	flying  sync.Map     // types.TxID → struct{}: transactions whose answer is waited for
}

// NewForwarder returns what hands transactions on, and puts those that were taken into the pool.
func NewForwarder(r *Replica, pool *mempool.Pool) *Forwarder {
	f := &Forwarder{replica: r, turns: turns.New(turns.Limits{
		Slots:     maxForwards,
		PerClient: clientForwards,
		Waiting:   waitingForwards,
	})}
	f.resender = resender{pool: pool, send: f.sendOn, log: r.config.Log, at: make(map[types.TxID]time.Time)}
	return f
}

// AddMany verifies transactions and sends those that may be valid to the upstream in use, or to another if that does
// not answer. A transaction is taken once, however often it is sent. What is refused here costs the upstream nothing,
// and is held against source alone. Clients, which source names, take turns.
func (f *Forwarder) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()
	results := make([]mempool.Result, len(encoded))
	sent := make([]handed, 0, len(encoded))
	for i, c := range f.pool.Verify(ctx, encoded, source, f.replica.synced) {
		results[i] = mempool.Result{Tx: c.Tx, Err: c.Err}
		if c.Err != nil {
			continue
		}
		// Two nodes may take each other for the one that makes blocks, for a moment: what comes back is not sent again.
		if _, again := f.flying.LoadOrStore(c.Tx.ID(), struct{}{}); again {
			results[i].Err = ErrBusy
			continue
		}
		defer f.flying.Delete(c.Tx.ID())
		sent = append(sent, handed{c.Verified, &results[i]})
	}
	for len(sent) > 0 {
		n, size := 0, 0
		for n < len(sent) && n < forwardItems && (n == 0 || size+len(sent[n].tx.Encoded()) <= forwardBytes) {
			size += len(sent[n].tx.Encoded())
			n++
		}
		f.forward(ctx, sent[:n], source)
		sent = sent[n:]
	}
	return results
}

func (r *Replica) synced() bool { return r.Status().Synced }

// handed is a transaction that is handed on, and where its result goes.
type handed struct {
	tx     *types.VerifiedTx
	result *mempool.Result
}

// forward sends transactions as one batch, when it is the client's turn.
func (f *Forwarder) forward(ctx context.Context, sent []handed, source string) {
	give, err := f.turns.Take(ctx, source)
	if err != nil {
		if errors.Is(err, turns.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
			err = ErrBusy // nothing was sent
		}
		for _, h := range sent {
			h.result.Err = err
		}
		return
	}
	defer give()
	batch := make([][]byte, len(sent))
	for i, h := range sent {
		batch[i] = h.tx.Encoded()
	}
	begun := time.Now()
	errs := f.send(ctx, batch)
	var taken []*types.VerifiedTx
	for i, h := range sent {
		h.result.Err = errs[i]
		// An upstream that knows it may have taken it from here: the answer was lost.
		known := refusal(errs[i])
		if errs[i] == nil || known != nil && known.Why == RefusedKnown {
			taken = append(taken, h.tx)
			f.note(h.tx.ID(), begun)
		}
	}
	if len(taken) > 0 {
		// What this pool thinks of them decides nothing: the primary has taken them. Without state it takes none.
		f.pool.AddVerified(taken)
	}
}

func (f *Forwarder) sendOn(ctx context.Context, batch [][]byte) []error {
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
