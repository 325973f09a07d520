package state

import "github.com/cairn-chain/cairn/types"

// Domain is the first byte of a state key.
type Domain byte

// Domains of state keys. The comments show the rest of a key after the domain byte.
const (
	DomainChain    Domain = 0 // 00: supply, 01: parameters
	DomainAccount  Domain = 1 // account[32]
	DomainContract Domain = 2 // contract[32]
	DomainStorage  Domain = 3 // contract[32] ‖ key[0..256]
)

// SupplyKey returns the key of [Supply].
func SupplyKey() []byte { return []byte{byte(DomainChain), 0} }

// ParametersKey returns the key of types.Parameters.
func ParametersKey() []byte { return []byte{byte(DomainChain), 1} }

// AccountKey returns the key of an account's [Account].
func AccountKey(a types.Account) []byte {
	k := make([]byte, 1+len(a)) // constant size and inlined: stays on the stack if the caller does not retain it
	k[0] = byte(DomainAccount)
	copy(k[1:], a[:])
	return k
}

// ContractKey returns the key of a contract's [Contract].
func ContractKey(id types.ContractID) []byte {
	k := make([]byte, 1+len(id))
	k[0] = byte(DomainContract)
	copy(k[1:], id[:])
	return k
}

// StorageKey returns the key of a value in a contract's storage.
func StorageKey(id types.ContractID, name []byte) []byte {
	k := make([]byte, 0, 1+len(id)+len(name))
	return append(append(append(k, byte(DomainStorage)), id[:]...), name...)
}
