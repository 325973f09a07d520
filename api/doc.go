// Package api is the node's JSON-RPC contract as Go: one declaration per method, with its parameters, its result and
// the errors it may fail with. The server dispatches from these declarations, the client calls through them, and
// [NewDocument] renders them as the OpenRPC document, so that the three cannot disagree.
//
// In JSON, an integer that the specification calls a number is a JSON integer; a [Quantity] is a 0x-prefixed hex
// integer without leading zeros, and [Data] is 0x-prefixed bytes. Objects may gain fields, never lose or change one.
package api
