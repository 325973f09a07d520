package types

// Size limits of consensus, in bytes unless stated otherwise (docs/protocol.md, "Size limits").
const (
	MaxTransactionBytes   = 512 << 10 // an encoded signed transaction
	MaxCodeBytes          = 256 << 10
	MaxArgsBytes          = 64 << 10 // args, init_args, return and revert data
	MaxNameBytes          = 64       // a contract's name
	MaxFunctionBytes      = 64
	MaxBatchSteps         = 256      // number of steps
	MaxWitnessBytes       = 16 << 10 // an encoded witness
	MaxSigners            = 16       // signers of a rule
	MaxProofs             = 16       // proofs of a witness
	MaxClientBytes        = 1 << 10  // end of a passkey's client data
	MaxTextBytes          = 4 << 10  // a text that a Bitcoin wallet signs
	MaxStorageKeyBytes    = 256
	MaxStorageValueBytes  = 16 << 10
	MaxLogNameBytes       = 64
	MaxLogTopics          = 3
	MaxLogDataBytes       = 16 << 10
	MaxTransactionLogs    = 1024      // number of logs
	MaxTransactionLogData = 256 << 10 // total of names, topics and data of a transaction's logs
	MaxBlockBytes         = 1 << 25   // maximum of block_bytes, the limit on the encoded transactions of a block
)

// MaxEncodedBlockBytes is the length of the longest encoded block: its header, seal, and [MaxBlockBytes] of transactions.
const MaxEncodedBlockBytes = SignedHeaderBytes + 8 + MaxBlockBytes

// MinTransactionBytes is the length of the shortest valid transaction: a plain transfer with a signature.
const MinTransactionBytes = 189

// MaxBlockTransactions is the maximum number of transactions in a valid block.
const MaxBlockTransactions = MaxBlockBytes / MinTransactionBytes

// MaxTime is the last timestamp: the last millisecond of the year 9999.
const MaxTime = 253_402_300_799_999

// MaxRecoveryDelay is the longest delay of a recovery, in milliseconds.
const MaxRecoveryDelay = 1 << 40

// Bounds on allocations while decoding input that may be invalid. They follow from the limits above.
const (
	leastWitnessBytes     = 4 + 8 + 1 + 8 + 1 + 8 // a policy without signers and proofs, the shortest witness
	leastTransactionBytes = 1 + 32 + 32 + 6*8 + 1 + 1 + 4 + 1 + leastWitnessBytes + 1
	maxBlockTxs           = MaxBlockBytes / leastTransactionBytes
	minStepBytes          = 32 + 8 + 4 + 1
	minSignerBytes        = 4 + 32
	minProofBytes         = 1 + 4 + 64
	minLogBytes           = 32 + 8 + 8 + 8
)
