package front

import (
	"context"
	"sync"
	"time"
)

// budget is the context of one request: done at its deadline or when the server gives up. Unlike that of
// context.WithDeadline it starts no timer before someone waits for it, and most calls only ask Err.
type budget struct {
	context.Context // of the server
	deadline        time.Time
	ticket          Ticket

	mu       sync.Mutex
	waitable context.Context // with a timer, once someone has asked for Done
	cancel   context.CancelFunc
}

func (b *budget) Deadline() (time.Time, bool) { return b.deadline, true }

func (b *budget) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waitable == nil {
		b.waitable, b.cancel = context.WithDeadline(b.Context, b.deadline)
	}
	return b.waitable.Done()
}

func (b *budget) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waitable != nil {
		return b.waitable.Err()
	}
	if err := b.Context.Err(); err != nil {
		return err
	}
	if time.Until(b.deadline) <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (b *budget) Value(key any) any {
	if key == (ticketKey{}) {
		return &b.ticket
	}
	return b.Context.Value(key)
}

// end releases what Done started and what the ticket holds. The context must not be used afterwards by whoever waits for it.
func (b *budget) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cancel != nil {
		b.cancel()
	}
	b.ticket.Release()
}
