package jsonrpc

import "context"

// Slots bound how much work of one kind runs at a time. Whatever is beyond waits in the order in which it came. A nil
// *Slots bounds nothing.
type Slots struct {
	taken chan struct{}
	busy  *Error // that refuses work instead of letting it wait; nil where it waits
}

// NewSlots returns slots for count pieces of work, at least one.
func NewSlots(count int) *Slots { return &Slots{taken: make(chan struct{}, count)} }

// Refusing makes work that finds no free slot fail with an error instead of waiting, and returns s.
func (s *Slots) Refusing(busy *Error) *Slots {
	s.busy = busy
	return s
}

// Count is how many slots there are, 0 where nothing is bounded.
func (s *Slots) Count() int {
	if s == nil {
		return 0
	}
	return cap(s.taken)
}

// Taken is how many pieces of work run at present.
func (s *Slots) Taken() int {
	if s == nil {
		return 0
	}
	return len(s.taken)
}

// Run calls f when a slot is free, unless ctx ends first: then it returns ctx's cause. Whoever calls it holds no other
// slot.
func (s *Slots) Run(ctx context.Context, f func()) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	f()
	return nil
}

// TryRun calls f if a slot is free, and reports whether one was.
func (s *Slots) TryRun(f func()) bool {
	if s != nil {
		select {
		case s.taken <- struct{}{}:
			defer s.give()
		default:
			return false
		}
	}
	f()
	return true
}

// take waits for a slot. Its error is ctx's cause, which ended first.
func (s *Slots) take(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s.taken <- struct{}{}:
		return nil
	default: // asking for Done may start a timer
	}
	if s.busy != nil {
		return s.busy
	}
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give gives a slot back.
func (s *Slots) give() {
	if s != nil {
		<-s.taken
	}
}
