package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// attack is one way to hurt a node.
type attack struct {
	name string
	// prepare makes what costs the attacker time, and returns the attack itself, which goes on until ctx ends. The
	// generation tells the rounds apart in which it is called.
	prepare func(ctx context.Context, s settings, generation int) (func(ctx context.Context, n *node, t *tally), error)
}

// attacks are all there are, in the order in which they come: what leaves the pool full comes last.
func attacks() []attack {
	return []attack{
		{"json", streams(malformedCalls)},
		{"nesting", streams(deepNesting)},
		{"http", streams(malformedHTTP)},
		{"bodies", streams(hugeBodies)},
		{"batches", streams(hugeBatches)},
		{"one-address", oneAddress},
		{"slow", slowClients},
		{"unread", unreadAnswers},
		{"idle", idleConnections},
		{"garbage", garbageTransactions},
		{"signatures", wrongSignatures},
		{"replays", replays},
		{"gaps", nonceGaps},
		{"replacements", replacements},
		{"full-pool", fullPool},
	}
}

func namesOf(attacks []attack) (names []string) {
	for _, a := range attacks {
		names = append(names, a.name)
	}
	return names
}

// choose are the attacks of all that a list names.
func choose(all []attack, list string) (chosen []attack, err error) {
	switch list {
	case "all":
		return all, nil
	case "none":
		return nil, nil
	}
	names := namesOf(all)
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no attack %q: %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// streams is an attack whose clients send the given requests in turn, each as fast as it is answered.
func streams(
	requests func() []request,
) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	return func(_ context.Context, s settings, _ int) (func(context.Context, *node, *tally), error) {
		all := requests()
		return func(ctx context.Context, n *node, t *tally) {
			inParallel(s.clients, func(client int) {
				at := client * len(all) / s.clients
				send(ctx, n, t, func() *request {
					at++
					return &all[at%len(all)]
				})
			})
		}, nil
	}
}

func inParallel(count int, f func(i int)) {
	var running sync.WaitGroup
	for i := range count {
		running.Go(func() { f(i) })
	}
	running.Wait()
}

// send sends requests one after the other, over one connection while the node keeps it, until ctx ends.
func send(ctx context.Context, n *node, t *tally, next func() *request) {
	var c *link
	end := func() {
		if c != nil {
			c.end()
			c = nil
		}
	}
	defer end()
	for ctx.Err() == nil {
		r := next()
		if r.fresh {
			end()
		}
		if c == nil {
			var err error
			if c, err = n.dial(ctx, nextAddress()); err != nil {
				if ctx.Err() == nil {
					t.fail("no connection", err.Error())
				}
				return
			}
		}
		outcomes, goesOn := c.exchange(r.wire)
		if ctx.Err() != nil {
			return // which may be why there was no answer
		}
		t.count(r, outcomes)
		if !goesOn {
			end()
		}
	}
}
