package push

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// cachedBlocks is how many of the newest blocks are kept rendered. Whoever is further behind renders for itself.
const cachedBlocks = 16

// errGone is the error of a block that a development chain took back meanwhile.
var errGone = errors.New("the block is gone")

// cache renders each of the newest blocks once for all subscribers.
type cache[T any] struct {
	chain  Chain
	render func(types.Height) (T, error)
	kept   int // of the newest blocks

	mu      sync.Mutex // guards what follows
	entries map[types.BlockHash]*cacheEntry[T]
	order   []types.BlockHash // of entries, oldest first
}

type cacheEntry[T any] struct {
	once  sync.Once
	value T
	err   error
}

func newCache[T any](c Chain, kept int, render func(types.Height) (T, error)) *cache[T] {
	return &cache[T]{chain: c, render: render, kept: kept, entries: make(map[types.BlockHash]*cacheEntry[T])}
}

// get returns what is rendered of a block, [errGone] where there is none.
func (c *cache[T]) get(height types.Height) (T, error) {
	if head := c.chain.Head().Header.Height; height+types.Height(c.kept) <= head {
		return c.render(height)
	}
	// Under the hash and not the height: a development chain may have another block there soon.
	hash, err := c.hash(height)
	if err != nil {
		return *new(T), err
	}
	e := c.entry(hash)
	e.once.Do(func() {
		if e.value, e.err = c.render(height); e.err == nil {
			var now types.BlockHash
			if now, e.err = c.hash(height); e.err == nil && now != hash {
				e.err = errGone
			}
		}
	})
	if e.err != nil {
		c.forget(hash, e)
	}
	return e.value, e.err
}

// hash is the hash of the block of a height. That of the head is at hand: everyone asks for it at once.
func (c *cache[T]) hash(height types.Height) (types.BlockHash, error) {
	hash := c.chain.HeadHash()
	if c.chain.Head().Header.Height == height && c.chain.HeadHash() == hash { // all three of one head
		return hash, nil
	}
	header, err := c.chain.Header(height)
	if errors.Is(err, chain.ErrNotFound) {
		err = errGone
	}
	return header.Header.Hash(), err
}

func (c *cache[T]) entry(hash types.BlockHash) *cacheEntry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[hash]
	if !ok {
		if len(c.order) == c.kept {
			delete(c.entries, c.order[0])
			c.order = append(c.order[:0], c.order[1:]...)
		}
		e = new(cacheEntry[T])
		c.entries[hash] = e
		c.order = append(c.order, hash)
	}
	return e
}

func (c *cache[T]) forget(hash types.BlockHash, failed *cacheEntry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[hash] == failed {
		c.entries[hash] = new(cacheEntry[T])
	}
}

// rendered gives the JSON of what a block is found as.
func rendered(find func(types.Height) (*api.Block, error)) func(types.Height) ([]byte, error) {
	return func(height types.Height) ([]byte, error) {
		block, err := find(height)
		if err != nil {
			return nil, err
		}
		if block == nil {
			return nil, errGone
		}
		return json.Marshal(block)
	}
}

// renderedEvent is an event, and its JSON.
type renderedEvent struct {
	event api.Event
	json  []byte
}

func (s *Server) renderEvents(height types.Height) ([]renderedEvent, error) {
	events, err := s.config.Source.Events(height)
	if err != nil {
		return nil, err
	}
	if events == nil {
		return nil, errGone
	}
	rendered := make([]renderedEvent, len(events))
	for i, event := range events {
		rendered[i].event = event
		if rendered[i].json, err = json.Marshal(event); err != nil {
			return nil, err
		}
	}
	return rendered, nil
}
