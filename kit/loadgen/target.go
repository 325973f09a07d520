package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Verdict is the reaction to a refused call.
type Verdict int

// The verdicts.
const (
	Refused  Verdict = iota // an error of the run: the call is not retried
	TryAgain                // the node is temporarily unable to accept it: retry after a pause
	Known                   // the node already has the transaction from an attempt whose response was lost
)

// Chain provides the blocks of a node.
type Chain interface {
	// Height returns the height of the latest block.
	Height(ctx context.Context) (uint64, error)
	// BlockTransactions returns the hashes of the transactions in a block.
	BlockTransactions(ctx context.Context, height uint64) ([][32]byte, error)
}

// Target is a chain for which loads can be prepared, with its senders' accounts.
type Target interface {
	Chain
	// Transfers returns count signed transfers of a sender, beginning with number first. It must be safe for concurrent
	// use.
	Transfers(sender, first, count int) ([]Call, error)
	// Read returns a call that reads a balance of coins or of a token. number selects the account.
	Read(number int) Call
	// Judge classifies the error of a call.
	Judge(e CallError) Verdict
}

// Call is one JSON-RPC call.
type Call struct {
	// Members holds the members of the call object besides "jsonrpc" and "id": `"method":"…","params":[…]`.
	Members []byte
	// Transaction is the hash of the transaction that the call submits; nil for a read.
	Transaction *[32]byte
}

// Load selects the calls of a run.
type Load string

// The loads.
const (
	Transfers Load = "transfers" // each sender's transfers, once
	Reads     Load = "reads"     // balance reads, until the duration ends
	Mixed     Load = "mixed"     // readsPerTransfer reads before each transfer
	// Subscribers is like Transfers, with an [Audience].
	Subscribers Load = "subscribers"
	Tokens      Load = "tokens" // each sender's token transfers, once
	Views       Load = "views"  // view calls of token balances, until the duration ends
)

// Loads lists all loads.
func Loads() []Load { return []Load{Transfers, Reads, Mixed, Subscribers, Tokens, Views} }

// Repeats reports whether the load repeats until the duration ends.
func (l Load) Repeats() bool { return l == Reads || l == Views }

// ofToken reports whether the load needs a token.
func (l Load) ofToken() bool { return l == Tokens || l == Views }

const (
	// readsPerTransfer is the number of reads per transfer in a mixed load: wallets mostly read balances.
	readsPerTransfer = 9
	// signedTogether is the number of a sender's transfers signed at a time.
	signedTogether = 64
	// readsPerConnection is the number of distinct reads that a connection repeats.
	readsPerConnection = 1000
)

// Plan is the size of a load.
type Plan struct {
	Load        Load
	Connections int
	FirstSender int // number of the first sender: concurrent runs must use different senders
	Senders     int
	PerSender   int // transfers per sender
}

// Bounds of a plan, whose calls are held in memory: about 700 bytes per transfer.
const (
	MaxConnections = 10_000
	MaxTransfers   = 10_000_000
)

// Check returns an error for an invalid plan.
func (p Plan) Check() error {
	switch {
	case !slices.Contains(Loads(), p.Load):
		return fmt.Errorf("unknown load %q: use one of %q", p.Load, Loads())
	case p.Connections < 1 || p.Connections > MaxConnections:
		return fmt.Errorf("the number of connections must be 1 to %d", MaxConnections)
	case p.FirstSender < 0 || p.Senders < 1 || p.PerSender < 1 || p.Senders > MaxTransfers/p.PerSender:
		return fmt.Errorf("there must be at least 1 sender with 1 transfer, and at most %d transfers in all", MaxTransfers)
	}
	return nil
}

// Prepare prepares the calls of a load, by connection and in sending order, and signs on all cores. All transfers of a
// sender use one connection, so that they arrive in nonce order. If not nil, progress is called with the number of
// connections prepared and their total.
func Prepare(ctx context.Context, target Target, plan Plan, progress func(done, total uint64)) ([][]Call, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	queues := make([][]Call, plan.Connections)
	errs := make([]error, plan.Connections)
	var next, done atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1) - 1); i < plan.Connections && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				queues[i], errs[i] = plan.queue(ctx, target, i)
				if progress != nil {
					mu.Lock()
					progress(uint64(done.Add(1)), uint64(plan.Connections))
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return queues, errors.Join(append(errs, ctx.Err())...)
}

// queue returns the calls of one connection.
func (p Plan) queue(ctx context.Context, target Target, connection int) ([]Call, error) {
	var calls []Call
	reads := connection * readsPerConnection
	read := func(count int) {
		for range count {
			calls = append(calls, target.Read(reads))
			reads++
		}
	}
	if p.Load.Repeats() {
		read(readsPerConnection)
		return calls, nil
	}
	for first := 0; first < p.PerSender; first += signedTogether {
		count := min(signedTogether, p.PerSender-first)
		var turns [][]Call // by sender
		for sender := connection; sender < p.Senders; sender += p.Connections {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			transfers, err := target.Transfers(sender, first, count)
			if err != nil {
				return nil, err
			}
			turns = append(turns, transfers)
		}
		for i := range count {
			for _, transfers := range turns {
				if p.Load == Mixed {
					read(readsPerTransfer)
				}
				calls = append(calls, transfers[i])
			}
		}
	}
	return calls, nil
}

// NewCall returns a call of a method with JSON params. transaction is the hash of the submitted transaction, or nil.
func NewCall(method, params string, transaction *[32]byte) Call {
	return Call{Members: []byte(`"method":"` + method + `","params":` + params), Transaction: transaction}
}
