package params

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"

	"github.com/cairn-chain/cairn/types"
)

// Schedule is a gas schedule: the prices of all operations in gas. A field whose name ends in Byte is a price per byte;
// one in Page is a price per 64 KiB page of memory.
type Schedule struct {
	// Taken before execution.
	IntrinsicTransfer       types.Gas
	IntrinsicCall           types.Gas
	IntrinsicCallByte       types.Gas // per byte of function and args
	IntrinsicDeploy         types.Gas
	IntrinsicDeployByte     types.Gas // per byte of name and init_args
	IntrinsicDeployCodeByte types.Gas
	IntrinsicConfigure      types.Gas
	IntrinsicInstantiate    types.Gas
	InstantiateByte         types.Gas // per byte of name and init_args; also by host function create
	IntrinsicBatch          types.Gas
	BatchTransfer           types.Gas // per step
	BatchCall               types.Gas // per step
	BatchCallByte           types.Gas // per byte of a step's function and args
	IntrinsicSetPolicy      types.Gas
	IntrinsicSetPolicyByte  types.Gas // per byte of the encoded payload
	WitnessKey              types.Gas // also for a proof with a key
	WitnessText             types.Gas // also for a proof with a text
	WitnessP256             types.Gas // for a proof with a P-256 key or a passkey
	WitnessPolicy           types.Gas // in addition to its proofs
	WitnessPolicyByte       types.Gas // per byte of the encoded witness
	Payer                   types.Gas // in addition to its witness

	// New entries.
	NewAccount  types.Gas // a credit of more than 0 to an account without an entry; a sender without an entry
	NewContract types.Gas // instantiate, create

	// Deploy and call.
	Deploy              types.Gas
	DeployFunction      types.Gas // per defined function
	DeployBodyByte      types.Gas // per byte of the function bodies
	DeployBranches      types.Gas // × branches² × (variables + 4), summed over the functions
	DeployCallGlobal    types.Gas // per pair of a call in a body and a mutable global of the module
	ContractCall        types.Gas
	NestedTimes         types.Gas // factor for ContractCall and InstanceItem of a nested call
	ContractCallArgByte types.Gas
	InstanceItem        types.Gas // per global, element index and data segment of a new instance
	MemoryPage          types.Gas // initial memory
	MemoryGrowPage      types.Gas // memory.grow, and the initial memory of a nested call

	// Instructions.
	Instruction  types.Gas // all not listed below
	Branch       types.Gas // if, br, br_if
	Loop         types.Gas // on entry
	Load         types.Gas
	Store        types.Gas // stores of 2, 4 or 8 bytes
	Store8       types.Gas // stores of 1 byte
	Unary        types.Gas // eqz, clz, ctz, popcnt
	DivRem32     types.Gas
	DivRem64     types.Gas
	Call         types.Gas // also memory.grow, in addition to its pages
	CallIndirect types.Gas
	BrTable      types.Gas
	Structure    types.Gas // block, else, end
	Merge        types.Gas // the point at which a construct's branches meet, paid on every path through it
	MergeValue   types.Gas // per value of the merge's width

	// Surcharge on each jump in a module whose weight exceeds WeightNear: 1 gas per WeightFar above it, at most Far
	// (docs/protocol.md, "Weight").
	WeightFunction types.Gas // weight of each defined function, in addition to the prices of its metered blocks
	WeightNear     types.Gas
	WeightFar      types.Gas
	Far            types.Gas

	// Host functions.
	HostFunction          types.Gas // all not listed below
	CopyBytesPerGas       types.Gas // bytes copied between guest and host for one gas
	StorageRead           types.Gas
	StorageReadKeyByte    types.Gas
	StorageReadValueByte  types.Gas // per byte of the stored value
	StorageWrite          types.Gas
	StorageWriteKeyByte   types.Gas
	StorageWriteValueByte types.Gas
	StorageNewKey         types.Gas
	StorageOldByte        types.Gas // per byte of the value that a write replaces or deletes
	StorageLongValue      types.Gas // surcharge on a value over LongValue bytes that is read, replaced or deleted
	StorageReserve        types.Gas // gas that must be left before a look-up: price and copy of the longest value
	NativeTransfer        types.Gas
	CallValue             types.Gas // surcharge on a nested call that moves value
	AccountLookup         types.Gas // balance, code_hash
	OutputByte            types.Gas // per byte of return_data and revert
	Emit                  types.Gas
	EmitByte              types.Gas // per byte of name, topics and data
	SHA256                types.Gas
	SHA256Byte            types.Gas
	Keccak256             types.Gas
	Keccak256Byte         types.Gas
	Blake3                types.Gas
	Blake3Byte            types.Gas
	SchnorrVerify         types.Gas
	SchnorrVerifyByte     types.Gas // per byte of the message
	ECDSARecover          types.Gas
	P256Verify            types.Gas

	// account_verify.
	AccountVerify            types.Gas
	AccountVerifyWitnessByte types.Gas
	AccountVerifyMessageByte types.Gas
	AccountVerifyKey         types.Gas // per proof with a key
	AccountVerifyText        types.Gas // per proof with a text
	AccountVerifyP256        types.Gas // per proof with a P-256 key or a passkey

	ReplaceCode types.Gas
}

// Prices is the schedule of version 2 of the protocol.
var Prices = Schedule{
	IntrinsicTransfer:       5_000,
	IntrinsicCall:           11_000,
	IntrinsicCallByte:       16,
	IntrinsicDeploy:         61_000,
	IntrinsicDeployByte:     16,
	IntrinsicDeployCodeByte: 1_000,
	IntrinsicConfigure:      61_000,
	IntrinsicInstantiate:    11_000,
	InstantiateByte:         16,
	IntrinsicBatch:          11_000,
	BatchTransfer:           5_000,
	BatchCall:               2_000,
	BatchCallByte:           16,
	IntrinsicSetPolicy:      31_000,
	IntrinsicSetPolicyByte:  16,
	WitnessKey:              5_000,
	WitnessText:             11_000,
	WitnessP256:             60_000,
	WitnessPolicy:           2_000,
	WitnessPolicyByte:       16,
	Payer:                   15_000,
	NewAccount:              100_000,
	NewContract:             130_000,
	Deploy:                  800_000,
	DeployFunction:          45_000,
	DeployBodyByte:          2_000,
	DeployBranches:          10,
	DeployCallGlobal:        600,
	ContractCall:            11_000,
	NestedTimes:             2,
	ContractCallArgByte:     1,
	InstanceItem:            200,
	MemoryPage:              3_000,
	MemoryGrowPage:          12_000,
	Instruction:             1,
	Branch:                  3,
	Loop:                    5,
	Load:                    13,
	Store:                   14,
	Store8:                  7,
	Unary:                   2,
	DivRem32:                12,
	DivRem64:                20,
	Call:                    12,
	CallIndirect:            65,
	BrTable:                 15,
	Structure:               0,
	Merge:                   2,
	MergeValue:              5,
	WeightFunction:          40,
	WeightNear:              36_864,
	WeightFar:               512,
	Far:                     64,
	HostFunction:            130,
	CopyBytesPerGas:         4,
	StorageRead:             4_000,
	StorageReadKeyByte:      16,
	StorageReadValueByte:    16,
	StorageWrite:            12_000,
	StorageWriteKeyByte:     12,
	StorageWriteValueByte:   64,
	StorageNewKey:           100_000,
	StorageOldByte:          16,
	StorageLongValue:        25_000,
	StorageReserve:          291_240,
	NativeTransfer:          9_000,
	CallValue:               9_000,
	AccountLookup:           5_000,
	OutputByte:              12,
	Emit:                    2_000,
	EmitByte:                16,
	SHA256:                  500,
	SHA256Byte:              4,
	Keccak256:               1_100,
	Keccak256Byte:           6,
	Blake3:                  400,
	Blake3Byte:              2,
	SchnorrVerify:           270_000,
	SchnorrVerifyByte:       6,
	ECDSARecover:            350_000,
	P256Verify:              300_000,

	AccountVerify:            5_000,
	AccountVerifyWitnessByte: 16,
	AccountVerifyMessageByte: 6,
	AccountVerifyKey:         270_000,
	AccountVerifyText:        280_000,
	AccountVerifyP256:        300_000,

	ReplaceCode: 20_000,
}

// Text returns the schedule's canonical text: a line "Name price" for each field, in order.
func (s Schedule) Text() string {
	var text strings.Builder
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		fmt.Fprintf(&text, "%s %d\n", v.Type().Field(i).Name, v.Field(i).Uint())
	}
	return text.String()
}

// Digest returns the SHA-256 of the schedule's text. It is stored in the data directory, so that a binary with other
// prices refuses to continue the chain.
func (s Schedule) Digest() types.Digest { return sha256.Sum256([]byte(s.Text())) }
