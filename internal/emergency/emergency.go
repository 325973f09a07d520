// Package emergency has the messages for an operator whose node does not start, holds or halts. Each message is a
// function here, so one test reads them all (cmd/cairn): it says what happened, whether anything was lost, and the one
// next step.
package emergency

import "fmt"

// Emergency is such a message, as an error.
type Emergency struct {
	// What happened, a clause that goes on where a sentence began: "the disk of ./mychain is full".
	What string
	// Lost says whether anything was lost, a clause: "nothing is lost".
	Lost string
	// Next is the one next step, a sentence without its full stop. Commands stand in backquotes, and work as they are,
	// but for words in capitals.
	Next string
	// Final tells that a restart does not mend it: the program ends with exit code 2, and nothing starts it again.
	Final bool
	// Cause is the error that was found, for errors.Is; its text is not shown. It may be nil.
	Cause error
}

// Error implements error.
func (e *Emergency) Error() string { return fmt.Sprintf("%s: %s. %s", e.What, e.Lost, e.Next) }

// Unwrap returns the cause.
func (e *Emergency) Unwrap() error { return e.Cause }

// nothing is lost in most emergencies.
const nothing = "nothing is lost"
