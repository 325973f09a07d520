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

// Verdict is what a refusal of a call means for the load.
type Verdict int

// The verdicts.
const (
	Refused  Verdict = iota // an error of the run: the call is not sent again
	TryAgain                // the node takes nothing at present: the call is sent again after a pause
	Known                   // the node has the transaction already, from a try whose answer was lost
)

// Chain is what the generator asks a node about its blocks.
type Chain interface {
	// Height is the height of the latest block.
	Height(ctx context.Context) (uint64, error)
	// BlockTransactions are the hashes of the transactions in the block of a height.
	BlockTransactions(ctx context.Context, height uint64) ([][32]byte, error)
}

// Target is a chain that a load can be prepared for, with its senders' accounts.
type Target interface {
	Chain
	// Transfers are count transfers of a sender from its first-th on, signed. It is called from several goroutines.
	Transfers(sender, first, count int) ([]Call, error)
	// Read is the reading of a balance, of coins or of a token: that of an account chosen by a number.
	Read(number int) Call
	// Judge says what the error of a call means.
	Judge(e CallError) Verdict
}

// Call is one JSON-RPC call.
type Call struct {
	// Members are those of the call's object besides "jsonrpc" and "id": `"method":"…","params":[…]`.
	Members []byte
	// Transaction is the hash of the transaction that the call submits; nil of a read.
	Transaction *[32]byte
}

// Load says which calls a run makes.
type Load string

// The loads.
const (
	Transfers Load = "transfers" // each sender's transfers, once
	Reads     Load = "reads"     // balances, until the duration is over
	Mixed     Load = "mixed"     // readsPerTransfer reads before each transfer
	// Subscribers is Transfers while an [Audience] listens.
	Subscribers Load = "subscribers"
	Tokens      Load = "tokens" // each sender's transfers of a token, once
	Views       Load = "views"  // view calls of a token's balances, until the duration is over
)

// Loads are all there are.
func Loads() []Load { return []Load{Transfers, Reads, Mixed, Subscribers, Tokens, Views} }

// Repeats reports whether the load goes on until the duration is over.
func (l Load) Repeats() bool { return l == Reads || l == Views }

// ofToken reports whether the load needs a token that the senders have.
func (l Load) ofToken() bool { return l == Tokens || l == Views }

const (
	// readsPerTransfer is the share of reads in a mixed load: most of what wallets ask are balances.
	readsPerTransfer = 9
	// signedTogether is how many transfers of a sender are asked for at a time.
	signedTogether = 64
	// readsPerConnection is how many different reads a connection repeats.
	readsPerConnection = 1000
)

// Plan is the size of a load.
type Plan struct {
	Load        Load
	Connections int
	FirstSender int // the number of the first sender: runs that overlap use different ones
	Senders     int
	PerSender   int // transfers of each sender
}

// Bounds of a plan: what it prepares is held in memory, about 700 bytes a transfer.
const (
	MaxConnections = 10_000
	MaxTransfers   = 10_000_000
)

// Check returns an error unless the plan can be prepared.
func (p Plan) Check() error {
	switch {
	case !slices.Contains(Loads(), p.Load):
		return fmt.Errorf("unknown load %q: it is one of %q", p.Load, Loads())
	case p.Connections < 1 || p.Connections > MaxConnections:
		return fmt.Errorf("the number of connections is 1 to %d", MaxConnections)
	case p.FirstSender < 0 || p.Senders < 1 || p.PerSender < 1 || p.Senders > MaxTransfers/p.PerSender:
		return fmt.Errorf("senders and transfers of each are at least 1, and %d together at most", MaxTransfers)
	}
	return nil
}

// Prepare makes the calls of a load, by connection, in the order in which they are sent, signing on all cores. A
// sender's transfers are all on one connection, so that they arrive in the order of their nonces. Progress, if not nil,
// is told of the connections prepared and of all.
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

// queue is what one connection sends.
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

// NewCall is the call of a method with parameters in JSON; transaction is the hash of what it submits, if anything.
func NewCall(method, params string, transaction *[32]byte) Call {
	return Call{Members: []byte(`"method":"` + method + `","params":` + params), Transaction: transaction}
}
