//go:build !linux

package machine

import "time"

// ThreadTime returns 0: the processor time of a thread is not known on this system.
func ThreadTime() time.Duration { return 0 }
