package push

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"runtime"
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
	// These bytes do not come from the connection again.
	framed := &frames{Conn: c, pay: n.connection.pay, ahead: make([]byte, buffered.Reader.Buffered())}
	_, err = io.ReadFull(buffered.Reader, framed.ahead)
	return framed, buffered, err
}

// leastFragment is the payload in bytes of a fragment that costs nothing. Clients that fragment use larger ones.
const leastFragment = 1 << 10

// frames is a client's connection. It follows the headers of frames (RFC 6455, 5.2), and charges those that the library
// handles without telling anybody, and that carry little: control frames, and small fragments. It hands these over one
// at a time, so that the library handles each only after it is paid, instead of all that one read returns.
type frames struct {
	net.Conn
	pay   func() error // waits until the client has a call left, and takes it
	ahead []byte       // read and not handed over

	header  [14]byte
	have    int    // bytes of the header
	payload uint64 // bytes of the payload to come
}

// Read implements net.Conn.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.ahead) > 0 {
		n := copy(p, f.ahead)
		paid, err := f.charge(p[:n])
		f.ahead = f.ahead[paid:]
		return paid, err
	}
	n, err := f.Conn.Read(p)
	if err != nil {
		return n, err
	}
	paid, err := f.charge(p[:n])
	f.ahead = append(f.ahead[:0], p[paid:n]...)
	return paid, err
}

// charge follows the frames in b, and pays for the first that costs a call. It returns the number of bytes before the
// end of the second one's header: without that, the library cannot handle it.
func (f *frames) charge(b []byte) (done int, err error) {
	for paid := false; done < len(b); {
		if f.payload > 0 {
			n := min(f.payload, uint64(len(b)-done))
			f.payload -= n
			done += int(n)
			continue
		}
		f.header[f.have] = b[done]
		if f.have+1 < headerBytes(f.header[:f.have+1]) {
			f.have++
			done++
			continue
		}
		payload := payloadBytes(f.header[:])
		if cheap(f.header[0], payload) {
			if paid {
				return done, nil
			}
			if err := f.pay(); err != nil {
				return 0, err
			}
			paid = true
		}
		f.have, f.payload = 0, payload
		done++
	}
	return done, nil
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

// pay takes a call from the client's rate, and waits until it is paid or the client has gone. Meanwhile the client
// cannot be heard.
func (c *connection) pay() error {
	wait := c.frames.Owe()
	if wait <= 0 {
		runtime.Gosched() // or a client with many calls left would keep others waiting for a whole slice of a thread
		return nil
	}
	c.busy.Store(true)
	defer c.busy.Store(false)
	for ; wait > 0; wait -= refusedPause {
		if c.frames.Gone() || !c.pause(min(wait, refusedPause)) {
			return context.Canceled
		}
	}
	return nil
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
