package chain

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Rows iterates over decoded rows in key order. It reads ahead on its own goroutine, so that at startup reading
// overlaps with the processing of the rows.
type Rows[T any] struct {
	ahead  chan rowsRead[T] // closed after the last rows
	stop   chan struct{}
	closed chan error // gets the error of closing the iterator
}

// rowsRead holds the next rows, or the error of reading them.
type rowsRead[T any] struct {
	rows []T
	err  error
}

// rowsAtOnce is the number of rows in a batch from the reader.
const rowsAtOnce = 4096

// readAhead begins to read a table of the state, which must be the head's state when st was made. The caller must close
// the Rows before the state.
func readAhead[T any](st *State, of table, decode func(key, row []byte) (T, error)) (*Rows[T], error) {
	if err := st.atHead(); err != nil {
		return nil, err
	}
	it, err := st.view.snapshot.NewIter(of.bounds())
	if err != nil {
		return nil, err
	}
	r := &Rows[T]{ahead: make(chan rowsRead[T], 4), stop: make(chan struct{}), closed: make(chan error, 1)}
	go func() {
		r.readAll(it, decode)
		r.closed <- it.Close()
	}()
	return r, nil
}

// readAll reads rows until the end, an error or Close.
func (r *Rows[T]) readAll(it *kv.Iter, decode func(key, row []byte) (T, error)) {
	defer close(r.ahead)
	for more := it.First(); more; {
		read := rowsRead[T]{rows: make([]T, 0, rowsAtOnce)}
		for ; more && len(read.rows) < rowsAtOnce && read.err == nil; more = it.Next() {
			var row T
			if row, read.err = decode(it.Key(), it.Value()); read.err == nil {
				read.rows = append(read.rows, row)
			}
		}
		more = more && read.err == nil
		read.err = errors.Join(it.Err(), read.err) // a value that could not be read is not damaged
		select {
		case r.ahead <- read:
		case <-r.stop:
			return
		}
	}
	if err := it.Err(); err != nil {
		select {
		case r.ahead <- rowsRead[T]{err: err}:
		case <-r.stop:
		}
	}
}

// NextRows returns the next rows, or none after the last one. It must not be called again after an error.
func (r *Rows[T]) NextRows() ([]T, error) {
	read, more := <-r.ahead
	if !more || read.err != nil {
		return nil, read.err
	}
	return read.rows, nil
}

// Close ends the iteration.
func (r *Rows[T]) Close() error {
	close(r.stop)
	return <-r.closed
}
