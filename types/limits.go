package types

// Size limits of consensus, in bytes unless stated otherwise (docs/protocol.md, "Size limits").
const (
	MaxTransactionBytes   = 512 << 10 // an encoded signed transaction
	MaxCodeBytes          = 256 << 10
	MaxArgsBytes          = 64 << 10 // args, init_args, return and revert data
	MaxNameBytes          = 64       // a contract's name
	MaxFunctionBytes      = 64
	MaxStorageKeyBytes    = 256
	MaxStorageValueBytes  = 16 << 10
	MaxLogNameBytes       = 64
	MaxLogTopics          = 3
	MaxLogDataBytes       = 16 << 10
	MaxTransactionLogs    = 1024      // number of logs
	MaxTransactionLogData = 256 << 10 // total of names, topics and data of a transaction's logs
	MaxBlockBytes         = 8 << 20   // total of the encoded transactions of a block
)

// Bounds on allocations while decoding input that may be invalid. They follow from the limits above.
const (
	minTransactionBytes = 1 + 8 + 32 + 8 + 8 + 8 + 8 + 4 + 32 + 64 // an empty deploy, the shortest payload
	maxBlockTxs         = MaxBlockBytes / minTransactionBytes
	minLogBytes         = 32 + 8 + 8 + 8
)
