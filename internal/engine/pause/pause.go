// Package pause waits for a time that may be cut short.
package pause

import (
	"context"
	"time"
)

// For returns after d, or with the context's error when that ends first.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
