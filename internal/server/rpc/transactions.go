package rpc

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/types"
)

type transactionHandlers struct {
	*transactionReader
	cursors *cursors
	pool    Pool
	fates   *fates
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
		bind(e, api.GetBlockReceipts, h.getBlockReceipts),
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
		tx := included(found)
		return &tx, nil
	case pending != nil:
		tx := newTransaction(pending.Signed(), p.Hash)
		return &tx, nil
	}
	return nil, unknown(h.chain)
}

func (h *transactionHandlers) getTransactionReceipt(_ context.Context, p api.TransactionParams) (*api.Receipt, error) {
	found, pending, err := h.find(p.Hash)
	switch {
	case err != nil || pending != nil:
		return nil, err
	case found == nil:
		return nil, unknown(h.chain)
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
		if cause := h.fates.of(p.Hash); cause != "" {
			return api.TransactionStatus{Status: api.StatusDropped, Error: (*string)(&cause)}, nil
		}
		return api.TransactionStatus{Status: api.StatusUnknown}, unknown(h.chain)
	}
	head, height := h.chain.Head().Header.Height, found.header.Height
	return api.TransactionStatus{
		Status: status(found.receipt), BlockHeight: &height, Confirmations: uint64(max(head, height)-height) + 1,
		Error: trace.Failure(found.reason),
	}, nil
}

// place is the position of a transaction in the chain.
type place struct {
	header types.Header
	hash   types.BlockHash
	index  uint32
}

// find looks for a transaction in the chain and in the pool. At most one result is not nil.
func (h *transactionHandlers) find(id types.TxID) (*foundTransaction, *types.VerifiedTx, error) {
	found, err := h.findIncluded(id)
	if found != nil || err != nil {
		return found, nil, err
	}
	if pending, ok := h.pool.Get(id); ok {
		return nil, pending, nil
	}
	// It may have left the pool for a block after the first look-up.
	found, err = h.findIncluded(id)
	return found, nil, err
}

// fates finds out why transactions left the pool without a block.
type fates struct {
	pool interface {
		Fate(types.TxID) (mempool.Fate, bool)
	}
	node interface{ Following() Following }
}

// of returns the reason why a transaction is neither pending nor, as far as the caller knows, in a block; empty if
// unknown. If a node that follows another has dropped it for lack of room, the producer's pool may still hold it.
func (f *fates) of(id types.TxID) mempool.Cause {
	fate, known := f.pool.Fate(id)
	if !known || fate.Cause == mempool.NoRoom && f.node.Following() != nil {
		return ""
	}
	return fate.Cause
}

// absent returns nil for the error of an item that is missing, pruned or undone, and other errors unchanged.
func absent(err error) error {
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) {
		return nil
	}
	return err
}

// newTransaction renders a pending transaction.
func newTransaction(tx *types.SignedTransaction, id types.TxID) api.Transaction {
	to, contract := recipient(&tx.Transaction)
	view := api.Transaction{
		Hash:                 id,
		From:                 tx.Sender,
		To:                   to,
		Value:                amountOf(&tx.Transaction),
		GasLimit:             api.Quantity(tx.GasLimit),
		GasPrice:             api.Quantity(tx.MaxFeePerGas),
		Nonce:                api.Quantity(tx.Nonce),
		Status:               api.StatusPending,
		Type:                 tx.Payload.Kind().String(),
		MaxFeePerGas:         api.Quantity(tx.MaxFeePerGas),
		MaxPriorityFeePerGas: api.Quantity(tx.MaxPriorityFeePerGas),
		Payer:                tx.Payer,
		ValidUntil:           tx.ValidUntil,
		Input:                newInput(&tx.Transaction),
		Witness:              api.Witness{Witness: tx.Witness},
		Contract:             contract,
	}
	if tx.PayerWitness != nil {
		view.PayerWitness = &api.Witness{Witness: tx.PayerWitness}
	}
	switch p := tx.Payload.(type) {
	case types.Transfer:
		view.Memo = newMemo(p.Memo)
	case types.Batch:
		view.Steps = p.Steps
	}
	return view
}

// newMemo renders a memo; nil for none.
func newMemo(memo *[32]byte) *api.Data {
	if memo == nil {
		return nil
	}
	return new(api.Data(memo[:]))
}

// amountOf returns what a transaction moves from its sender. It fits for every transaction that the pool or a block has.
func amountOf(tx *types.Transaction) api.Quantity {
	amount, err := tx.Amount()
	if err != nil {
		return math.MaxUint64
	}
	return api.Quantity(amount)
}

// included renders a transaction of a block.
func included(found *foundTransaction) api.Transaction {
	view, at := newTransaction(&found.tx, found.id), found.place
	view.GasPrice = effectivePrice(&found.tx, at.header)
	view.BlockHeight, view.BlockHash, view.TransactionIndex = &at.header.Height, &at.hash, &at.index
	view.Status, view.Error = status(found.receipt), trace.Failure(found.reason)
	used := api.Quantity(found.receipt.GasUsed)
	view.GasUsed, view.Fee = &used, new(used*view.GasPrice) // at most gas limit × max fee, which fits
	return view
}

func effectivePrice(tx *types.SignedTransaction, header types.Header) api.Quantity {
	return api.Quantity(fees.Price(header.BaseFee, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas))
}

// recipient returns a transaction's recipient, and the contract that it creates. For a transaction without a recipient,
// such as a batch, it returns the sender, so that a client that reads nothing else does not take it for a payment to
// somebody.
func recipient(tx *types.Transaction) (to types.Account, contract *types.ContractID) {
	to, ok := tx.Recipient()
	if !ok {
		return tx.Sender, nil
	}
	switch tx.Payload.Kind() {
	case types.KindDeploy, types.KindInstantiate:
		return to, (*types.ContractID)(&to)
	}
	return to, nil
}

func newInput(tx *types.Transaction) *api.Input {
	switch p := tx.Payload.(type) {
	case types.Instantiate:
		args, template := api.Data(p.InitArgs), types.ContractID(tx.Target)
		return &api.Input{Name: &p.Name, Template: &template, Args: &args}
	case types.SetPolicy:
		return &api.Input{Recovery: &p.Recovery, Policy: p.Policy}
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

// newLog renders a log. Its first topic is the SHA-256 of its name.
func newLog(log types.Log, height types.Height, index uint32) api.Log {
	name := sha256.Sum256([]byte(log.Name))
	topics := make([]api.Data, 0, 1+len(log.Topics))
	topics = append(topics, name[:])
	for i := range log.Topics {
		topics = append(topics, log.Topics[i][:])
	}
	return api.Log{
		Address:     log.Contract,
		Topics:      topics,
		Data:        log.Data,
		EventName:   log.Name,
		LogIndex:    index,
		BlockHeight: height,
	}
}

func (h *transactionHandlers) getTransactionsByAddress(
	ctx context.Context, p api.GetTransactionsByAddressParams,
) ([]api.Transaction, error) {
	account, err := parseAccount(h.network, p.Account)
	if err != nil {
		return nil, err
	}
	count, err := memberLimit("page", p.Page.Limit, api.DefaultTransactionsPage, api.MaxTransactionsPage)
	if err != nil {
		return nil, err
	}
	var before chain.Position
	if p.Page.Cursor != "" {
		if before, err = h.cursors.position(p.Page.Cursor, "page", "cursor"); err != nil {
			return nil, err
		}
	}
	if to := p.Page.ToBlock; to != nil {
		if _, err := h.chain.Header(*to); errors.Is(err, chain.ErrNotFound) {
			head := h.chain.Head().Header.Height
			return nil, withData(api.ErrAboveHead, "param", "page", "member", "to_block", "max", head)
		} else if err != nil {
			return nil, err // an empty list would look like the end
		}
		if next := (chain.Position{Height: *to + 1}); before == (chain.Position{}) || next.Compare(before) < 0 {
			before = next
		}
	}
	if err := heavy(ctx, count); err != nil {
		return nil, err
	}
	positions, err := h.chain.ByAccount(account, before, count)
	if err != nil {
		return nil, err
	}
	txs, err := h.list(ctx, positions)
	for i := range txs {
		txs[i].Cursor = newCursor(positions[i], *txs[i].BlockHash)
	}
	return txs, err
}

func (h *transactionHandlers) getTransactionByNonce(
	ctx context.Context, p api.TransactionByNonceParams,
) (*api.Transaction, error) {
	account, err := parseAccount(h.network, p.Account)
	if err != nil {
		return nil, err
	}
	return h.byNonce(ctx, account, uint64(p.Nonce))
}

func (h *transactionHandlers) getBlockTransactions(
	ctx context.Context, p api.GetBlockTransactionsParams,
) ([]api.Transaction, error) {
	count, err := memberLimit("page", p.Page.Limit, api.DefaultTransactionsPage, api.MaxTransactionsPage)
	if err != nil {
		return nil, err
	}
	head := h.chain.Head().Header.Height
	height := p.Block.Resolve(head)
	if height > head || p.Page.From > math.MaxUint32 {
		return []api.Transaction{}, nil
	}
	if _, err := h.chain.Header(height); err != nil && !errors.Is(err, chain.ErrNotFound) {
		return nil, err // an empty page for a pruned block would look like the end of the list
	}
	positions := make([]chain.Position, 0, count)
	for index := p.Page.From; index < p.Page.From+uint64(count) && index <= math.MaxUint32; index++ {
		positions = append(positions, chain.Position{Height: height, Index: uint32(index)})
	}
	return h.list(ctx, positions)
}

func (h *transactionHandlers) getBlockReceipts(
	ctx context.Context, p api.GetBlockReceiptsParams,
) ([]api.Receipt, error) {
	count, err := memberLimit("page", p.Page.Limit, api.DefaultReceiptsPage, api.MaxReceiptsPage)
	if err != nil {
		return nil, err
	}
	head := h.chain.Head().Header.Height
	height := p.Block.Resolve(head)
	if height > head || p.Page.From > math.MaxUint32 {
		return []api.Receipt{}, nil
	}
	if err := grown(ctx, count*receiptBytes); err != nil {
		return nil, err
	}
	header, err := h.chain.Header(height)
	if err == nil {
		var receipts []api.Receipt
		if receipts, err = h.receipts(ctx, header.Header, uint32(p.Page.From), count); err == nil {
			return receipts, nil
		}
	}
	if errors.Is(err, chain.ErrNotFound) { // undone meanwhile
		return []api.Receipt{}, nil
	}
	return nil, err
}

func (h *transactionHandlers) listRecentTransactions(
	ctx context.Context, p api.ListRecentTransactionsParams,
) ([]api.Transaction, error) {
	count, err := limit("limit", p.Limit, api.DefaultRecentTransactions, api.MaxRecentTransactions)
	if err != nil {
		return nil, err
	}
	if err := heavy(ctx, count); err != nil {
		return nil, err
	}
	positions, err := h.chain.Recent(count)
	if err != nil {
		return nil, err
	}
	return h.list(ctx, positions)
}
