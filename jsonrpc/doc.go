// Package jsonrpc implements JSON-RPC 2.0 (https://www.jsonrpc.org/specification) with typed methods: a server
// independent of the transport, its http.Handler, and a client.
//
// A method is a function from a context and a struct of parameters to a result:
//
//	type sumParams struct {
//		A uint64  `json:"a"`
//		B *uint64 `json:"b" jsonrpc:"optional"`
//	}
//	sum := jsonrpc.NewMethod("sum", func(ctx context.Context, p sumParams) (uint64, error) { … })
//	server, err := jsonrpc.NewServer(jsonrpc.Options{}, sum)
//	http.Handle("/", server)
//
// Its parameters are accepted by position, [1, 2], and by name, {"a": 1, "b": 2}. All input is bounded and decoded
// strictly: unknown and repeated members, excess parameters and values of the wrong type are errors that name the
// parameter. An unexpected error of a handler, or a panic, is logged under an incident id; the client receives only
// that id.
package jsonrpc
