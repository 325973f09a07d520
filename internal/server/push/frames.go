package push

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"time"
)

// sendBuffer bounds the unread bytes that the kernel buffers for a client; its own limit can be 4 MB for each.
const sendBuffer = 128 << 10

// narrowed limits the send buffer of a hijacked connection, and charges the frames that the client sends on it.
type narrowed struct {
	http.ResponseWriter

	connection *connection
}

// Hijack implements http.Hijacker.
func (n narrowed) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffered, err := http.NewResponseController(n.ResponseWriter).Hijack()
	if err != nil {
		return c, buffered, err
	}
	for inner := c; ; {
		if tcp, ok := inner.(interface{ SetWriteBuffer(bytes int) error }); ok {
			_ = tcp.SetWriteBuffer(sendBuffer) // fails only if the connection has ended, as later writes will
			break
		}
		wrapper, ok := inner.(interface{ NetConn() net.Conn }) // *tls.Conn has it
		if !ok {
			break
		}
		inner = wrapper.NetConn()
	}
	framed := &frames{Conn: c, pay: n.connection.pay}
	ahead, err := buffered.Reader.Peek(buffered.Reader.Buffered()) // these do not come from the connection again
	if err == nil {
		err = framed.charge(ahead)
	}
	return framed, buffered, err
}

// leastFragment is the payload in bytes of a fragment that costs nothing. Clients that fragment use larger ones.
const leastFragment = 1 << 10

// frames is a client's connection. It follows the headers of frames (RFC 6455, 5.2), and charges those that the library
// handles without telling anybody, and that carry little: control frames, and small fragments.
type frames struct {
	net.Conn
	pay func() error // waits until the client has a call left, and takes it

	header  [14]byte
	have    int    // bytes of the header
	payload uint64 // bytes of the payload to come
}

// Read implements net.Conn.
func (f *frames) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if err != nil {
		return n, err
	}
	if err := f.charge(p[:n]); err != nil {
		return 0, err
	}
	return n, nil
}

// charge follows the frames in b.
func (f *frames) charge(b []byte) error {
	for len(b) > 0 {
		if f.payload > 0 {
			n := min(f.payload, uint64(len(b)))
			f.payload -= n
			b = b[n:]
			continue
		}
		f.header[f.have] = b[0]
		f.have++
		b = b[1:]
		if f.have < headerBytes(f.header[:f.have]) {
			continue
		}
		f.have = 0
		f.payload = payloadBytes(f.header[:])
		if cheap(f.header[0], f.payload) {
			if err := f.pay(); err != nil {
				return err
			}
		}
	}
	return nil
}

// headerBytes returns the size of a frame's header, of which at least one byte is known, or more than are known.
func headerBytes(b []byte) int {
	if len(b) < 2 {
		return 2
	}
	size := 2
	switch b[1] & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if b[1]&0x80 != 0 {
		size += 4 // mask
	}
	return size
}

// payloadBytes returns the size of a frame's payload by its header.
func payloadBytes(header []byte) uint64 {
	switch short := header[1] & 0x7f; short {
	case 126:
		return uint64(binary.BigEndian.Uint16(header[2:]))
	case 127:
		return binary.BigEndian.Uint64(header[2:])
	default:
		return uint64(short)
	}
}

// cheap reports whether a frame is a control frame, or a small fragment that another follows.
func cheap(first byte, payload uint64) bool {
	const final, control = 0x80, 0x08
	return first&control != 0 || first&final == 0 && payload < leastFragment
}

// pay takes a call from the client's rate, and waits until there is one or the client has gone. Meanwhile the client
// cannot be heard.
func (c *connection) pay() error {
	for {
		wait := c.frames.Take()
		if wait <= 0 {
			return nil
		}
		if c.frames.Gone() {
			return context.Canceled
		}
		c.busy.Store(true)
		usable := c.pause(min(wait, refusedPause))
		c.busy.Store(false)
		if !usable {
			return context.Canceled
		}
	}
}

// pause waits for d and reports whether the connection is still usable.
func (c *connection) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.work.Done():
		return false
	}
}
