// Package rpc implements the methods of package api: it translates between JSON-RPC and the engine and contains no
// rules of its own. Each file of methods has a group of handlers, which holds only the dependencies of those methods.
// No lock is held while a call is answered: a call reads a consistent view of the store, the pool, or the ledger's tip.
package rpc
