package state

import (
	"bytes"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Reader reads a committed state. Get returns the value under a key, nil where there is none; callers do not change
// it. An error is a fault of the node or of its input, never absence.
type Reader interface {
	Get(key []byte) ([]byte, error)
}

// Overlay is a state in progress over a committed one. It records every key that was read or written with its
// value before and after, and undoes writes back to a checkpoint; what was looked at stays recorded.
type Overlay struct {
	parent  Reader
	entries map[string]*entry
	journal []change
	listed  []*entry // since the last Seal
}

type entry struct {
	key      []byte
	old, now []byte
	listed   bool // false while the key was only peeked at
}

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
	own := []byte(string(key)) // callers' keys need not be on the heap
	old, err := o.parent.Get(own)
	if err != nil {
		return nil, err
	}
	e := &entry{key: own, old: old, now: old}
	o.entries[string(own)] = e
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

// Accesses lists what was read or written, ascending by key, each key once with its value in the committed state and now.
func (o *Overlay) Accesses() []types.Access {
	accesses := make([]types.Access, 0, len(o.entries))
	for _, e := range o.entries {
		if e.listed {
			accesses = append(accesses, types.Access{Key: e.key, Old: e.old, New: e.now})
		}
	}
	slices.SortFunc(accesses, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
	return accesses
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
