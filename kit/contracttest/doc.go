// Package contracttest runs contracts on a chain in memory, for Go tests of compiled contracts:
//
//	chain := contracttest.New(t)
//	alice, bob := chain.Account("alice"), chain.Account("bob")
//	token := chain.Deploy(alice, code, map[string]any{
//		"name": "Gold", "symbol": "GLD", "decimals": 2, "initialSupply": 1000,
//	})
//	token.Call(alice, "transfer", map[string]any{"to": bob, "amount": 5}).Must(t)
//
// It executes the protocol itself, with a node's engine: results, gas and failures are the same as on a real chain.
// There is no disk, no network and no clock. Each transaction has its own block, one second after the previous one, so
// a test is deterministic.
package contracttest
