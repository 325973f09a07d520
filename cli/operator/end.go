package operator

import "time"

// graceTime bounds the start and the shutdown of a node after a request to end, even if its disk hangs. It is longer
// than [node.Node.Run] takes.
const graceTime = 10 * time.Second

// aStart names the start as the task that an interrupted node waits for.
type aStart struct{}

func (aStart) String() string { return "the start" }
