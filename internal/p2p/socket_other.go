//go:build !linux

package p2p

import (
	"net"
	"time"
)

// boundSilence does nothing: the operating system decides how long a dead connection lasts.
func boundSilence(net.Conn, time.Duration) error { return nil }
