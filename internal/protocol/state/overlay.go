package state

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Reader reads a committed state. Get returns the value under a key, nil where there is none. It does not keep the key,
// and callers do not change the value. An error is a fault of the node or of its input, never absence.
type Reader interface {
	Get(key []byte) ([]byte, error)
}

// Overlay is a state in progress over a committed one. It records every key that was read or written with its
// value before and after, and undoes writes back to a checkpoint; what was looked at stays recorded.
type Overlay struct {
	parent  Reader
	entries map[string]*entry
	all     []*entry // in the order in which they came
	free    []entry  // allocated with others: a block has hundreds of thousands
	asked   []byte   // the key that the parent is asked for
	journal []change
	listed  []*entry // since the last Seal
}

type entry struct {
	key      string
	old, now []byte
	listed   bool // false while the key was only peeked at
}

// together is how many entries are allocated at once at most; a call that reads a few allocates a few.
const together = 32

type change struct {
	entry  *entry
	before []byte
}

// NewOverlay returns an overlay over parent with nothing read or written.
func NewOverlay(parent Reader) *Overlay {
	return &Overlay{parent: parent, entries: make(map[string]*entry)}
}

// Get returns the present value under key, nil where there is none, and records the key.
func (o *Overlay) Get(key []byte) ([]byte, error) {
	e, err := o.entry(key)
	if err != nil {
		return nil, err
	}
	o.list(e)
	return e.now, nil
}

// Peek is Get without recording the key: for the checks of a transaction that may turn out not to belong in the block.
func (o *Overlay) Peek(key []byte) ([]byte, error) {
	e, err := o.entry(key)
	if err != nil {
		return nil, err
	}
	return e.now, nil
}

// Set writes value under key; an empty value deletes. The overlay keeps value.
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
	if e, ok := o.entries[string(key)]; ok {
		return e, nil
	}
	o.asked = append(o.asked[:0], key...) // callers' keys need not be on the heap
	old, err := o.parent.Get(o.asked)
	if err != nil {
		return nil, err
	}
	if len(o.free) == 0 {
		o.free = make([]entry, min(together, 4+len(o.entries)))
	}
	e := &o.free[0]
	o.free = o.free[1:]
	*e = entry{key: string(key), old: old, now: old}
	o.entries[e.key] = e
	o.all = append(o.all, e)
	return e, nil
}

// Checkpoint names the present state for [Overlay.Rollback].
func (o *Overlay) Checkpoint() int { return len(o.journal) }

// Rollback undoes every write since the checkpoint, one of [Overlay.Checkpoint] since the last [Overlay.Seal].
func (o *Overlay) Rollback(checkpoint int) {
	for i := len(o.journal) - 1; i >= checkpoint; i-- {
		o.journal[i].entry.now = o.journal[i].before
	}
	o.journal = o.journal[:checkpoint]
}

// Seal makes final what was read and written, and forgets all checkpoints: for the beginning of a transaction.
func (o *Overlay) Seal() { o.journal, o.listed = o.journal[:0], o.listed[:0] }

// Undo undoes everything since the last [Overlay.Seal], the records of what was looked at too: for a transaction that
// turns out not to belong in the block while it runs.
func (o *Overlay) Undo() {
	o.Rollback(0)
	for _, e := range o.listed {
		e.listed = false
	}
	o.listed = o.listed[:0]
}

// Accesses lists what was read or written, ascending by key, each key once with its value in the committed state and
// now.
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

// sortable is an entry with those bytes of its key that are compared next: as a number, and how many.
type sortable struct {
	word  uint64
	bytes int
	entry *entry
}

// sortByKey sorts entries by their keys, no two the same, which have as many first bytes in common as is given. It
// compares eight bytes at a time: the keys of a contract's storage have 33 in common.
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
		if end-begin > 1 { // their keys go on: of those that end here no two are the same
			sortByKey(entries[begin:end], common+8)
		}
	}
}

// Account reads the account's record, and records its key; an account without one is the zero Account.
func (o *Overlay) Account(a types.Account) (Account, error) {
	b, err := o.Get(AccountKey(a))
	if err != nil {
		return Account{}, err
	}
	return DecodeAccount(b)
}

// SetAccount writes the account's record; the zero Account deletes it.
func (o *Overlay) SetAccount(a types.Account, record Account) error {
	return o.Set(AccountKey(a), record.Encode())
}
