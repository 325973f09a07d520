package push

import (
	"cmp"
	"context"
)

// spentStep is how many bytes a connection writes until they are charged: a charge for each small notification would
// cost as much as what it charges for.
const spentStep = 16 << 10

// take waits until nothing else of the connection is being rendered or written, at most one thing of each subscription
// and call. They come in the order in which they asked. give ends that.
func (c *connection) take(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.work.Done():
		return context.Canceled
	}
	if c.work.Err() != nil {
		c.give()
		return context.Canceled
	}
	return nil
}

func (c *connection) give() { <-c.writing }

// toll charges a client's rate for notifications.
type toll struct {
	ticket Ticket
	unpaid int // bytes
}

func (t *toll) charge(bytes int) {
	if t.unpaid += bytes; t.unpaid >= spentStep {
		t.ticket.Spend(t.unpaid)
		t.ticket.Release() // takes it from the rate
		t.unpaid = 0
	}
}

// turn renders results of a subscription, in so many bytes of memory at most, and sends them. It renders when the
// connection is free, so that one thing at most waits to be written, and in a turn of the client's: what a subscriber
// that is behind costs is the client's, and waits behind what others want.
func (s *subscription) turn(
	ctx context.Context, bytes int64, render func(ctx context.Context) (results [][]byte, err error),
) error {
	c := s.connection
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	ticket := c.server.config.Ticket(c.request)
	defer ticket.Release()
	results, err := inTurn(ctx, ticket, bytes, render)
	ticket.Waits(func() { err = s.emit(ctx, results, err) })
	return err
}

// small is turn for what costs so little that it needs none.
func (s *subscription) small(ctx context.Context, render func(ctx context.Context) ([][]byte, error)) error {
	if err := s.connection.take(ctx); err != nil {
		return err
	}
	defer s.connection.give()
	results, err := render(ctx)
	return s.emit(ctx, results, err)
}

func inTurn[T any](
	ctx context.Context, ticket Ticket, bytes int64, work func(ctx context.Context) (T, error),
) (result T, err error) {
	if err := ticket.Begin(ctx); err != nil {
		return result, err
	}
	defer ticket.End()
	if err := ticket.Hold(ctx, bytes); err != nil {
		return result, err
	}
	return work(ctx)
}

// notify sends one result that is rendered already: a small one, or one that is shared.
func (s *subscription) notify(ctx context.Context, result []byte) error {
	return s.small(ctx, func(context.Context) ([][]byte, error) { return [][]byte{result}, nil })
}

// emit writes results unless rendering has failed or the subscription has ended. The caller holds the connection.
func (s *subscription) emit(ctx context.Context, results [][]byte, err error) error {
	c := s.connection
	for _, result := range results {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if !c.write(s.prefix, result, suffix) {
			return context.Canceled
		}
		c.toll.charge(len(s.prefix) + len(result) + len(suffix))
		c.server.sent.Add(1)
	}
	return err
}
