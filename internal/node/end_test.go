package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A node ends with the cause once its time is over, even if a part hangs, and in order if none does.
func TestNothingKeepsANodeFromEnding(t *testing.T) {
	full := errors.New("no space left on device")
	now := make(chan time.Time)
	close(now)
	over := func() <-chan time.Time { return now }
	never := func() <-chan time.Time { return nil }
	hanging, ended := make(chan error), make(chan error, 1)
	for name, c := range map[string]struct {
		cause     error // nil: an ordinary shutdown
		ended     chan error
		over      func() <-chan time.Time
		want      []error
		abandoned bool
	}{
		"a part fails and another hangs": {full, hanging, over, []error{full}, true},
		"told to end, and a part hangs":  {nil, hanging, over, nil, true},
		"a part fails, all end":          {full, ended, never, []error{full}, false},
		"told to end, all end":           {nil, ended, never, nil, false},
	} {
		running, end := context.WithCancelCause(t.Context())
		end(c.cause)
		if c.ended == ended {
			ended <- c.cause
		}
		at := new(stage)
		at.enter("the database")
		err := Await(running, c.ended, c.over, at)
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}
		if got := errors.Is(err, ErrAbandoned); got != c.abandoned {
			t.Errorf("%s: got %v, want abandoned %t", name, err, c.abandoned)
		}
		if c.abandoned && !strings.Contains(err.Error(), "it waited for the database") {
			t.Errorf("%s: got %v, want what it waited for", name, err)
		}
		if !c.abandoned && c.cause == nil && err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
		}
	}
	ended <- full
	if err := Await(t.Context(), ended, never, new(stage)); err != full {
		t.Errorf("nobody told it to end: got %v, want %v", err, full)
	}
}
