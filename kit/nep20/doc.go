// Package nep20 tests a deployed token against the NEP-20 standard (docs/protocol.md, "Conventions above consensus").
// It tests the functions and events, that no operation makes or loses tokens, the rules of allowances, overflow, the
// zero account and transfers to oneself.
//
// A token is tested from outside, by calls: [Check] knows nothing of how it is written. Package contracttest runs it on
// a chain in memory, cairn token check on a node.
package nep20
