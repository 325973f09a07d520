// Package contracttest runs contracts on a chain in memory, for Go tests of compiled contracts:
//
//	chain := contracttest.New(t)
//	alice, bob := chain.Account("alice"), chain.Account("bob")
//	token := chain.Deploy(alice, code, map[string]any{
//		"name": "Gold", "symbol": "GLD", "decimals": 2, "initialSupply": 1000,
//	})
//	token.Call(alice, "transfer", map[string]any{"to": bob, "amount": 5}).Must(t)
//
// What executes is the protocol itself, with the engine of a node: results, gas and failures are those of a real chain.
// There is no disk, no network and no clock. Each transaction is a block of its own, a second after the one before. So
// the same test always sees the same chain.
package contracttest
