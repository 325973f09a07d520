// Package jsonrpc is JSON-RPC 2.0 (https://www.jsonrpc.org/specification) with typed methods: a server that knows no
// transport, its http.Handler, and a caller.
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
// Its parameters are accepted by position, [1, 2], and by name, {"a": 1, "b": 2}. Everything that comes from outside
// is bounded and decoded strictly: unknown and repeated members, parameters too many and values of another type are
// errors that name the parameter. What a handler fails with unexpectedly, a panic included, is logged under an
// incident id, and the client is told that id and nothing else.
package jsonrpc
