// Package output writes the output of commands. The result goes to the standard output, as text for people or as one
// JSON document for programs; prose, progress and errors go to the standard error.
package output
