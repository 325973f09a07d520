package push

import (
	"errors"
	"sync"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

const (
	// cachedBlocks is how many of the newest blocks are rendered once for all subscribers. Those further behind render
	// for themselves.
	cachedBlocks = 16
	// cacheBytes bounds the size of the cache, not counting the newest entry of each kind.
	cacheBytes = 32 << 20
)

// errGone is returned for a block that is not in the chain: a development chain may have been reverted meanwhile.
var errGone = errors.New("the block is gone")

// kind is a kind of shared content of a block.
type kind int

const (
	wholeBlocks kind = iota
	headers
	events
	payments
)

// renderer renders the shared content of a block and returns its size in bytes.
type renderer struct {
	kept   int // number of newest blocks kept
	render func(types.Height) (value any, bytes int, err error)
}

// cache renders each of the newest blocks once for all subscribers.
type cache struct {
	chain Chain
	kinds map[kind]renderer
	limit int

	mu      sync.Mutex // guards the fields below, and the entries
	entries map[cacheKey]*cacheEntry
	order   []cacheKey // keys of entries, oldest first
	bytes   int
}

type cacheKey struct {
	kind kind
	hash types.BlockHash // not the height: a development chain may soon have another block there
}

type cacheEntry struct {
	height types.Height
	once   sync.Once
	value  any // nil before it is rendered, and after it was dropped
	bytes  int
	gone   bool // dropped, and not rendered again: that would take another's place
	err    error
}

func newCache(c Chain, limit int, kinds map[kind]renderer) *cache {
	return &cache{chain: c, kinds: kinds, limit: limit, entries: make(map[cacheKey]*cacheEntry)}
}

// shared returns the shared content of a block, or [errGone] if there is no such block. It returns false if the
// cache does not keep the block: then the subscriber renders it in its own turn.
func shared[T any](c *cache, of kind, height types.Height) (value T, ok bool, err error) {
	found, err := c.get(of, height)
	if err != nil || found == nil {
		return value, false, err
	}
	return found.(T), true, nil
}

func (c *cache) get(of kind, height types.Height) (any, error) {
	if head := c.chain.Head().Header.Height; height+types.Height(c.kinds[of].kept) <= head {
		return nil, nil
	}
	hash, err := c.hash(height)
	if err != nil {
		return nil, err
	}
	key := cacheKey{of, hash}
	e, value, gone := c.entry(key, height)
	if value != nil || gone {
		return value, nil
	}
	var made any
	e.once.Do(func() { made = c.make(e, key) })
	if made != nil {
		return made, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.err != nil && c.entries[key] == e {
		c.entries[key] = &cacheEntry{height: height}
	}
	return e.value, e.err
}

// make renders an entry, and keeps it if there is room.
func (c *cache) make(e *cacheEntry, key cacheKey) any {
	value, bytes, err := c.kinds[key.kind].render(e.height)
	if err == nil {
		var now types.BlockHash
		if now, err = c.hash(e.height); err == nil && now != key.hash {
			err = errGone
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.err = err; err != nil {
		return nil
	}
	if e.value = value; c.entries[key] == e {
		e.bytes = bytes
		c.bytes += bytes
		c.shrink()
	}
	return value
}

// hash returns the hash of the block at a height. The head's hash needs no read: all subscribers ask for it at once.
func (c *cache) hash(height types.Height) (types.BlockHash, error) {
	hash := c.chain.HeadHash()
	if c.chain.Head().Header.Height == height && c.chain.HeadHash() == hash { // all three belong to one head
		return hash, nil
	}
	header, err := c.chain.Header(height)
	if errors.Is(err, chain.ErrNotFound) {
		err = errGone
	}
	return header.Header.Hash(), err
}

// entry finds or creates the entry of a block.
func (c *cache) entry(key cacheKey, height types.Height) (e *cacheEntry, value any, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		return e, e.value, e.gone
	}
	same, first := 0, -1
	for i, other := range c.order {
		if other.kind == key.kind {
			if same++; first < 0 {
				first = i
			}
		}
	}
	if same == c.kinds[key.kind].kept {
		c.drop(c.entries[c.order[first]])
		delete(c.entries, c.order[first])
		c.order = append(c.order[:first], c.order[first+1:]...)
	}
	e = &cacheEntry{height: height}
	c.entries[key] = e
	c.order = append(c.order, key)
	return e, nil, false
}

// shrink drops the lowest blocks until the cache is within its limit. It keeps the newest of each kind: all subscribers
// want that at once.
func (c *cache) shrink() {
	for c.bytes > c.limit {
		var newest [payments + 1]types.Height
		for key, e := range c.entries {
			newest[key.kind] = max(newest[key.kind], e.height)
		}
		var lowest *cacheEntry
		for key, e := range c.entries {
			if e.bytes > 0 && e.height < newest[key.kind] && (lowest == nil || e.height < lowest.height) {
				lowest = e
			}
		}
		if lowest == nil {
			return
		}
		c.drop(lowest)
	}
}

func (c *cache) drop(e *cacheEntry) {
	c.bytes -= e.bytes
	e.value, e.bytes, e.gone = nil, 0, true
}

// blockText and hashText bound the JSON of a block, in bytes: for the header, and for each transaction hash.
const (
	blockText = 2 << 10
	hashText  = len(`"0x",`) + 64
)

// rendered returns a renderer for the JSON of the blocks that find returns.
func rendered(find func(types.Height) (*api.Block, error)) func(types.Height) (any, int, error) {
	return func(height types.Height) (any, int, error) {
		block, err := find(height)
		if err != nil {
			return nil, 0, err
		}
		if block == nil {
			return nil, 0, errGone
		}
		text := make([]byte, 0, blockText+hashText*len(block.Transactions.Hashes))
		err = block.WriteJSON(func(piece []byte) error {
			text = append(text, piece...)
			return nil
		})
		return text, cap(text), err
	}
}
