// Package flat keeps the flat state of the chain's head in memory for execution: of each key its value where that is
// short, else that it has one. So a key that is absent, and a short value, are found without the disk and without
// hashing the key for the state tree, whose hash takes microseconds.
//
// A key is known by 104 bits that AES makes of it under a random key. Two keys of a state of 10^7 that have them in
// common, which would then have one value, are as likely as 10^-17. Nobody outside knows the random key, so nobody can
// look for such keys. It would show: a start counts the keys, and at a block's end the state tree finds each access by
// its path.
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

// Short is how many bytes a value may have to be kept: those of a contract's record with the longest name.
const Short = 144

// A Table has the keys of a state. It is for one goroutine at a time.
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

// Len is the number of keys.
func (t *Table) Len() int {
	n := 0
	for i := range t.shards {
		n += t.shards[i].used
	}
	return n
}

// Get returns a copy of the value under key, nil where there is none. It is not known where the value is not short.
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

// Apply sets each key, at most once each, to its new value, of which it needs to know the first Short + 1 bytes; an
// empty one deletes it. The work is shared out over the cores.
func (t *Table) Apply(writes []types.Access) {
	const piece = 256
	names := make([]name, len(writes))
	parallel.Run((len(writes)+piece-1)/piece, func(i int) {
		n := namer{block: t.block}
		for j := i * piece; j < min((i+1)*piece, len(writes)); j++ {
			names[j] = n.name(writes[j].Key)
		}
	})
	order, begin := byShard(names)
	const together = 16 // shards
	parallel.Run(len(t.shards)/together, func(i int) {
		for _, at := range order[begin[i*together]:begin[(i+1)*together]] {
			t.shards[names[at][0]].set(names[at].tag(), writes[at].New)
		}
	})
}

// byShard orders names by their shards: those of shard i are order[begin[i]:begin[i+1]].
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

// name is what a key is known by: a byte that names its shard, 3 that are not used, and its tag.
type name [16]byte

// tag is what a key is known by within its shard. Its first bytes say where in the shard it is looked for first.
type tag [12]byte

func (n *name) tag() *tag { return (*tag)(n[4:]) }

func (t *tag) home() uint32 { return binary.LittleEndian.Uint32(t[:4]) }

// namer makes names: the CBC-MAC of a key with its length before it, which makes it one for keys of any length. It is
// for one goroutine.
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
