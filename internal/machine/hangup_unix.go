//go:build unix && !linux

package machine

// hangUp is the event of a connection whose other end sends no more. These systems tell only of one that has ended.
const hangUp = 0
