// Package wake wakes goroutines that wait for one event, one after another.
package wake

import (
	"container/list"
	"context"
	"runtime"
	"sync"
)

// Event happens once. The zero value has not happened yet. Closing a channel would make all goroutines that wait for it
// ready at once, and a request that arrives then would wait for the processor behind thousands.
type Event struct {
	mu       sync.Mutex // guards the fields below
	happened bool
	waiting  list.List // of chan struct{}, in order of arrival
}

// Wait returns once the event has happened and all earlier waiters have been woken, or with ctx's error.
func (e *Event) Wait(ctx context.Context) error {
	e.mu.Lock()
	if e.happened {
		e.mu.Unlock()
		return nil
	}
	woken := make(chan struct{})
	place := e.waiting.PushBack(woken)
	e.mu.Unlock()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.happened { // the list belongs to Fire's goroutine afterwards
			e.waiting.Remove(place)
		}
		return ctx.Err()
	}
}

// Fire makes the event happen, the first time, and returns at once.
func (e *Event) Fire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.happened {
		return
	}
	e.happened = true
	if e.waiting.Len() > 0 {
		go e.wakeAll()
	}
}

// wakeAll wakes those who wait. Each runs before the next is woken, unless another processor is idle.
func (e *Event) wakeAll() {
	for place := e.waiting.Front(); place != nil; place = place.Next() {
		close(place.Value.(chan struct{}))
		runtime.Gosched()
	}
}
