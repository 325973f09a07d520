//go:build unix && !linux

package machine

// hangUp is the poll event of a connection whose other end sends no more. These systems report only a closed
// connection.
const hangUp = 0
