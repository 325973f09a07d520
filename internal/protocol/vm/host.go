package vm

import (
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

var schedule = &params.Prices

// ValueType is the type of a WebAssembly value in its binary encoding.
type ValueType = byte

// Value types. Contracts have no floats.
const (
	I32 ValueType = 0x7F
	I64 ValueType = 0x7E
	f32 ValueType = 0x7D
	f64 ValueType = 0x7C
)

// Function is a host function: an index into [Functions].
type Function uint8

// Host functions.
const (
	ArgsLen Function = iota
	ArgsRead
	ReturnData
	Revert
	StorageRead
	StorageWrite
	StorageDelete
	Caller
	Sender
	Self
	Value
	BlockHeight
	BlockTime
	ChainID
	GasLeft
	IsView
	Balance
	Transfer
	CodeHash
	Call
	CallView
	ResultLen
	ResultRead
	Emit
	SHA256
	Keccak256
	Blake3
	SchnorrVerify
	ECDSARecover
	P256Verify
	AccountVerify
	Create
	ReplaceCode
	Debug
)

// HostFunction is one row of the host table.
type HostFunction struct {
	Name   string
	Params []ValueType
	Result ValueType // 0 for none
	Price  types.Gas // fixed part of the price; prices per byte or by the result are added
}

// Functions is the host table: the functions of module [HostModule], by [Function].
var Functions = [...]HostFunction{
	ArgsLen:       {"args_len", nil, I32, schedule.HostFunction},
	ArgsRead:      {"args_read", []ValueType{I32}, 0, schedule.HostFunction},
	ReturnData:    {"return_data", []ValueType{I32, I32}, 0, schedule.HostFunction},
	Revert:        {"revert", []ValueType{I32, I32}, 0, schedule.HostFunction},
	StorageRead:   {"storage_read", []ValueType{I32, I32, I32, I32}, I32, schedule.StorageRead},
	StorageWrite:  {"storage_write", []ValueType{I32, I32, I32, I32}, 0, schedule.StorageWrite},
	StorageDelete: {"storage_delete", []ValueType{I32, I32}, 0, schedule.StorageWrite},
	Caller:        {"caller", []ValueType{I32}, 0, schedule.HostFunction},
	Sender:        {"sender", []ValueType{I32}, 0, schedule.HostFunction},
	Self:          {"self", []ValueType{I32}, 0, schedule.HostFunction},
	Value:         {"value", nil, I64, schedule.HostFunction},
	BlockHeight:   {"block_height", nil, I64, schedule.HostFunction},
	BlockTime:     {"block_time", nil, I64, schedule.HostFunction},
	ChainID:       {"chain_id", nil, I64, schedule.HostFunction},
	GasLeft:       {"gas_left", nil, I64, schedule.HostFunction},
	IsView:        {"is_view", nil, I32, schedule.HostFunction},
	Balance:       {"balance", []ValueType{I32}, I64, schedule.AccountLookup},
	Transfer:      {"transfer", []ValueType{I32, I64}, I32, schedule.NativeTransfer},
	CodeHash:      {"code_hash", []ValueType{I32, I32}, I32, schedule.AccountLookup},
	Call: {
		"call", []ValueType{I32, I32, I32, I32, I32, I64, I64}, I32, schedule.NestedTimes * schedule.ContractCall,
	},
	CallView: {
		"call_view", []ValueType{I32, I32, I32, I32, I32, I64}, I32, schedule.NestedTimes * schedule.ContractCall,
	},
	ResultLen:     {"result_len", nil, I32, schedule.HostFunction},
	ResultRead:    {"result_read", []ValueType{I32}, 0, schedule.HostFunction},
	Emit:          {"emit", []ValueType{I32, I32, I32, I32, I32, I32}, 0, schedule.Emit},
	SHA256:        {"sha256", []ValueType{I32, I32, I32}, 0, schedule.SHA256},
	Keccak256:     {"keccak256", []ValueType{I32, I32, I32}, 0, schedule.Keccak256},
	Blake3:        {"blake3", []ValueType{I32, I32, I32}, 0, schedule.Blake3},
	SchnorrVerify: {"schnorr_verify", []ValueType{I32, I32, I32, I32}, I32, schedule.SchnorrVerify},
	ECDSARecover:  {"ecdsa_recover", []ValueType{I32, I32, I32}, I32, schedule.ECDSARecover},
	P256Verify:    {"p256_verify", []ValueType{I32, I32, I32}, I32, schedule.P256Verify},
	AccountVerify: {"account_verify", []ValueType{I32, I32, I32, I32, I32}, I32, schedule.AccountVerify},
	Create: {
		"create", []ValueType{I32, I32, I32, I32, I32, I32, I64, I64, I32}, I32,
		schedule.NestedTimes*schedule.ContractCall + schedule.NewContract,
	},
	ReplaceCode: {"replace_code", []ValueType{I32}, I32, schedule.ReplaceCode},
	Debug:       {"debug", []ValueType{I32, I32}, 0, schedule.HostFunction},
}
