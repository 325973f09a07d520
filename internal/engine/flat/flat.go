// Package flat keeps the flat state of the chain's head in memory for execution. For each key it holds the value if
// that is short, or else only that there is one. So absent keys and short values are found without the disk, and
// without hashing the key for the state tree, which takes microseconds.
//
// A key is identified by 104 bits of its AES-based MAC under a random key. In a state of 10^7 keys, two keys that share
// these bits, and would thus share a value, have a probability of 10^-17. The random key is secret, so nobody can
// search for such keys. A collision would be detected: a start counts the keys, and at a block's end the state tree
// finds each access by its path.
package flat

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/types"
)

// Short is the maximum length of a value that is kept: a contract's record with the longest name.
const Short = 144

// A Table holds the keys of a state. It is not safe for concurrent use.
type Table struct {
	block  cipher.Block
	names  namer
	shards [1 << 8]shard
}

// New returns the table of the empty state.
func New() (*Table, error) {
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("flat: %w", err)
	}
	return &Table{block: block, names: namer{block: block}}, nil
}

// Load returns the table of a state. next returns some of its keys with their values, as writes that are valid until its
// next call, and none at the end. If two keys cannot be told apart, the table has only one of them.
func Load(next func() ([]types.Access, error)) (*Table, error) {
	t, err := New()
	if err != nil {
		return nil, err
	}
	for {
		writes, err := next()
		if err != nil {
			return nil, err
		}
		if len(writes) == 0 {
			break
		}
		t.distribute(writes, func(s *shard, t *tag, value []byte) {
			if len(value) > 0 {
				s.add(t, value)
			}
		})
	}
	parallel.Run(len(t.shards), func(i int) { t.shards[i].index() })
	return t, nil
}

// Len returns the number of keys.
func (t *Table) Len() int {
	n := 0
	for i := range t.shards {
		n += t.shards[i].used
	}
	return n
}

// Get returns a copy of the value under key, or nil if there is none. It reports false if the value is not short.
func (t *Table) Get(key []byte) (value []byte, known bool) {
	name := t.names.name(key)
	s := &t.shards[name[0]]
	at, found := s.find(name.tag())
	if !found {
		return nil, true
	}
	value, known = s.value(s.slots[at])
	return bytes.Clone(value), known
}

// Apply sets each key to its new value; an empty value deletes the key. A key may occur only once. Of a long value, the
// first Short + 1 bytes suffice. The work is distributed over the cores.
func (t *Table) Apply(writes []types.Access) { t.distribute(writes, (*shard).set) }

// distribute calls f for the shard of each write, on all cores, but never twice at a time for the same shard.
func (t *Table) distribute(writes []types.Access, f func(s *shard, t *tag, value []byte)) {
	const piece = 256
	names := make([]name, len(writes))
	parallel.Run((len(writes)+piece-1)/piece, func(i int) {
		n := namer{block: t.block}
		for j := i * piece; j < min((i+1)*piece, len(writes)); j++ {
			names[j] = n.name(writes[j].Key)
		}
	})
	order, begin := byShard(names)
	const together = 16 // shards per task
	parallel.Run(len(t.shards)/together, func(i int) {
		for _, at := range order[begin[i*together]:begin[(i+1)*together]] {
			f(&t.shards[names[at][0]], names[at].tag(), writes[at].New)
		}
	})
}

// byShard sorts names by their shards: the names of shard i are at order[begin[i]:begin[i+1]].
func byShard(names []name) (order []uint32, begin [1<<8 + 1]uint32) {
	for i := range names {
		begin[int(names[i][0])+1]++
	}
	for i := range 1 << 8 {
		begin[i+1] += begin[i]
	}
	order = make([]uint32, len(names))
	free := begin
	for i := range names {
		s := names[i][0]
		order[free[s]] = uint32(i)
		free[s]++
	}
	return order, begin
}

// name identifies a key: a byte for its shard, 3 unused bytes, and its tag.
type name [16]byte

// tag identifies a key within its shard. Its first 4 bytes determine the first slot to search.
type tag [12]byte

func (n *name) tag() *tag { return (*tag)(n[4:]) }

func (t *tag) home() uint32 { return binary.LittleEndian.Uint32(t[:4]) }

// namer computes names: the CBC-MAC of a key prefixed by its length, which makes it secure for keys of different
// lengths. It is not safe for concurrent use.
type namer struct {
	block  cipher.Block
	buffer name
}

func (n *namer) name(key []byte) name {
	n.buffer = name{}
	binary.LittleEndian.PutUint16(n.buffer[:], uint16(len(key)))
	for at := 2; ; at = 0 {
		taken := min(len(key), len(n.buffer)-at)
		for i, b := range key[:taken] {
			n.buffer[at+i] ^= b
		}
		n.block.Encrypt(n.buffer[:], n.buffer[:])
		if key = key[taken:]; len(key) == 0 {
			return n.buffer
		}
	}
}
