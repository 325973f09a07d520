package main

import "time"

// graceTime is how long a node that is told to end may take to start or to end, whatever its disk does: longer than
// [node.Node.Run] takes.
const graceTime = 10 * time.Second

// aStart is what a node waits for that is told to end and has not begun to run.
type aStart struct{}

func (aStart) String() string { return "its start" }
