// Package output writes what commands have to say: the result on the standard output, as text for people or as one
// JSON document for programs; prose, progress and errors on the standard error.
package output
