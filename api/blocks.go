package api

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Methods on blocks.
var (
	GetBlockByNumber = define[GetBlockByNumberParams, *Block]("svc_getBlockByNumber",
		"The block of a height; null above the head.", ErrPruned)
	GetBlockByHash = define[GetBlockByHashParams, *Block]("svc_getBlockByHash",
		"The block with a hash; null if there is none, pruned if this node lacks blocks and cannot know.", ErrPruned)
	GetBlocks = define[GetBlocksParams, BlockItems]("svc_getBlocks",
		"The blocks of a range, ascending: at most 256 or 16 MiB, but at least one if there is one. In binary, "+
			"at half the size: GET /blocks/FROM-TO.", ErrPruned, ErrOutOfRange)
)

// Bounds of [GetBlocks].
const (
	MaxBlocks      = 256
	MaxBlocksBytes = 16 << 20
)

// MaxFullBlockBytes bounds a block that [GetBlockByNumber] and [GetBlockByHash] give with its transactions:
// 1,024 bytes for each, and 3 for each byte of the block. It is about 10,000 transfers. [GetBlockTransactions] has more.
const MaxFullBlockBytes = 16 << 20

// GetBlockByNumberParams are the parameters of [GetBlockByNumber].
type GetBlockByNumberParams struct {
	Block       BlockRef `json:"block" doc:"the block's height, latest or earliest"`
	Full        bool     `json:"full" jsonrpc:"optional" doc:"whether to include transaction objects; hashes by default. Of a block with more than about 10,000 it is refused (response_size): svc_getBlockTransactions has them in pages"`
	HeadersOnly bool     `json:"headers_only" jsonrpc:"optional" doc:"whether to leave out the transactions: an empty array then; false by default"`
}

// GetBlockByHashParams are the parameters of [GetBlockByHash].
type GetBlockByHashParams struct {
	Hash        types.BlockHash `json:"hash" doc:"the block's hash"`
	Full        bool            `json:"full" jsonrpc:"optional" doc:"whether to include transaction objects; hashes by default. Of a block with more than about 10,000 it is refused (response_size): svc_getBlockTransactions has them in pages"`
	HeadersOnly bool            `json:"headers_only" jsonrpc:"optional" doc:"whether to leave out the transactions: an empty array then; false by default"`
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
	HeadersOnly         bool         `json:"headers_only,omitempty" doc:"whether to leave out transactions' hashes (an empty array); txCount still counts them; false by default"`
	RawOnly             bool         `json:"raw_only,omitempty" doc:"whether to leave out block, which raw says too: null then; false by default"`
	Follower            string       `json:"follower,omitempty" doc:"the name of a node that follows this one, at most 64 bytes, for peer_count"`
}

// MaxFollowerBytes bounds the length of a follower's name.
const MaxFollowerBytes = 64

// BlocksPath begins the path at which a node serves blocks as bytes: BlocksPath + FROM-TO, both heights in decimal. The
// response is bincode(Vec<Vec<u8>>), the encodings of as many blocks of the range as svc_getBlocks returns;
// [MaxBlocksBytes] then bounds the bytes of the blocks. The parameter follower is the one of [BlockRange].
const BlocksPath = "/blocks/"

// SourcesPath begins the path at which a node serves archives of contract sources that were published to it:
// SourcesPath + the archive's SHA-256, in hex with 0x.
const SourcesPath = "/sources/"

// Block is the result of [GetBlockByNumber] and [GetBlockByHash].
type Block struct {
	Height           types.Height      `json:"height" doc:"the block's height"`
	Hash             types.BlockHash   `json:"hash" doc:"the block's hash"`
	Timestamp        uint64            `json:"timestamp" doc:"the block's time, in seconds of Unix time, rounded down"`
	TxCount          uint64            `json:"txCount" doc:"the number of transactions"`
	StateRoot        types.StateRoot   `json:"stateRoot" doc:"the state's root after the block"`
	Transactions     BlockTransactions `json:"transactions" doc:"the transactions' hashes, or the transactions"`
	ParentHash       types.BlockHash   `json:"parentHash" doc:"the hash of the block before; of block 0 a digest of genesis"`
	TransactionsRoot types.MerkleRoot  `json:"transactionsRoot" doc:"the root over the leaves of the transactions"`
	ReceiptsRoot     types.MerkleRoot  `json:"receiptsRoot" doc:"the root over the leaves of the receipts"`
	GasUsed          Quantity          `json:"gasUsed" doc:"the gas that the transactions used"`
	GasLimit         Quantity          `json:"gasLimit" doc:"the gas that they could use"`
	BaseFee          Quantity          `json:"baseFee" doc:"the price per gas that was burned"`
	Producer         types.PublicKey   `json:"producer" doc:"the key whose seal the block carries"`
	Seal             Seal              `json:"seal" doc:"the producer's signature over the block"`
	Version          uint32            `json:"version" doc:"the version of the protocol by which it was made"`
	TimestampMs      uint64            `json:"timestampMs" doc:"the block's time, in milliseconds of Unix time"`
	Size             uint64            `json:"size" doc:"the length of bincode(Block) in bytes"`
}

// Seal binds a block's producer to the block.
type Seal struct {
	Type      SealType `json:"type" doc:"signature"`
	Signature Data     `json:"signature" doc:"the producer's BIP-340 signature over the block's hash; 64 zero bytes of block 0"`
}

// SealType is the kind of a seal.
type SealType string

// SealSignature is the only kind of a seal.
const SealSignature SealType = "signature"

// BlockTransactions holds a block's transactions: the transactions themselves if Full or, on a server, Each is not nil,
// otherwise their hashes.
type BlockTransactions struct {
	Hashes []types.TxID
	Full   []Transaction
	Each   iter.Seq2[*Transaction, error] // reads the transactions one after the other; an error ends it
}

// MarshalJSON encodes an array of hashes or of objects.
func (t BlockTransactions) MarshalJSON() ([]byte, error) {
	if t.Each != nil {
		t.Full = []Transaction{}
		for tx, err := range t.Each {
			if err != nil {
				return nil, err
			}
			t.Full = append(t.Full, *tx)
		}
	}
	if t.Full != nil {
		return json.Marshal(t.Full)
	}
	text := make([]byte, 0, len("[]")+len(t.Hashes)*(len(`"0x",`)+2*len(types.TxID{})))
	return append(appendHashes(append(text, '['), t.Hashes), ']'), nil
}

// UnmarshalJSON decodes the encoding of [BlockTransactions.MarshalJSON]. An empty array decodes as no hashes.
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

// BlockItems is the result of [GetBlocks].
type BlockItems []BlockItem

// WriteJSON implements [jsonrpc.Streamer].
func (b *Block) WriteJSON(write func([]byte) error) error {
	if b == nil || b.Transactions.Full != nil {
		return write(b.appendJSON(nil))
	}
	const empty = `"transactions":[`
	shell := *b
	shell.Transactions = BlockTransactions{}
	text := shell.appendJSON(nil)
	at := bytes.Index(text, []byte(empty)) + len(empty)
	if err := write(text[:at]); err != nil {
		return err
	}
	if err := b.Transactions.writeItems(write); err != nil {
		return err
	}
	return write(text[at:])
}

// hashesAtOnce is the number of hashes in a piece.
const hashesAtOnce = 512

// writeItems writes the items of the array, separated by commas: a run of hashes, or a transaction, at a time.
func (t *BlockTransactions) writeItems(write func([]byte) error) error {
	if t.Each == nil {
		var text []byte
		for run := range slices.Chunk(t.Hashes, hashesAtOnce) {
			text = appendHashes(text, run)
			if err := write(text); err != nil {
				return err
			}
			text = append(text[:0], ',')
		}
		return nil
	}
	var item bytes.Buffer
	for tx, err := range t.Each {
		if err != nil {
			return err
		}
		if err := encode(&item, tx); err != nil {
			return err
		}
		if err := write(item.Bytes()); err != nil {
			return err
		}
		item.Reset()
		item.WriteByte(',')
	}
	return nil
}

// appendHashes appends hashes as strings, separated by commas. It does not use encoding/json, as a block may have tens
// of thousands of hashes.
func appendHashes(dst []byte, hashes []types.TxID) []byte {
	for i, hash := range hashes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `"0x`...)
		dst = append(hex.AppendEncode(dst, hash[:]), '"')
	}
	return dst
}

// encode appends the encoding of encoding/json without HTML escapes.
func encode(to *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	to.Truncate(to.Len() - 1) // Encode ends with a newline
	return nil
}

// appendJSON appends the encoding of encoding/json.
func (b *Block) appendJSON(dst []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic("api: a block does not encode: " + err.Error()) // no member can fail to encode
	}
	return append(dst, text...)
}

// BlockItem is an item of the result of [GetBlocks].
type BlockItem struct {
	Block *Block `json:"block" doc:"the block, its transactions as hashes; null with raw_only"`
	Raw   Data   `json:"raw" doc:"bincode(Block), or bincode(SignedHeader) without include_transactions"`
	// Rest, on a server, reads what comes after Raw, piece by piece; an error ends it.
	Rest iter.Seq2[[]byte, error] `json:"-"`
}

// WriteJSON implements [jsonrpc.Streamer].
func (item *BlockItem) WriteJSON(write func([]byte) error) error {
	if err := write([]byte(`{"block":`)); err != nil {
		return err
	}
	if err := item.Block.WriteJSON(write); err != nil {
		return err
	}
	const end = `"}`
	text := append(item.Raw.AppendJSON([]byte(`,"raw":`)), '}')
	if item.Rest == nil {
		return write(text)
	}
	item.Block = nil // the client may take long to read the rest
	if err := write(text[:len(text)-len(end)]); err != nil {
		return err
	}
	for piece, err := range item.Rest {
		if err != nil {
			return err
		}
		for part := range slices.Chunk(piece, rawPieceBytes) {
			if text = hex.AppendEncode(text[:0], part); len(part) > 0 {
				if err := write(text); err != nil {
					return err
				}
			}
		}
	}
	return write([]byte(end))
}

// rawPieceBytes is how many raw bytes are written at once.
const rawPieceBytes = 32 << 10

// AppendJSON implements [jsonrpc.Appender]. It is several times as fast as encoding/json for raw JSON.
func (item *BlockItem) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"block":`...)
	dst = item.Block.appendJSON(dst)
	dst = append(dst, `,"raw":`...)
	return append(item.Raw.AppendJSON(dst), '}')
}
