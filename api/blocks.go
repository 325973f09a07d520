package api

import (
	"encoding/json"

	"github.com/cairn-chain/cairn/types"
)

// Methods on blocks and transactions.
var (
	GetBlockByNumber = define[GetBlockByNumberParams, *Block]("svc_getBlockByNumber",
		"The block of a height; null above the head.", ErrPruned)
	GetBlockByHash = define[GetBlockByHashParams, *Block]("svc_getBlockByHash",
		"The block with a hash; null when there is none.", ErrPruned)
	GetTransactionByHash = define[TransactionParams, *Transaction]("svc_getTransactionByHash",
		"A pending or included transaction; null when it is neither.")
	GetTransactionReceipt = define[TransactionParams, *Receipt]("svc_getTransactionReceipt",
		"The receipt of an included transaction; null while it is pending or unknown.")
	GetTransactionStatus = define[TransactionParams, TransactionStatus]("svc_getTransactionStatus",
		"Where a transaction is: pending, success, failed or unknown.")
	GetTransactionsByAddress = define[GetTransactionsByAddressParams, []Transaction]("svc_getTransactionsByAddress",
		"Included transactions in which an account is sender, recipient or a called contract, newest first.",
		ErrWrongNetwork, ErrOutOfRange, ErrBadCursor)
	GetTransactionByNonce = define[TransactionByNonceParams, *Transaction]("svc_getTransactionByNonce",
		"The included transaction in which an account used a nonce; null where none that this node keeps did.",
		ErrWrongNetwork, ErrOutOfRange)
	ListRecentTransactions = define[ListRecentTransactionsParams, []Transaction]("svc_listRecentTransactions",
		"The newest included transactions of all accounts, newest first.", ErrOutOfRange)
	GetBlocks = define[GetBlocksParams, BlockItems]("svc_getBlocks",
		"The blocks of a range, ascending: at most 256 or 16 MiB, but at least one when there is one. As bytes at GET /blocks/FROM-TO.", ErrPruned)
)

// Bounds of [GetTransactionsByAddress], [ListRecentTransactions] and [GetBlocks].
const (
	DefaultTransactionsPage   = 100
	MaxTransactionsPage       = 1000
	DefaultRecentTransactions = 50
	MaxRecentTransactions     = 1000
	MaxPageBytes              = 8 << 20
	MaxNonceSearch            = 10_000 // of an account's newest transactions
	MaxBlocks                 = 256
	MaxBlocksBytes            = 16 << 20
)

// BlocksPath begins the path under which a node serves blocks as bytes: BlocksPath + FROM-TO, both heights in decimal, is
// bincode(Vec<Vec<u8>>), the encodings of as many blocks of the range as svc_getBlocks gives of it, [MaxBlocksBytes] being
// those of the blocks. The parameter follower is [BlockRange]'s.
const BlocksPath = "/blocks/"

// GetBlockByNumberParams are the parameters of [GetBlockByNumber].
type GetBlockByNumberParams struct {
	Block BlockRef `json:"block" doc:"the block's height, latest or earliest"`
	Full  bool     `json:"full" jsonrpc:"optional" doc:"whether to include transaction objects; hashes by default"`
}

// GetBlockByHashParams are the parameters of [GetBlockByHash].
type GetBlockByHashParams struct {
	Hash types.BlockHash `json:"hash" doc:"the block's hash"`
	Full bool            `json:"full" jsonrpc:"optional" doc:"whether to include transaction objects; hashes by default"`
}

// TransactionParams are the parameters of the methods on one transaction.
type TransactionParams struct {
	Hash types.TxID `json:"hash" doc:"the transaction's hash"`
}

// GetTransactionsByAddressParams are the parameters of [GetTransactionsByAddress].
type GetTransactionsByAddressParams struct {
	Account string          `json:"account" doc:"a taproot address, or a public key in hex"`
	Page    TransactionPage `json:"page" jsonrpc:"optional" doc:"which part of the list"`
}

// TransactionPage says which part of a list is asked.
type TransactionPage struct {
	Limit  *uint64 `json:"limit,omitempty" doc:"at most so many, 1 to 1,000; 100 by default"`
	Before string  `json:"before,omitempty" doc:"the cursor of the last item seen"`
}

// TransactionByNonceParams are the parameters of [GetTransactionByNonce].
type TransactionByNonceParams struct {
	Account string   `json:"account" doc:"a taproot address, or a public key in hex"`
	Nonce   Quantity `json:"nonce" doc:"the nonce; the search ends with an error after the 10,000 newest transactions of the account"`
}

// ListRecentTransactionsParams are the parameters of [ListRecentTransactions].
type ListRecentTransactionsParams struct {
	Limit *uint64 `json:"limit" jsonrpc:"optional" doc:"at most so many, 1 to 1,000; 50 by default"`
}

// GetBlocksParams are the parameters of [GetBlocks].
type GetBlocksParams struct {
	Range BlockRange `json:"range" doc:"which blocks"`
}

// BlockRange is a range of heights, both ends included.
type BlockRange struct {
	From                types.Height `json:"from_height" doc:"the first height"`
	To                  types.Height `json:"to_height" doc:"the last height"`
	IncludeTransactions bool         `json:"include_transactions,omitempty" doc:"whether raw holds the transactions; false by default"`
	HeadersOnly         bool         `json:"headers_only,omitempty" doc:"whether block is without its transactions' hashes: an empty array then; txCount counts them all the same; false by default"`
	RawOnly             bool         `json:"raw_only,omitempty" doc:"whether to leave out block, which raw says too: null then; false by default"`
	Follower            string       `json:"follower,omitempty" doc:"what a node that follows this one calls itself, at most 64 bytes; it is counted in peer_count"`
}

// MaxFollowerBytes bounds what a follower calls itself.
const MaxFollowerBytes = 64

// Block is the result of [GetBlockByNumber] and [GetBlockByHash].
type Block struct {
	Height           types.Height      `json:"height" doc:"the block's height"`
	Hash             types.BlockHash   `json:"hash" doc:"the block's hash"`
	Timestamp        uint64            `json:"timestamp" doc:"Unix seconds"`
	TxCount          uint64            `json:"txCount" doc:"the number of transactions"`
	StateRoot        types.StateRoot   `json:"stateRoot" doc:"the state's root after the block"`
	Transactions     BlockTransactions `json:"transactions" doc:"the transactions' hashes, or the transactions"`
	ParentHash       types.BlockHash   `json:"parentHash" doc:"the hash of the block before; of block 0 a digest of genesis"`
	TransactionsRoot types.MerkleRoot  `json:"transactionsRoot" doc:"the RFC 6962 root over the transactions' hashes"`
	ReceiptsRoot     types.MerkleRoot  `json:"receiptsRoot" doc:"the RFC 6962 root over the encoded receipts"`
	GasUsed          Quantity          `json:"gasUsed" doc:"the gas that the transactions used"`
	GasLimit         Quantity          `json:"gasLimit" doc:"the gas that they could use"`
	BaseFee          Quantity          `json:"baseFee" doc:"the price per gas that was burned"`
	Producer         types.PublicKey   `json:"producer" doc:"the key that signed the block"`
	Signature        Data              `json:"signature" doc:"its BIP-340 signature over the hash"`
	Size             uint64            `json:"size" doc:"the length of bincode(Block) in bytes"`
}

// BlockTransactions is a block's transactions: their hashes, or, where Full is not nil, the transactions themselves.
type BlockTransactions struct {
	Hashes []types.TxID
	Full   []Transaction
}

// MarshalJSON renders an array of hashes or of objects.
func (t BlockTransactions) MarshalJSON() ([]byte, error) {
	if t.Full != nil {
		return json.Marshal(t.Full)
	}
	// By hand: a block has tens of thousands.
	text := make([]byte, 0, len("[]")+len(t.Hashes)*(len(`"0x",`)+2*len(types.TxID{})))
	text = append(text, '[')
	for i, hash := range t.Hashes {
		if i > 0 {
			text = append(text, ',')
		}
		var err error
		if text, err = hash.AppendText(append(text, '"')); err != nil {
			return nil, err
		}
		text = append(text, '"')
	}
	return append(text, ']'), nil
}

// UnmarshalJSON decodes what [BlockTransactions.MarshalJSON] gives; an empty array is no hashes.
func (t *BlockTransactions) UnmarshalJSON(text []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return err
	}
	*t = BlockTransactions{}
	if len(items) > 0 && items[0][0] == '{' {
		return json.Unmarshal(text, &t.Full)
	}
	return json.Unmarshal(text, &t.Hashes)
}

// Transaction is the result of [GetTransactionByHash].
type Transaction struct {
	Hash                 types.TxID        `json:"hash" doc:"the transaction's hash"`
	From                 types.Account     `json:"from" doc:"the sender"`
	To                   types.Account     `json:"to" doc:"the recipient, the called or the created contract; of a configure the sender"`
	Value                Quantity          `json:"value" doc:"the native amount moved"`
	GasLimit             Quantity          `json:"gasLimit" doc:"the most gas that it may use"`
	GasPrice             Quantity          `json:"gasPrice" doc:"the price paid per gas; the max fee while pending"`
	Nonce                Quantity          `json:"nonce" doc:"the sender's count of transactions before it"`
	BlockHeight          *types.Height     `json:"blockHeight" doc:"the height of its block; null while pending"`
	BlockHash            *types.BlockHash  `json:"blockHash" doc:"the hash of its block; null while pending"`
	Status               Status            `json:"status" doc:"pending, success or failed"`
	Type                 string            `json:"type" doc:"transfer, deploy, call or configure"`
	MaxFeePerGas         Quantity          `json:"maxFeePerGas" doc:"the most it pays per gas"`
	MaxPriorityFeePerGas Quantity          `json:"maxPriorityFeePerGas" doc:"the most of that which goes to the fee recipient"`
	Input                *Input            `json:"input" doc:"what the payload carries besides value; null of a transfer"`
	TransactionIndex     *uint32           `json:"transactionIndex" doc:"its place in the block; null while pending"`
	Signature            Data              `json:"signature" doc:"the sender's BIP-340 signature"`
	Error                *string           `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	Contract             *types.ContractID `json:"contract,omitempty" doc:"of a deploy: the contract that it creates"`
	Cursor               string            `json:"cursor,omitempty" doc:"in a list: where the next page begins"`
}

// Input is what a transaction's payload carries besides its value.
type Input struct {
	Function   *string           `json:"function,omitempty" doc:"of a call: the function's name"`
	Args       *Data             `json:"args,omitempty" doc:"of a call or deploy: the arguments"`
	Name       *string           `json:"name,omitempty" doc:"of a deploy: the contract's name"`
	CodeHash   *types.CodeHash   `json:"codeHash,omitempty" doc:"of a deploy: the SHA-256 of the code"`
	CodeSize   *uint64           `json:"codeSize,omitempty" doc:"of a deploy: the code's length in bytes"`
	Parameters *types.Parameters `json:"parameters,omitempty" doc:"of a configure: the new parameters"`
}

// Status is where a transaction is.
type Status string

// The statuses of a transaction.
const (
	StatusPending Status = "pending" // in the pool
	StatusSuccess Status = "success" // included, and did what it was to do
	StatusFailed  Status = "failed"  // included, and failed
	StatusUnknown Status = "unknown" // neither in the pool nor included, as far as this node knows
)

// Receipt is the result of [GetTransactionReceipt].
type Receipt struct {
	TransactionHash   types.TxID        `json:"transactionHash" doc:"the transaction's hash"`
	BlockHeight       types.Height      `json:"blockHeight" doc:"the height of its block"`
	BlockHash         types.BlockHash   `json:"blockHash" doc:"the hash of its block"`
	Status            Quantity          `json:"status" doc:"0x1 success, 0x0 failed"`
	GasUsed           Quantity          `json:"gasUsed" doc:"the gas that it used"`
	ContractAddress   *types.ContractID `json:"contractAddress" doc:"of a deploy that succeeded: the contract; null otherwise"`
	Logs              []Log             `json:"logs" doc:"the events that it emitted"`
	TransactionIndex  uint32            `json:"transactionIndex" doc:"its place in the block"`
	EffectiveGasPrice Quantity          `json:"effectiveGasPrice" doc:"the price paid per gas"`
	ReturnData        Data              `json:"returnData" doc:"what it returned, or the revert data of a failed one"`
	Error             *string           `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	From              types.Account     `json:"from" doc:"the sender"`
	To                types.Account     `json:"to" doc:"as of the transaction"`
}

// Log is an event in a [Receipt].
type Log struct {
	Address     types.ContractID `json:"address" doc:"the contract that emitted it; zero for a payment made by code"`
	Topics      []Data           `json:"topics" doc:"SHA-256 of the event's name, then its own topics"`
	Data        Data             `json:"data" doc:"the event's data"`
	EventName   string           `json:"eventName" doc:"the event's name"`
	LogIndex    uint32           `json:"logIndex" doc:"its place among the block's events"`
	BlockHeight types.Height     `json:"blockHeight" doc:"the height of the block"`
}

// TransactionStatus is the result of [GetTransactionStatus].
type TransactionStatus struct {
	Status        Status        `json:"status" doc:"pending, success, failed or unknown"`
	BlockHeight   *types.Height `json:"blockHeight" doc:"the height of its block; null unless included"`
	Confirmations uint64        `json:"confirmations" doc:"blocks from its own to the latest, both counted; 0 unless included"`
	Error         *string       `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
}

// BlockItems is the result of [GetBlocks].
type BlockItems []BlockItem

// AppendJSON implements [jsonrpc.Appender]: encoding/json takes several times as long for raw.
func (items BlockItems) AppendJSON(dst []byte) []byte {
	if items == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"block":`...)
		dst = item.Block.appendJSON(dst)
		dst = append(dst, `,"raw":`...)
		dst = append(item.Raw.AppendJSON(dst), '}')
	}
	return append(dst, ']')
}

// appendJSON appends what encoding/json gives.
func (b *Block) appendJSON(dst []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic("api: a block does not encode: " + err.Error()) // it has nothing that could fail
	}
	return append(dst, text...)
}

// BlockItem is an item of the result of [GetBlocks].
type BlockItem struct {
	Block *Block `json:"block" doc:"the block, its transactions as hashes; null with raw_only"`
	Raw   Data   `json:"raw" doc:"bincode(Block), or bincode(SignedHeader) without include_transactions"`
}
