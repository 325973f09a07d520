package state

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Reader reads a committed state. Get returns the value under a key, or nil if there is none. It does not retain the
// key, and callers must not modify the value. An error is a fault of the node or of its input, never absence.
type Reader interface {
	Get(key []byte) ([]byte, error)
}

// Overlay is a state in progress on top of a committed one. It records every key that was read or written with its
// value before and after. Writes can be rolled back to a checkpoint; the record of the keys remains.
type Overlay struct {
	parent  Reader
	entries map[string]*entry
	all     []*entry // in order of first access
	free    []entry  // allocated in chunks: a block has hundreds of thousands of entries
	asked   []byte   // buffer for the key passed to parent
	journal []change
	listed  []*entry // entries listed since the last Seal

	recent [4]*entry // the last ones looked up: a transfer asks for three keys again and again
	oldest int       // index in recent of the next to be replaced
	room   []byte    // for records of accounts
}

type entry struct {
	key      string
	old, now []byte
	listed   bool // false while the key was only peeked at
}

// together is the maximum number of entries in a chunk. The first chunks are smaller, for calls that read few keys.
const together = 32

// recordsBytes is the size of the room for records of accounts that is allocated at once, again smaller at first.
const recordsBytes = 8 << 10

type change struct {
	entry  *entry
	before []byte
}

// NewOverlay returns an overlay over parent with no keys read or written.
func NewOverlay(parent Reader) *Overlay {
	return &Overlay{parent: parent, entries: make(map[string]*entry)}
}

// Get returns the current value under key, or nil if there is none, and records the key.
func (o *Overlay) Get(key []byte) ([]byte, error) {
	e, err := o.entry(key)
	if err != nil {
		return nil, err
	}
	o.list(e)
	return e.now, nil
}

// Peek is [Overlay.Get] without recording the key. It serves checks of a transaction that may not belong in the block.
func (o *Overlay) Peek(key []byte) ([]byte, error) {
	e, err := o.entry(key)
	if err != nil {
		return nil, err
	}
	return e.now, nil
}

// Set writes value under key and records the key; an empty value deletes. The overlay retains value.
func (o *Overlay) Set(key, value []byte) error {
	e, err := o.entry(key)
	if err != nil {
		return err
	}
	o.journal = append(o.journal, change{e, e.now})
	if len(value) == 0 {
		value = nil
	}
	e.now = value
	o.list(e)
	return nil
}

func (o *Overlay) list(e *entry) {
	if !e.listed {
		e.listed = true
		o.listed = append(o.listed, e)
	}
}

func (o *Overlay) entry(key []byte) (*entry, error) {
	for _, e := range o.recent {
		if e != nil && e.key == string(key) {
			return e, nil
		}
	}
	e, err := o.find(key)
	if err == nil {
		o.recent[o.oldest] = e
		o.oldest = (o.oldest + 1) % len(o.recent)
	}
	return e, err
}

// find returns the entry of a key, and makes it if there is none yet.
func (o *Overlay) find(key []byte) (*entry, error) {
	if e, ok := o.entries[string(key)]; ok {
		return e, nil
	}
	o.asked = append(o.asked[:0], key...) // so that callers' keys need not escape to the heap
	old, err := o.parent.Get(o.asked)
	if err != nil {
		return nil, err
	}
	if len(o.free) == 0 {
		o.free = make([]entry, min(together, 4+len(o.entries)))
		o.all, o.listed = slices.Grow(o.all, len(o.free)), slices.Grow(o.listed, len(o.free))
	}
	e := &o.free[0]
	o.free = o.free[1:]
	*e = entry{key: string(key), old: old, now: old}
	o.entries[e.key] = e
	o.all = append(o.all, e)
	return e, nil
}

// Checkpoint returns a checkpoint of the current state for [Overlay.Rollback].
func (o *Overlay) Checkpoint() int { return len(o.journal) }

// Rollback undoes all writes since the checkpoint, which must have been taken since the last [Overlay.Seal].
func (o *Overlay) Rollback(checkpoint int) {
	for i := len(o.journal) - 1; i >= checkpoint; i-- {
		o.journal[i].entry.now = o.journal[i].before
	}
	o.journal = o.journal[:checkpoint]
}

// Seal makes all reads and writes so far final and invalidates all checkpoints. It is called at the beginning of a
// transaction.
func (o *Overlay) Seal() { o.journal, o.listed = o.journal[:0], o.listed[:0] }

// Undo undoes everything since the last [Overlay.Seal], including the records of keys. It serves transactions that turn
// out, while they run, not to belong in the block.
func (o *Overlay) Undo() {
	o.Rollback(0)
	for _, e := range o.listed {
		e.listed = false
	}
	o.listed = o.listed[:0]
}

// Accesses returns the keys that were read or written, ascending, each once with its committed and its current value.
func (o *Overlay) Accesses() []types.Access {
	entries, size := make([]sortable, 0, len(o.all)), 0
	for _, e := range o.all {
		if e.listed {
			entries = append(entries, sortable{entry: e})
			size += len(e.key)
		}
	}
	sortByKey(entries, 0)
	accesses, keys := make([]types.Access, len(entries)), make([]byte, 0, size)
	for i, s := range entries {
		e, begin := s.entry, len(keys)
		keys = append(keys, e.key...)
		accesses[i] = types.Access{Key: keys[begin:len(keys):len(keys)], Old: e.old, New: e.now}
	}
	return accesses
}

// sortable is an entry with the next up to eight bytes of its key as a number, and their count.
type sortable struct {
	word  uint64
	bytes int
	entry *entry
}

// sortByKey sorts entries by their keys. The keys must be distinct and agree in the first common bytes. It compares
// eight bytes at a time: keys of one contract's storage share 33 bytes.
func sortByKey(entries []sortable, common int) {
	for i := range entries {
		var word [8]byte
		entries[i].bytes = copy(word[:], entries[i].entry.key[common:])
		entries[i].word = binary.BigEndian.Uint64(word[:])
	}
	slices.SortFunc(entries, func(a, b sortable) int {
		return cmp.Or(cmp.Compare(a.word, b.word), cmp.Compare(a.bytes, b.bytes))
	})
	for begin, end := 0, 1; begin < len(entries); begin, end = end, end+1 {
		for end < len(entries) && entries[end].word == entries[begin].word && entries[end].bytes == entries[begin].bytes {
			end++
		}
		if end-begin > 1 { // equal so far and the keys continue: at most one key ends here
			sortByKey(entries[begin:end], common+8)
		}
	}
}

// Account reads an account's record and records its key. It returns the zero Account if there is no record.
func (o *Overlay) Account(a types.Account) (Account, error) {
	b, err := o.Get(AccountKey(a))
	if err != nil {
		return Account{}, err
	}
	return DecodeAccount(a, b)
}

// SetAccount writes an account's record; the zero Account deletes it.
func (o *Overlay) SetAccount(a types.Account, record Account) error {
	if !record.plain(a) {
		return o.Set(AccountKey(a), record.Encode(a))
	}
	if cap(o.room)-len(o.room) < plainBytes {
		o.room = make([]byte, 0, min(recordsBytes, 16*plainBytes*(1+len(o.entries))))
	}
	begin := len(o.room)
	o.room = record.appendPlain(o.room)
	return o.Set(AccountKey(a), o.room[begin:len(o.room):len(o.room)])
}
