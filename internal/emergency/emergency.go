// Package emergency has the messages for an operator whose node does not start, waits or halts. Each message is a
// function here, so one test reads them all (cli/operator). It says what happened, whether anything was lost, and the one
// next step.
package emergency

import "fmt"

// Emergency is a message for the operator, as an error.
type Emergency struct {
	// What describes the event, a clause that continues a sentence: "the disk of ./mychain is full".
	What string
	// Lost says whether anything was lost, a clause: "nothing is lost".
	Lost string
	// Next is the one next step, a sentence without its full stop. Commands are in backquotes and can be run as
	// printed, except for placeholders in capitals.
	Next string
	// Final is set if a restart does not help: the program then exits with code 2 and is not restarted.
	Final bool
	// Cause is the underlying error, for errors.Is, or nil. Its text is not shown.
	Cause error
}

// Error implements error.
func (e *Emergency) Error() string { return fmt.Sprintf("%s: %s. %s", e.What, e.Lost, e.Next) }

// Unwrap returns the cause.
func (e *Emergency) Unwrap() error { return e.Cause }

// nothing is the Lost clause of most emergencies.
const nothing = "nothing is lost"
