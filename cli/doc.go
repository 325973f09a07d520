// Package cli holds the commands of the program that talk to a node or keep keys, and runs any command. [NewRoot] makes
// the tree, to which other commands can be added, and [Execute] runs it.
//
// Results go to the standard output, everything else to the standard error. With --json each command prints exactly one
// JSON document, {"ok":true,"result":…} or {"ok":false,"error":{"code":…,"message":…,"data":{…}}}. The code is that of
// the node's JSON-RPC if it has one, and else the exit code. Exit codes are 0 done, 1 the operation failed, 2 wrong
// usage, 3 the node cannot be reached.
package cli
