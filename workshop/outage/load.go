package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

const (
	transferGas types.Gas = 21_000
	// The sender's max fee and priority fee per gas.
	maxFee, tip types.Amount = 100_000, 1
	sendTime                 = 10 * time.Second
	connections              = 64
	retryPause               = 20 * time.Millisecond
)

// keyOf returns the key of a name, and signerOf its account.
func keyOf(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return key
}

func signerOf(name string) client.Signer { return client.NewSigner(keyOf(name)) }

// payer sends one transfer per nonce, and repeats each until it is acknowledged.
type payer struct {
	key          crypto.PrivateKey
	account, to  types.Account
	mu           sync.Mutex
	acknowledged uint64 // number of acknowledged nonces
}

// load is a group of payers.
type load struct {
	payers  []*payer
	targets func() []*member // members to send to

	mu        sync.Mutex
	latencies []time.Duration // from a request to its acknowledgement, including retries
	acked     []time.Time     // time of each acknowledgement
}

func newLoad(payers int, targets func() []*member) *load {
	l := &load{targets: targets}
	for i := range payers {
		key, next := keyOf(fmt.Sprintf("payer %d", i)), keyOf(fmt.Sprintf("payer %d", (i+1)%payers))
		l.payers = append(l.payers, &payer{key: key, account: key.PublicKey(), to: next.PublicKey()})
	}
	return l
}

// accounts returns the accounts funded at genesis.
func (l *load) accounts() (accounts []types.Account) {
	for _, p := range l.payers {
		accounts = append(accounts, p.account)
	}
	return accounts
}

// run sends transfers at a rate, in batches, until ctx ends. Each connection has its own payers, which take turns. It
// sends the next request only after the response to the previous one, so a delay lowers the rate.
func (l *load) run(ctx context.Context, rate, batch int) error {
	count := min(connections, len(l.payers)/batch)
	interval := time.Duration(count*batch) * time.Second / time.Duration(rate)
	errs := make([]error, count)
	var running sync.WaitGroup
	for i := range count {
		var mine [][]*payer
		for turn := i * batch; turn+batch <= len(l.payers); turn += count * batch {
			mine = append(mine, l.payers[turn:turn+batch])
		}
		running.Go(func() {
			errs[i] = l.work(ctx, i, mine, interval, time.Now().Add(interval*time.Duration(i)/time.Duration(count)))
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// work sends a request to a member in each interval, beginning when the first is due.
func (l *load) work(ctx context.Context, member int, turns [][]*payer, interval time.Duration, due time.Time) error {
	for turn := 0; ; turn++ {
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return nil
		}
		due = due.Add(interval)
		if late := time.Now(); due.Before(late) {
			due = late
		}
		if err := l.pay(ctx, turns[turn%len(turns)], &member); err != nil {
			return err
		}
	}
}

// pay sends a transfer of each payer until all are acknowledged, and switches members after a failure.
func (l *load) pay(ctx context.Context, payers []*payer, at *int) error {
	begun := time.Now()
	open := make(map[*payer][]byte)
	for _, p := range payers {
		signed, err := types.Sign(types.Transaction{
			ChainID:              chainID,
			Sender:               p.account,
			Nonce:                p.acknowledged,
			GasLimit:             transferGas,
			MaxFeePerGas:         maxFee,
			MaxPriorityFeePerGas: tip,
			Target:               p.to,
			Value:                1,
			Payload:              types.Transfer{},
		}, p.key, [32]byte{}) // deterministic, as an interrupted run may have sent it already
		if err != nil {
			return err
		}
		open[p] = signed.Encode()
	}
	for {
		failed, err := l.send(ctx, payers, open, *at)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if len(open) == 0 {
			break
		}
		if failed {
			*at++
		}
		select {
		case <-time.After(retryPause/2 + rand.N(retryPause)):
		case <-ctx.Done():
			return nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latencies, l.acked = append(l.latencies, time.Since(begun)), append(l.acked, time.Now())
	return nil
}

// send sends the open transfers, and removes the acknowledged ones. It reports whether the member failed.
func (l *load) send(ctx context.Context, payers []*payer, open map[*payer][]byte, at int) (failed bool, err error) {
	targets := l.targets()
	if len(targets) == 0 {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	var batch client.Batch
	answers := make(map[*payer]client.Pending[types.TxID])
	for _, p := range payers {
		if encoded := open[p]; encoded != nil {
			answers[p] = client.Add(&batch, api.SendRawTransaction, api.RawTransactionParams{Transaction: encoded})
		}
	}
	if err := batch.Send(ctx, targets[at%len(targets)].client); err != nil {
		return true, nil // an unreachable member has not acknowledged anything
	}
	for p, answer := range answers {
		_, err := answer.Result()
		switch {
		case err == nil, errors.Is(err, api.ErrAlreadyKnown): // known: the response to an earlier attempt was lost
			p.mu.Lock()
			p.acknowledged++
			p.mu.Unlock()
			delete(open, p)
		case passing(err):
			failed = true
		default:
			return failed, fmt.Errorf("a transfer was refused: %w", err)
		}
	}
	return failed, nil
}

// passing reports whether a refusal is temporary.
func passing(err error) bool {
	return errors.Is(err, api.ErrNoPrimary) || errors.Is(err, api.ErrBusy) || errors.Is(err, api.ErrMempoolFull) ||
		errors.Is(err, api.ErrNonceTooHigh)
}

// count returns the number of acknowledged transfers.
func (l *load) count() (n uint64) {
	for _, p := range l.payers {
		p.mu.Lock()
		n += p.acknowledged
		p.mu.Unlock()
	}
	return n
}

// forget resets the measurements.
func (l *load) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latencies, l.acked = nil, nil
}

// gap returns the longest time between acknowledgements since a time.
func (l *load) gap(since time.Time) (longest time.Duration) {
	l.mu.Lock()
	times := slices.Clone(l.acked)
	l.mu.Unlock()
	return longestGap(times, since)
}

// lost returns the number of acknowledged transfers that a member lacks, after waiting for it to catch up. Each payer
// sends one transfer per nonce, so the account's nonce gives the number.
func (l *load) lost(ctx context.Context, m *member) (lost uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	for {
		lost = 0
		for chunk := range slices.Chunk(l.payers, 100) {
			var batch client.Batch
			var answers []client.Pending[api.Quantity]
			for _, p := range chunk {
				params := api.GetTransactionCountParams{Account: p.account.String()}
				answers = append(answers, client.Add(&batch, api.GetTransactionCount, params))
			}
			if err := batch.Send(ctx, m.client); err != nil {
				return 0, err
			}
			for i, p := range chunk {
				nonce, err := answers[i].Result()
				if err != nil {
					return 0, err
				}
				lost += p.acknowledged - min(p.acknowledged, uint64(nonce))
			}
		}
		if lost == 0 {
			return 0, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return lost, nil
		}
	}
}

// quantile returns a quantile of durations, which it sorts.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(q*float64(len(times))))]
}

// longestGap returns the longest time between consecutive times, beginning with since.
func longestGap(times []time.Time, since time.Time) (longest time.Duration) {
	slices.SortFunc(times, time.Time.Compare)
	last := since
	for _, t := range times {
		if t.After(last) {
			longest, last = max(longest, t.Sub(last)), t
		}
	}
	return max(longest, time.Since(last))
}
