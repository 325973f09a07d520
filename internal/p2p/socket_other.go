//go:build !linux

package p2p

import (
	"net"
	"time"
)

// boundSilence does nothing: how long a dead connection lasts is this system's to say.
func boundSilence(net.Conn, time.Duration) error { return nil }
