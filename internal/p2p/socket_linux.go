package p2p

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT (tcp(7)), which package syscall does not name on every processor.
const tcpUserTimeout = 18

// boundSilence ends a connection on which what was sent goes unacknowledged for a time. Otherwise the kernel tries
// again ever more rarely, and a link that is whole again would be found so only much later.
func boundSilence(conn net.Conn, d time.Duration) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
	})
	return errors.Join(err, set)
}
