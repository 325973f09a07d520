package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, test := range []struct {
			pause, took time.Duration
			err         error
		}{
			{0, 0, nil},
			{50 * time.Second, 50 * time.Second, nil},
			{50 * time.Second, 10 * time.Second, context.DeadlineExceeded}, // the deadline passes
		} {
			begin := time.Now()
			if err := For(ctx, test.pause); !errors.Is(err, test.err) || time.Since(begin) != test.took {
				t.Errorf("a pause of %v took %v, want %v, error %v, want %v",
					test.pause, time.Since(begin), test.took, err, test.err)
			}
		}
	})
}
