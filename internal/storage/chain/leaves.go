package chain

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Leaves walks over the leaves of a state tree, ascending by path. It reads ahead on a goroutine of its own, so that
// reading and what is done with the leaves share a start's time.
type Leaves struct {
	ready  []tree.Leaf
	ahead  chan leavesRead // closed after the last
	stop   chan struct{}
	closed chan error // what closing the iterator gave
}

// leavesRead are the next leaves, or why there are none.
type leavesRead struct {
	leaves []tree.Leaf
	err    error
}

// leavesAtOnce is how many leaves the reader hands over at once.
const leavesAtOnce = 4096

// Leaves returns a walk over the leaves of the state, which must be that of the head at the time it was made. The
// caller closes it before the state.
func (st *State) Leaves() (*Leaves, error) {
	if err := st.atHead(); err != nil {
		return nil, err
	}
	it, err := st.view.snapshot.NewIter(tableLeaves.bounds())
	if err != nil {
		return nil, err
	}
	l := &Leaves{ahead: make(chan leavesRead, 4), stop: make(chan struct{}), closed: make(chan error, 1)}
	go func() {
		l.readAll(it)
		l.closed <- it.Close()
	}()
	return l, nil
}

// readAll reads until the end, an error or Close.
func (l *Leaves) readAll(it *kv.Iter) {
	defer close(l.ahead)
	for more := it.First(); more; {
		read := leavesRead{leaves: make([]tree.Leaf, 0, leavesAtOnce)}
		for ; more && len(read.leaves) < leavesAtOnce && read.err == nil; more = it.Next() {
			var leaf tree.Leaf
			if leaf, read.err = decodeLeaf(it.Key(), it.Value()); read.err == nil {
				read.leaves = append(read.leaves, leaf)
			}
		}
		more = more && read.err == nil
		read.err = errors.Join(it.Err(), read.err) // a value that could not be read is not one that is damaged
		select {
		case l.ahead <- read:
		case <-l.stop:
			return
		}
	}
	if err := it.Err(); err != nil {
		select {
		case l.ahead <- leavesRead{err: err}:
		case <-l.stop:
		}
	}
}

func decodeLeaf(key, row []byte) (tree.Leaf, error) {
	path, err := parseDigest(key[1:])
	if err != nil {
		return tree.Leaf{}, err
	}
	leaf, err := decodeLeafRow(row)
	return tree.Leaf{Path: path, Digest: leaf.leaf}, err
}

// Next returns the next leaf, and false after the last one: what tree.Load takes. After an error it is not called again.
func (l *Leaves) Next() (tree.Leaf, bool, error) {
	if len(l.ready) == 0 {
		read, more := <-l.ahead
		if !more || read.err != nil {
			return tree.Leaf{}, false, read.err
		}
		l.ready = read.leaves
	}
	leaf := l.ready[0]
	l.ready = l.ready[1:]
	return leaf, true, nil
}

// Close ends the walk.
func (l *Leaves) Close() error {
	close(l.stop)
	return <-l.closed
}
