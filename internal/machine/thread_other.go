//go:build !linux

package machine

import "time"

// ThreadTime is the processor time that the calling thread has used, 0 where that is not known.
func ThreadTime() time.Duration { return 0 }
