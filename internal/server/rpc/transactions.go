package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/types"
)

// transactionReader reads transactions of blocks.
type transactionReader struct{ chain transactionStore }

type transactionHandlers struct {
	*transactionReader
	pool    Pool
	network types.Network
}

func (h *transactionHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetTransactionByHash, h.getTransactionByHash),
		bind(e, api.GetTransactionReceipt, h.getTransactionReceipt),
		bind(e, api.GetTransactionStatus, h.getTransactionStatus),
		bind(e, api.GetTransactionsByAddress, h.getTransactionsByAddress),
		bind(e, api.GetTransactionByNonce, h.getTransactionByNonce),
		bind(e, api.GetBlockTransactions, h.getBlockTransactions),
		bind(e, api.ListRecentTransactions, h.listRecentTransactions),
	}
}

func (h *transactionHandlers) getTransactionByHash(
	_ context.Context, p api.TransactionParams,
) (*api.Transaction, error) {
	found, pending, err := h.find(p.Hash)
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		tx := included(&found.tx, found.receipt, found.reason, found.place)
		return &tx, nil
	case pending != nil:
		tx := newTransaction(pending.Signed(), p.Hash)
		return &tx, nil
	}
	return nil, nil
}

func (h *transactionHandlers) getTransactionReceipt(_ context.Context, p api.TransactionParams) (*api.Receipt, error) {
	found, _, err := h.find(p.Hash)
	if found == nil || err != nil {
		return nil, err
	}
	return h.receipt(found)
}

func (h *transactionHandlers) getTransactionStatus(
	_ context.Context, p api.TransactionParams,
) (api.TransactionStatus, error) {
	found, pending, err := h.find(p.Hash)
	switch {
	case err != nil:
		return api.TransactionStatus{}, err
	case pending != nil:
		return api.TransactionStatus{Status: api.StatusPending}, nil
	case found == nil:
		return api.TransactionStatus{Status: api.StatusUnknown}, nil
	}
	head, height := h.chain.Head().Header.Height, found.header.Height
	return api.TransactionStatus{
		Status: status(found.receipt), BlockHeight: &height, Confirmations: uint64(max(head, height)-height) + 1,
		Error: trace.Failure(found.reason),
	}, nil
}

// place is where a transaction was included.
type place struct {
	header types.Header
	hash   types.BlockHash
	index  uint32
}

// foundTransaction is an included transaction.
type foundTransaction struct {
	tx      types.SignedTransaction
	receipt types.Receipt
	reason  exec.Reason
	place
}

// find looks for a transaction in the chain and in the pool; at most one of the results is not nil.
func (h *transactionHandlers) find(id types.TxID) (*foundTransaction, *types.VerifiedTx, error) {
	found, err := h.findIncluded(id)
	if found != nil || err != nil {
		return found, nil, err
	}
	if pending, ok := h.pool.Get(id); ok {
		return nil, pending, nil
	}
	// It may have been included, and so left the pool, after the chain was asked.
	found, err = h.findIncluded(id)
	return found, nil, err
}

func (r *transactionReader) findIncluded(id types.TxID) (*foundTransaction, error) {
	position, err := r.chain.FindTransaction(id)
	if err != nil {
		return nil, absent(err)
	}
	found, err := r.at(position, nil)
	if err != nil {
		return nil, absent(err)
	}
	return found, nil
}

// absent drops the errors of what is not there, or not any more: pruned, or undone on a development chain.
func absent(err error) error {
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) {
		return nil
	}
	return err
}

// at reads the transaction at a position. Its block is that of neighbour where they share it.
func (r *transactionReader) at(position chain.Position, neighbour *foundTransaction) (*foundTransaction, error) {
	stored, err := r.chain.Transaction(position)
	if err != nil {
		return nil, err
	}
	found := &foundTransaction{tx: stored.Transaction, receipt: stored.Receipt, reason: stored.Reason}
	if neighbour != nil && neighbour.header.Height == position.Height {
		found.place = neighbour.place
	} else {
		header, err := r.chain.Header(position.Height)
		if err != nil {
			return nil, err
		}
		found.header, found.hash = header.Header, header.Header.Hash()
	}
	found.index = position.Index
	return found, nil
}

// newTransaction renders a transaction as it is in the pool.
func newTransaction(tx *types.SignedTransaction, id types.TxID) api.Transaction {
	to, contract := recipient(&tx.Transaction)
	return api.Transaction{
		Hash: id, From: tx.Sender, To: to, Value: api.Quantity(tx.Payload.Value()), GasLimit: api.Quantity(tx.GasLimit),
		GasPrice: api.Quantity(tx.MaxFeePerGas), Nonce: api.Quantity(tx.Nonce), Status: api.StatusPending,
		Type: tx.Payload.Kind().String(), MaxFeePerGas: api.Quantity(tx.MaxFeePerGas),
		MaxPriorityFeePerGas: api.Quantity(tx.MaxPriorityFeePerGas), Input: newInput(tx.Payload),
		Signature: tx.Signature[:], Contract: contract,
	}
}

// included renders a transaction of a block.
func included(tx *types.SignedTransaction, receipt types.Receipt, reason exec.Reason, at place) api.Transaction {
	view := newTransaction(tx, receipt.Transaction)
	view.GasPrice = effectivePrice(tx, at.header)
	view.BlockHeight, view.BlockHash, view.TransactionIndex = &at.header.Height, &at.hash, &at.index
	view.Status, view.Error = status(receipt), trace.Failure(reason)
	return view
}

func effectivePrice(tx *types.SignedTransaction, header types.Header) api.Quantity {
	return api.Quantity(fees.Price(header.BaseFee, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas))
}

// recipient is a transaction's to, and the contract that a deploy creates.
func recipient(tx *types.Transaction) (to types.Account, contract *types.ContractID) {
	to, ok := tx.Recipient()
	if !ok {
		return tx.Sender, nil
	}
	if tx.Payload.Kind() == types.KindDeploy {
		return to, (*types.ContractID)(&to)
	}
	return to, nil
}

func newInput(payload types.Payload) *api.Input {
	switch p := payload.(type) {
	case types.Deploy:
		hash, size, args := types.CodeHash(sha256.Sum256(p.Code)), uint64(len(p.Code)), api.Data(p.InitArgs)
		return &api.Input{Name: &p.Name, CodeHash: &hash, CodeSize: &size, Args: &args}
	case types.Call:
		args := api.Data(p.Args)
		return &api.Input{Function: &p.Function, Args: &args}
	case types.Configure:
		return &api.Input{Parameters: &p.Parameters}
	default:
		return nil
	}
}

func status(receipt types.Receipt) api.Status {
	if receipt.Status == types.StatusSuccess {
		return api.StatusSuccess
	}
	return api.StatusFailed
}

func (r *transactionReader) receipt(found *foundTransaction) (*api.Receipt, error) {
	to, _ := recipient(&found.tx.Transaction)
	receipt := &api.Receipt{
		TransactionHash: found.receipt.Transaction, BlockHeight: found.header.Height, BlockHash: found.hash,
		Status: api.Quantity(found.receipt.Status), GasUsed: api.Quantity(found.receipt.GasUsed),
		ContractAddress: found.receipt.Contract, Logs: make([]api.Log, len(found.receipt.Logs)),
		TransactionIndex: found.index, EffectiveGasPrice: effectivePrice(&found.tx, found.header),
		ReturnData: found.receipt.Output, Error: trace.Failure(found.reason), From: found.tx.Sender, To: to,
	}
	if len(receipt.Logs) == 0 {
		return receipt, nil
	}
	receipts, err := r.chain.Receipts(found.header.Height)
	if err != nil {
		return nil, absent(err)
	}
	before := 0
	for _, r := range receipts[:found.index] {
		before += len(r.Logs)
	}
	for i, log := range found.receipt.Logs {
		receipt.Logs[i] = newLog(log, found.header.Height, uint32(before+i))
	}
	return receipt, nil
}

// newLog renders a log: its first topic is the SHA-256 of its name.
func newLog(log types.Log, height types.Height, index uint32) api.Log {
	name := sha256.Sum256([]byte(log.Name))
	topics := make([]api.Data, 0, 1+len(log.Topics))
	topics = append(topics, name[:])
	for i := range log.Topics {
		topics = append(topics, log.Topics[i][:])
	}
	return api.Log{
		Address: log.Contract, Topics: topics, Data: log.Data, EventName: log.Name, LogIndex: index, BlockHeight: height,
	}
}

// A cursor is a position in the chain: the height and the index in the block, big-endian, in hex.
const cursorBytes = 8 + 4

func cursor(p chain.Position) string {
	var b [cursorBytes]byte
	binary.BigEndian.PutUint64(b[:], uint64(p.Height))
	binary.BigEndian.PutUint32(b[8:], p.Index)
	return hex.EncodeToString(b[:])
}

// parsePosition reads what cursor gives; false for anything else.
func parsePosition(text string) (p chain.Position, ok bool) {
	var b [cursorBytes]byte
	if len(text) != 2*cursorBytes {
		return p, false
	}
	if _, err := hex.Decode(b[:], []byte(text)); err != nil {
		return p, false
	}
	return chain.Position{Height: types.Height(binary.BigEndian.Uint64(b[:])), Index: binary.BigEndian.Uint32(b[8:])}, true
}

func parseCursor(text string) (chain.Position, error) {
	if p, ok := parsePosition(text); ok && p != (chain.Position{}) {
		return p, nil
	}
	return chain.Position{}, withData(api.ErrBadCursor, "param", "page", "member", "before")
}
