// Package cli assembles the client commands, which talk to a node or manage keys. [NewRoot] returns their tree, to
// which other commands can be added, and [invoke.Execute] runs a command.
//
// Results go to standard output, everything else to standard error. With --json each command prints exactly one JSON
// document, {"ok":true,"result":…} or {"ok":false,"error":{"code":…,"message":…,"data":{…}}}. The code is the node's
// JSON-RPC error code, or else the exit code. Exit codes are 0 for success, 1 for a failed operation, 2 for wrong usage
// and 3 if the node cannot be reached.
package cli
