package rpc

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

const (
	// receiptWait bounds how long svc_sendRawTransactionSync waits for a receipt.
	receiptWait = 30 * time.Second
	// DefaultViewGas is the default execution gas of a simulated call.
	DefaultViewGas types.Gas = 200_000_000
)

// submitHandlers implements sending and simulating transactions.
type submitHandlers struct {
	*liveness
	*simulator
	transactions *transactionReader
	chain        interface {
		stateStore
		FindTransaction(types.TxID) (chain.Position, error)
		WaitHeight(context.Context, types.Height) error
	}
	sender    Sender
	pool      Pool
	fates     *fates
	errors    *clientErrors
	developer Developer // nil except on a development chain
}

func (h *submitHandlers) methods(e *clientErrors) []method {
	return []method{
		bindGroup(e, api.SendRawTransaction, h.sendRawTransaction),
		bind(e, api.SendRawTransactionSync, h.sendRawTransactionSync).waiting(),
		bind(e, api.Call, h.call).in(h.executions.lane),
		bind(e, api.EstimateGas, h.estimateGas).in(h.executions.lane),
	}
}

// sendRawTransaction sends the transactions of consecutive calls. Their signatures are verified together, and they
// reach the pool's journal in one write.
func (h *submitHandlers) sendRawTransaction(
	ctx context.Context, calls []api.RawTransactionParams,
) []jsonrpc.Outcome[types.TxID] {
	encoded := make([][]byte, len(calls))
	for i, p := range calls {
		encoded[i] = p.Transaction
	}
	outcomes := make([]jsonrpc.Outcome[types.TxID], len(calls))
	for i, r := range h.sender.AddMany(ctx, encoded, request.Of(ctx).Source) {
		if r.Err == nil {
			outcomes[i].Result = r.Tx.ID()
		} else {
			outcomes[i].Err = h.refusal(r)
		}
	}
	return outcomes
}

// refusal returns the client's error for a refused transaction; nil if it was accepted.
func (h *submitHandlers) refusal(r mempool.Result) error {
	err := r.Err
	if err == nil || r.Tx == nil {
		return err
	}
	id := r.Tx.ID()
	if errors.Is(err, exec.ErrNonceTooLow) {
		switch _, findErr := h.chain.FindTransaction(id); {
		case findErr == nil:
			err = mempool.ErrKnown
		case !errors.Is(findErr, chain.ErrNotFound):
			return findErr
		}
	}
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		return err // an upstream's answer already has the values
	}
	if err = h.errors.public(err); !errors.As(err, &refused) {
		return err
	}
	return h.withValues(refused, r.Tx.Signed(), id)
}

// withValues adds the values that the transaction should have had to a refusal.
func (h *submitHandlers) withValues(e *jsonrpc.Error, tx *types.SignedTransaction, id types.TxID) error {
	tip, err := h.ledger.Latest()
	if err != nil {
		return err
	}
	env := tip.Env
	switch {
	case errors.Is(e, api.ErrWrongChain):
		return withData(e, "chainId", api.Quantity(h.chainID))
	case errors.Is(e, api.ErrAlreadyKnown):
		return withData(e, "hash", id)
	case errors.Is(e, api.ErrFeeTooLow):
		return withData(e, "baseFee", api.Quantity(env.BaseFee), "minBaseFee", api.Quantity(env.Parameters.MinBaseFee))
	case errors.Is(e, api.ErrIntrinsicGas):
		exists, err := h.exists(tx.Sender)
		if err != nil {
			return err
		}
		return withData(e, "min", api.Quantity(intrinsicGas(tx, exists)))
	case errors.Is(e, api.ErrGasOverBlock):
		return withData(e, "max", api.Quantity(env.Parameters.GasLimit))
	case errors.Is(e, api.ErrExpired) && tx.ValidUntil != nil:
		return withData(e, "validUntil", *tx.ValidUntil)
	case errors.Is(e, api.ErrNotAdmin):
		return withData(e, "admin", env.Parameters.Admin)
	case errors.Is(e, api.ErrTextTooLong):
		return withData(e, "limit", types.MaxTextBytes)
	case errors.Is(e, api.ErrNonceTooLow), errors.Is(e, api.ErrNonceTooHigh), errors.Is(e, api.ErrHeld):
		next, err := h.pool.NextNonce(tx.Sender)
		if err != nil {
			return err
		}
		return withData(e, "nonce", api.Quantity(tx.Nonce), "expected", api.Quantity(next))
	}
	return e
}

func (h *submitHandlers) sendRawTransactionSync(ctx context.Context, p api.RawTransactionParams) (api.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, receiptWait)
	defer cancel()
	sent := h.sender.AddMany(ctx, [][]byte{p.Transaction}, request.Of(ctx).Source)[0]
	if err := h.refusal(sent); err != nil && (sent.Tx == nil || !errors.Is(err, api.ErrAlreadyKnown)) {
		return api.Receipt{}, err
	}
	id := sent.Tx.ID()
	for {
		head, left := h.chain.Head().Header.Height, h.pool.Left(id)
		found, err := h.transactions.findIncluded(id)
		if err != nil {
			return api.Receipt{}, err
		}
		if found != nil {
			receipt, err := h.transactions.receipt(found)
			if err != nil {
				return api.Receipt{}, err
			}
			if receipt != nil {
				return *receipt, nil
			}
		}
		if err := h.displaced(ctx, head, sent.Tx); err != nil {
			return api.Receipt{}, err
		}
		// A replaced transaction is still waited for: a block may already contain it, or else one with its replacement
		// will.
		if cause := h.fates.of(id); cause != "" && cause != mempool.Replaced {
			return api.Receipt{}, withData(api.ErrDropped, "hash", id, "cause", cause)
		}
		if err := request.Of(ctx).Idle(ctx, func(ctx context.Context) error {
			return h.nextBlock(ctx, head, left)
		}); err != nil {
			if ctx.Err() != nil {
				return api.Receipt{}, withData(api.ErrTimeUp, "limit", int(receiptWait.Seconds()), "hash", id)
			}
			return api.Receipt{}, err
		}
	}
}

// nextBlock waits for the block after a height, or until left is closed, unless that is nil.
func (h *submitHandlers) nextBlock(ctx context.Context, height types.Height, left <-chan struct{}) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-left:
			stop()
		case <-waiting.Done():
		}
	}()
	err := h.chain.WaitHeight(waiting, height+1)
	if waiting.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// displaced returns [api.ErrDisplaced] if another transaction with the same sender and nonce is in a block up to a
// height. The caller must have found that tx itself is in none.
func (h *submitHandlers) displaced(ctx context.Context, height types.Height, tx *types.Tx) error {
	sender, nonce := tx.Signed().Sender, tx.Signed().Nonce
	record, err := h.chain.Account(height, sender)
	if errors.Is(err, chain.ErrNoState) || errors.Is(err, chain.ErrPruned) || err == nil && record.Nonce <= nonce {
		return nil
	}
	if err != nil {
		return err
	}
	other, err := h.transactions.byNonce(ctx, sender, nonce)
	if err != nil || other == nil {
		return err
	}
	return withData(api.ErrDisplaced, "hash", tx.ID(), "by", other.Hash)
}

// simulation runs a transaction on the head's state, at the head's time, as part of the next block.
type simulation struct {
	parameters types.Parameters
	state      *chain.State
	template   types.Header
	tx         types.SignedTransaction // a nil witness is priced like the witness of a key
	exists     bool                    // the sender has an entry in the state
	how        exec.Simulation
	executions *executions
	request    *request.Request
}

// intrinsicGas returns the gas that a transaction uses before it runs. It is more for a sender without an entry in the
// state.
func intrinsicGas(tx *types.SignedTransaction, exists bool) types.Gas {
	gas := fees.IntrinsicGas(tx)
	if !exists {
		gas += params.Prices.NewAccount
	}
	return gas
}

// exists reports whether an account has an entry in the latest state. Without one, its transactions cost more.
func (h *submitHandlers) exists(account types.Account) (bool, error) {
	record, err := h.chain.Account(h.chain.Head().Header.Height, account)
	if errors.Is(err, chain.ErrNoState) {
		return true, nil // a node without state assumes it: most senders have one
	}
	return record.Exists(), err
}

// simulate decodes a transaction, signed or not, and opens the state for its simulation. The caller must close the
// state.
func (h *submitHandlers) simulate(ctx context.Context, encoded []byte) (simulation, error) {
	tx, err := decodeCall(encoded)
	if err != nil {
		return simulation{}, err
	}
	if err := h.live(api.Latest()); err != nil {
		return simulation{}, err
	}
	tip, err := h.ledger.Latest()
	if err != nil {
		return simulation{}, err
	}
	head := tip.Header.Header
	template, err := exec.HeaderTemplate(head, tip.Parameters, h.timeAfter(head))
	if err != nil {
		return simulation{}, err
	}
	record, err := h.chain.Account(head.Height, tx.Sender)
	if err != nil {
		return simulation{}, err
	}
	view, err := h.chain.StateAt(head.Height)
	return simulation{
		parameters: tip.Parameters,
		state:      view,
		template:   template,
		tx:         tx,
		exists:     record.Exists(),
		how:        exec.Simulation{Machine: h.machineFor(tx.Payload), Network: h.network},
		executions: h.executions,
		request:    request.Of(ctx),
	}, err
}

// timeAfter returns the time for simulations on a block: the block's own or, on a development chain, whose time can be
// moved, the next block's.
func (h *submitHandlers) timeAfter(head types.Header) uint64 {
	if h.developer == nil {
		return head.Timestamp
	}
	return max(h.developer.NextTime(), head.Timestamp)
}

// decodeCall decodes a transaction to try: its unsigned form, or that and the sender's witness, or a SignedTransaction.
// Nothing is sent, so the proofs in a witness need not hold, and a payer need not have signed: gas limit and fee, which
// the hash covers, are often not known yet. A witness determines its own cost.
func decodeCall(encoded []byte) (types.SignedTransaction, error) {
	if tx, err := types.DecodeUnsigned(encoded); err == nil {
		return types.SignedTransaction{Transaction: tx}, nil
	}
	if tx, err := types.DecodeSignedTransaction(encoded); err == nil {
		return tx, nil
	}
	const noPayerWitness = 0
	tx, err := types.DecodeSignedTransaction(append(slices.Clip(encoded), noPayerWitness))
	if err != nil {
		return types.SignedTransaction{}, api.ErrUndecodable
	}
	return tx, nil
}

// run runs the transaction if the request has any gas left; it may use more than that. The tracer may be nil.
func (m *simulation) run(
	ctx context.Context, gasLimit types.Gas, tracer exec.Tracer,
) (outcome exec.Outcome, err error) {
	if m.request.GasLeft() <= 0 {
		return outcome, withData(api.ErrRequestGas, "limit", request.Gas)
	}
	tx := m.tx
	tx.GasLimit = gasLimit
	over := m.executions.run(ctx, m.request, func(stop func() error) {
		how := m.how
		how.Stop, how.Tracer = stop, tracer
		outcome, err = exec.Call(m.parameters, m.state, m.template, tx, how)
	})
	m.request.SpendGas(outcome.GasUsed)
	return outcome, errors.Join(over, err)
}

func (h *submitHandlers) call(ctx context.Context, p api.RawTransactionParams) (output api.Data, err error) {
	m, err := h.simulate(ctx, p.Transaction)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.state.Close()) }()
	gas, capped := h.gasOf(&m)
	outcome, err := m.run(ctx, gas, nil)
	switch {
	case err != nil:
		return nil, h.callRefusal(&m, err)
	case outcome.Reason == exec.OutOfGas && capped:
		return nil, withData(api.ErrViewGas, "limit", h.gas)
	case outcome.Reason != exec.Success:
		return nil, failed(outcome)
	}
	return outcome.Output, nil
}

// gasOf returns the gas limit for simulating a transaction. capped reports that it is less than the transaction's own,
// because of the limit on simulated calls.
func (h *submitHandlers) gasOf(m *simulation) (gas types.Gas, capped bool) {
	most := min(m.parameters.GasLimit, intrinsicGas(&m.tx, m.exists)+h.gas)
	switch gas := m.tx.GasLimit; {
	case gas == 0:
		return most, false
	case gas > most && gas <= m.parameters.GasLimit:
		return most, true
	default:
		return gas, false
	}
}

func (h *submitHandlers) callRefusal(m *simulation, err error) error {
	var refused *jsonrpc.Error
	if err = h.errors.public(err); !errors.As(err, &refused) {
		return err
	}
	return h.withValues(refused, &m.tx, types.TxID{})
}

// failed returns the error for a failed execution.
func failed(outcome exec.Outcome) error {
	switch outcome.Reason {
	case exec.NoSuchContract:
		return withData(api.ErrNoContract, "gasUsed", api.Quantity(outcome.GasUsed))
	case exec.ModuleRefused:
		return withData(api.ErrModuleRefused, "gasUsed", api.Quantity(outcome.GasUsed), "detail", outcome.Detail)
	}
	reason := string(outcome.Reason)
	text := api.FailureText(reason, outcome.Output)
	data := []any{"reason", reason, "gasUsed", api.Quantity(outcome.GasUsed), "revertData", api.Data(outcome.Output)}
	if cause := trace.Cause(outcome.Cause); cause != nil {
		text += ": " + api.CauseText(cause)
		data = append(data, "cause", cause)
	}
	return jsonrpc.NewError(api.CodeExecutionFailed, "the execution failed: "+text, data...)
}

func (h *submitHandlers) estimateGas(
	ctx context.Context, p api.RawTransactionParams,
) (estimate api.Quantity, err error) {
	m, err := h.simulate(ctx, p.Transaction)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.state.Close()) }()
	most := m.parameters.GasLimit
	did := newEffects(most)
	outcome, err := m.run(ctx, most, did)
	switch {
	case err != nil:
		return 0, h.callRefusal(&m, err)
	case outcome.Reason != exec.Success:
		return 0, failed(outcome)
	}
	least := outcome.GasUsed
	reserved := least // the gas of work that may take more
	if did.deepest > 0 {
		if least, err = m.leastGas(ctx, did, outcome.GasUsed, most); err != nil {
			return 0, err
		}
		least += did.room()
	} else {
		if least, err = m.withRecipient(least); err != nil {
			return 0, err
		}
		reserved = least
	}
	return api.Quantity(min(least+(reserved+estimateReserve-1)/estimateReserve, most)), nil
}
