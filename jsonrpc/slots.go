package jsonrpc

import "context"

// slots bound how many calls compute at a time; those beyond wait in the order in which they came. nil bounds nothing.
type slots chan struct{}

func newSlots(count int) slots {
	if count == 0 {
		return nil
	}
	return make(slots, count)
}

// take waits for a slot. Its error is that of ctx, which ended first.
func (s slots) take(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	default: // asking for Done may start a timer
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give gives a slot back.
func (s slots) give() {
	if s != nil {
		<-s
	}
}
