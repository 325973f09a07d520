package kv

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Iter iterates over keys in order, as they were when it was created. It is initially not positioned. It is not safe
// for concurrent use.
type Iter struct {
	pebble *pebble.Iterator
	err    error
}

func newIter(r pebble.Reader, lower, upper []byte) (*Iter, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, readError(err)
	}
	return &Iter{pebble: it}, nil
}

// First moves to the first key and reports whether there is one. Here and below, false means the end or an error, which
// Err and Close distinguish.
func (i *Iter) First() bool { return i.pebble.First() }

// Last moves to the last key and reports whether there is one.
func (i *Iter) Last() bool { return i.pebble.Last() }

// Next moves to the next key and reports whether there is one.
func (i *Iter) Next() bool { return i.pebble.Next() }

// Prev moves to the previous key and reports whether there is one.
func (i *Iter) Prev() bool { return i.pebble.Prev() }

// SeekGE moves to the first key at or after the given one and reports whether there is one.
func (i *Iter) SeekGE(key []byte) bool { return i.pebble.SeekGE(key) }

// SeekLT moves to the last key before the given one and reports whether there is one.
func (i *Iter) SeekLT(key []byte) bool { return i.pebble.SeekLT(key) }

// Key returns the current key. It is valid until the next move and must not be changed.
func (i *Iter) Key() []byte { return i.pebble.Key() }

// Value returns the current value. It is valid until the next move and must not be changed. If the value cannot be
// read, Value returns nil and Close returns the error.
func (i *Iter) Value() []byte {
	value, err := i.pebble.ValueAndErr()
	if err != nil {
		i.err = errors.Join(i.err, readError(err))
	}
	return value
}

// Err returns the error that ended the iteration, or nil.
func (i *Iter) Err() error { return errors.Join(i.err, readError(i.pebble.Error())) }

// Close ends the iteration and returns its first error.
func (i *Iter) Close() error { return errors.Join(i.err, readError(i.pebble.Close())) }

// Scan calls f for each key in [lower, upper), ascending, until f returns an error, which Scan returns. Keys and values
// are only valid during the call.
func Scan(r Reader, lower, upper []byte, f func(key, value []byte) error) error {
	it, err := r.NewIter(lower, upper)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value := it.Value()
		if it.err != nil {
			break
		}
		if err := f(it.Key(), value); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

// PrefixEnd returns the least key greater than every key with this prefix: the upper bound of a scan over the prefix.
// It is nil, meaning no bound, if all bytes are 255.
func PrefixEnd(prefix []byte) []byte {
	for n := len(prefix); n > 0; n-- {
		if prefix[n-1] != 0xff {
			end := append([]byte(nil), prefix[:n]...)
			end[n-1]++
			return end
		}
	}
	return nil
}
