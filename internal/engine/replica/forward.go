package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/semaphore"
	"github.com/cairn-chain/cairn/types"
)

const (
	// forwardTime bounds the forwarding of one request's transactions.
	forwardTime = 15 * time.Second
	// maxForwards bounds the batches being forwarded at a time, clientForwards those of one client, and waitingForwards
	// the requests of one client that wait for their turn. So some slots stay free for other clients, however slow the
	// upstream is and however much a client sends.
	maxForwards     = 64
	clientForwards  = 48
	waitingForwards = 64
	// forwardItems and forwardBytes bound one batch to an upstream.
	forwardItems = 500
	forwardBytes = 1 << 20
)

// Errors for transactions that this node cannot forward.
var (
	// ErrBusy is returned if too many transactions are being forwarded, or this very one is.
	ErrBusy = errors.New("too many transactions are being forwarded")
	// ErrReadOnly is returned if this node forwards no transactions.
	ErrReadOnly = errors.New("this node accepts no transactions")
	// ErrNoPrimary is returned if no upstream answers. The transaction may still have reached one.
	ErrNoPrimary = errors.New("no upstream is reachable")
)

// ElsewhereError names another node that may take a transaction that this node does not.
type ElsewhereError struct {
	Err     error // [ErrReadOnly] or [ErrNoPrimary]
	Primary string
}

func (e *ElsewhereError) Error() string { return fmt.Sprintf("%v: send it to %s", e.Err, e.Primary) }
func (e *ElsewhereError) Unwrap() error { return e.Err }

// Forwarder takes transactions on a node that makes no blocks, forwards them to an upstream, and returns the upstream's
// answers. Accepted transactions are also put into the node's own pool, so that their senders find them here while they
// wait for a block, and [Forwarder.Resend] can send them again. A node without state does not keep them, as its pool
// knows no accounts.
type Forwarder struct {
	resender
	replica *Replica
	turns   *semaphore.Fair // the clients' turns
	flying  sync.Map        // types.TxID → struct{}: transactions awaiting an answer
}

// NewForwarder returns a Forwarder that puts accepted transactions into the pool.
func NewForwarder(r *Replica, pool *mempool.Pool) *Forwarder {
	f := &Forwarder{replica: r, turns: semaphore.New(semaphore.Limits{
		Total:     maxForwards,
		PerClient: clientForwards,
		Waiting:   waitingForwards,
	})}
	f.resender = resender{pool: pool, send: f.sendOn, log: r.config.Log, at: make(map[types.TxID]time.Time)}
	return f
}

// AddMany verifies transactions and sends those that may be valid to the upstream in use, or to another if that one
// does not answer. A transaction in flight is not sent twice. Transactions refused here cost the upstream nothing, and
// count against source alone. Clients, identified by source, take turns.
func (f *Forwarder) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()
	results := make([]mempool.Result, len(encoded))
	sent := make([]forwarded, 0, len(encoded))
	for i, c := range f.pool.Verify(ctx, encoded, source, f.replica.synced) {
		results[i] = mempool.Result{Tx: c.Tx, Err: c.Err}
		if c.Err != nil {
			continue
		}
		// Two nodes may briefly take each other for the producer's node: do not send back a transaction that returns.
		if _, again := f.flying.LoadOrStore(c.Tx.ID(), struct{}{}); again {
			results[i].Err = ErrBusy
			continue
		}
		defer f.flying.Delete(c.Tx.ID())
		sent = append(sent, forwarded{c.Verified, &results[i]})
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

// forwarded is a transaction to be forwarded, with a pointer to its result.
type forwarded struct {
	tx     *types.VerifiedTx
	result *mempool.Result
}

// forward sends transactions as one batch once it is the client's turn.
func (f *Forwarder) forward(ctx context.Context, sent []forwarded, source string) {
	give, err := f.turns.Acquire(ctx, source)
	if err != nil {
		if errors.Is(err, semaphore.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
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
		// An upstream that knows it may have got it from here, and its answer was lost.
		known := refusal(errs[i])
		if errs[i] == nil || known != nil && known.Why == RefusedKnown {
			taken = append(taken, h.tx)
			f.note(h.tx.ID(), begun)
		}
	}
	if len(taken) > 0 {
		// The pool's results do not matter: the upstream has accepted the transactions. A pool without state takes
		// none.
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
	return slices.Repeat([]error{&ElsewhereError{ErrNoPrimary, f.replica.Primary()}}, len(batch))
}

// unanswered reports whether any transaction of a batch got no answer that decides about it.
func unanswered(errs []error) bool {
	return slices.ContainsFunc(errs, func(err error) bool { return err != nil && refusal(err) == nil })
}

// preferred returns the upstreams, the one in use first.
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

// Primary names the node to which transactions may be sent: the upstream in use, or the first one.
func (r *Replica) Primary() string { return r.preferred()[0].Name() }

// Refuser refuses all transactions, and names the node to which they may be sent.
type Refuser struct{ replica *Replica }

// NewRefuser returns a Refuser.
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
