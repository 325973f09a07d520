package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

const (
	loadSenders     = 64
	loadRecipients  = 16
	loadConnections = 8
	loadBatch       = 64  // transactions in a request
	loadAhead       = 100 // transactions that a sender signs in advance: signing is slower than sending
	loadMaxFee      = 1_000
	loadPause       = 20 * time.Millisecond // where the node, or the limit on pending transactions, refuses more
)

// load is a crowd of senders who send as fast as a node accepts. A sender's transaction is a function of the sender's
// number and the nonce, so there is one transaction for each nonce, whatever happens between two tries.
type load struct {
	chainID     uint64
	senders     []*sender
	outstanding uint64 // transactions of a sender that may be pending
}

type sender struct {
	number  int
	key     crypto.PrivateKey
	account types.Account

	signed []offer // by nonce; only for the sender's own goroutine

	mu       sync.Mutex
	included uint64       // the account's nonce according to the blocks
	ids      []types.TxID // the acknowledged transactions, by nonce
}

// offer is a transaction that is ready to be sent.
type offer struct {
	id      types.TxID
	encoded []byte
}

func newLoad(outstanding uint64) *load {
	l := &load{outstanding: outstanding}
	for i := range loadSenders {
		key := keyOf(fmt.Sprintf("sender %d", i))
		l.senders = append(l.senders, &sender{number: i, key: key, account: key.PublicKey()})
	}
	return l
}

// keyOf returns the private key with a name.
func keyOf(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return key
}

// prepare signs the senders' next transactions.
func (l *load) prepare() error {
	errs := make([]error, len(l.senders))
	var signing sync.WaitGroup
	for i, s := range l.senders {
		signing.Go(func() {
			from, _ := s.turn(0, l.outstanding)
			_, errs[i] = l.offer(s, from+loadAhead)
		})
	}
	signing.Wait()
	return errors.Join(errs...)
}

// offer returns a sender's transaction with a nonce. It also signs all earlier ones.
func (l *load) offer(s *sender, nonce uint64) (offer, error) {
	for uint64(len(s.signed)) <= nonce {
		tx, err := l.transaction(s, uint64(len(s.signed)))
		if err != nil {
			return offer{}, err
		}
		s.signed = append(s.signed, offer{tx.ID(), tx.Encode()})
	}
	return s.signed[nonce], nil
}

// transaction returns a sender's transaction with a nonce.
func (l *load) transaction(s *sender, nonce uint64) (types.SignedTransaction, error) {
	to := sha256.Sum256(fmt.Appendf(nil, "recipient %d", (uint64(s.number)+nonce)%loadRecipients))
	return types.Sign(types.Transaction{
		ChainID:              l.chainID,
		Sender:               s.account,
		Nonce:                nonce,
		GasLimit:             transferGas + newAccountGas,
		MaxFeePerGas:         loadMaxFee,
		MaxPriorityFeePerGas: types.Amount(1 + (uint64(s.number)+nonce)%5),
		Target:               to,
		Value:                types.Amount(1 + nonce%97),
		Payload:              types.Transfer{},
	}, s.key, [32]byte{})
}

// run sends until ctx ends or the node is gone. It returns an error that a healthy node gives no reason for.
func (l *load) run(ctx context.Context, url string) error {
	results := make(chan error, loadConnections)
	for i := range loadConnections {
		go func() { results <- l.connection(ctx, url, i) }()
	}
	var errs []error
	for range loadConnections {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// connection sends the transactions of every loadConnections-th sender.
func (l *load) connection(ctx context.Context, url string, index int) error {
	c, err := client.New(url, client.WithRetry(0))
	if err != nil {
		return err
	}
	defer c.Close()
	var mine []*sender
	for i := index; i < len(l.senders); i += loadConnections {
		mine = append(mine, l.senders[i])
	}
	for ctx.Err() == nil {
		progress, err := l.request(ctx, c, mine)
		if gone(ctx, err) {
			return nil
		}
		if err != nil {
			return err
		}
		if !progress {
			select {
			case <-time.After(loadPause):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// gone reports whether a call failed because the node or the time for the call has ended.
func gone(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, client.ErrUnreachable))
}

// request sends one batch. It reports whether the node accepted any of it.
func (l *load) request(ctx context.Context, c *client.Client, senders []*sender) (progress bool, err error) {
	type call struct {
		offer
		sender *sender
		answer client.Pending[types.TxID]
	}
	var batch client.Batch
	var calls []call
	for _, s := range senders {
		from, to := s.turn(loadBatch/len(senders), l.outstanding)
		for nonce := from; nonce < to; nonce++ {
			o, err := l.offer(s, nonce)
			if err != nil {
				return false, err
			}
			answer := client.Add(&batch, api.SendRawTransaction, api.RawTransactionParams{Transaction: o.encoded})
			calls = append(calls, call{o, s, answer})
		}
	}
	if err := batch.Send(ctx, c); err != nil {
		return false, err
	}
	full := map[*sender]bool{}
	for _, sent := range calls {
		id, err := sent.answer.Result()
		switch {
		case full[sent.sender]: // the refused transaction and all later ones are offered again
		// A nonce is too high while the transactions before it are on their way to a new producer.
		case errors.Is(err, api.ErrMempoolFull), errors.Is(err, api.ErrNoPrimary), errors.Is(err, api.ErrBusy),
			errors.Is(err, api.ErrNonceTooHigh), errors.Is(err, api.ErrHeld):
			full[sent.sender] = true
		case err != nil && !errors.Is(err, api.ErrAlreadyKnown): // known: the answer to an earlier attempt was lost
			return progress, fmt.Errorf("sender %d: %w", sent.sender.number, err)
		case err == nil && id != sent.id:
			return progress, fmt.Errorf("sender %d: transaction %s was taken as %s", sent.sender.number, sent.id, id)
		default:
			sent.sender.acknowledge(sent.id)
			progress = true
		}
	}
	return progress, nil
}

// turn returns the nonces to send next: at most count, and only while few transactions are pending.
func (s *sender) turn(count int, outstanding uint64) (from, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = uint64(len(s.ids))
	return from, min(from+uint64(count), s.included+outstanding)
}

func (s *sender) acknowledge(id types.TxID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, id)
}

// pending returns the acknowledged transactions that were in no block so far.
func (s *sender) pending() []types.TxID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ids[min(s.included, uint64(len(s.ids))):])
}

// settle tells the senders which transactions blocks included.
func (l *load) settle(m *model) {
	for _, s := range l.senders {
		s.mu.Lock()
		s.included = m.nonces[s.account]
		s.mu.Unlock()
	}
}

// settleWhile follows the chain at a node, and tells the senders which transactions are included, until ctx ends.
func (l *load) settleWhile(ctx context.Context, m *model, c *client.Client) error {
	for {
		if err := m.follow(ctx, c); err != nil && ctx.Err() == nil {
			return err
		}
		l.settle(m)
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// acknowledged returns the number of transactions that the node acknowledged, over all its lives.
func (l *load) acknowledged() (count int) {
	for _, s := range l.senders {
		s.mu.Lock()
		count += len(s.ids)
		s.mu.Unlock()
	}
	return count
}

// missing returns the acknowledged transactions that the model's blocks lack.
func (l *load) missing(m *model) (ids []types.TxID) {
	for _, s := range l.senders {
		for _, id := range s.ids {
			if _, included := m.included[id]; !included {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// allocations returns the arguments of `cairn init` that fund the senders.
func (l *load) allocations() (args []string) {
	for _, s := range l.senders {
		args = append(args, "--alloc", s.account.String()+"=100000")
	}
	return args
}
