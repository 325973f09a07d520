// Package rpc answers the methods of package api: it translates between JSON-RPC and the engine and decides nothing.
// Each file of methods has a group of handlers, which holds only what they need. No lock is held while a call is
// answered: what a call reads is the store's view of one moment, the pool's, or the ledger's tip.
package rpc
