package push

import (
	"cmp"
	"context"
)

// spentStep is how many bytes a connection writes before they are charged: charging each small notification would cost
// as much as sending it.
const spentStep = 16 << 10

// acquireToken takes the connection's token: it waits until nothing else of the connection is being rendered or
// written. Subscriptions and calls get the token in the order in which they ask. releaseToken returns it.
func (c *connection) acquireToken(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.work.Done():
		return context.Canceled
	}
	if c.work.Err() != nil {
		c.releaseToken()
		return context.Canceled
	}
	return nil
}

func (c *connection) releaseToken() { <-c.writing }

// charge charges the client's rate for a notification. The caller must hold the token.
func (c *connection) charge(bytes int) {
	if c.unpaid += bytes; c.unpaid >= spentStep {
		c.ticket.Spend(c.unpaid)
		c.ticket.Release() // charges the client's rate
		c.unpaid = 0
	}
}

// turn renders results of a subscription, within the given bytes of memory, and sends them. It holds the connection's
// token, so that at most one piece waits to be written, and takes a turn of the client: a subscriber that is behind
// pays for the work itself, and does not delay others.
func (s *subscription) turn(
	ctx context.Context, bytes int64, render func(ctx context.Context) (results [][]byte, err error),
) error {
	c := s.connection
	if err := c.acquireToken(ctx); err != nil {
		return err
	}
	defer c.releaseToken()
	ticket := c.server.config.Ticket(c.request)
	defer ticket.Release()
	results, err := inTurn(ctx, ticket, bytes, render)
	ticket.Waits(func() { err = s.emit(ctx, results, err) })
	return err
}

// small is turn for work too cheap to need a turn.
func (s *subscription) small(ctx context.Context, render func(ctx context.Context) ([][]byte, error)) error {
	if err := s.connection.acquireToken(ctx); err != nil {
		return err
	}
	defer s.connection.releaseToken()
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

// notify sends a result that is already rendered: a small or a shared one.
func (s *subscription) notify(ctx context.Context, result []byte) error {
	return s.small(ctx, func(context.Context) ([][]byte, error) { return [][]byte{result}, nil })
}

// emit writes results unless rendering has failed or the subscription has ended. The caller must hold the token.
func (s *subscription) emit(ctx context.Context, results [][]byte, err error) error {
	c := s.connection
	for _, result := range results {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if !c.write(s.prefix, result, suffix) {
			return context.Canceled
		}
		c.charge(len(s.prefix) + len(result) + len(suffix))
		c.server.sent.Add(1)
	}
	return err
}
