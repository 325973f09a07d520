package exec

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// BlockExecutor is the state transition of one block in progress. Transactions are applied to it one after the other.
type BlockExecutor struct {
	env     Env
	header  types.Header
	state   *state.Overlay
	machine Machine

	// The results of the applied transactions:
	txs      []*types.Tx
	receipts []types.Receipt
	reasons  []Reason
	bytes    int
	burned   types.Amount
	codes    map[types.CodeHash][]byte // codes that the block's deploys brought
	loaded   loads

	// The payload in progress. It is here so that transactions need not allocate it.
	running execution
	gas     vm.Gas

	parallel  lists.Parallel // see [BlockExecutor.ShareOut]
	stop      func() error   // may be nil; see [BlockExecutor.StopWith]
	spareLoad bool           // see [BlockExecutor.SpareLoad]

	// Only simulations set these.
	tracer Tracer // may be nil
	view   bool   // the call is in view context
}

// Result is the result of executing a block. Its Header lacks only the state root, which the state tree derives from
// Accesses.
type Result struct {
	Header       types.Header
	Transactions []*types.Tx // in the block's order; their witnesses hold
	Receipts     []types.Receipt
	Reasons      []Reason                  // reasons of failed transactions; Success for the others
	Accesses     []types.Access            // every key that was read or written, ascending
	Codes        map[types.CodeHash][]byte // codes of the contracts that the block created; nil if there are none
	Loaded       []types.CodeHash          // older codes that the block's transactions loaded, in the order of loading
}

// HeaderTemplate returns the part of the header after parent that is known before execution. p are the parameters in
// the state after parent; timestamp is in milliseconds. The errors are [ErrTimestamp] and [ErrUnknownVersion].
func HeaderTemplate(parent types.Header, p types.Parameters, timestamp uint64) (types.Header, error) {
	if timestamp < parent.Timestamp {
		return types.Header{}, fmt.Errorf("%w: %d, parent has %d", ErrTimestamp, timestamp, parent.Timestamp)
	}
	if timestamp > types.MaxTime {
		return types.Header{}, fmt.Errorf("%w: %d, at most %d", ErrTimestamp, timestamp, uint64(types.MaxTime))
	}
	version := p.VersionAt(timestamp)
	if err := checkVersion(version); err != nil {
		return types.Header{}, err
	}
	return types.Header{
		Version:   version,
		ChainID:   parent.ChainID,
		Height:    parent.Height + 1,
		Parent:    parent.Hash(),
		Timestamp: timestamp,
		Producer:  p.Producer,
		GasLimit:  p.GasLimit,
		BaseFee:   fees.NextBaseFee(parent, p),
	}, nil
}

// Begin starts a block with the header of a template (see [HeaderTemplate]) on the parent's state. p are the parameters
// in that state; machine runs the contracts.
func Begin(
	network types.Network, p types.Parameters, parent state.Reader, template types.Header, machine Machine,
) *BlockExecutor {
	env := Env{
		ChainID: template.ChainID, Network: network, Parameters: p, BaseFee: template.BaseFee, Timestamp: template.Timestamp,
	}
	return &BlockExecutor{env: env, header: template, state: state.NewOverlay(parent), machine: machine, parallel: lists.InOrder}
}

// Trace sets the tracer of the transactions that are applied from now on; nil disables tracing.
func (e *BlockExecutor) Trace(t Tracer) { e.tracer = t }

// RunIn sets the engine that runs contracts from now on.
func (e *BlockExecutor) RunIn(engine vm.Engine) { e.machine.Engine = engine }

// ShareOut lets Finish hash the lists of transactions and receipts on several cores; by default it hashes one run after
// the other.
func (e *BlockExecutor) ShareOut(parallel lists.Parallel) { e.parallel = parallel }

// StopWith sets a function that is called before code is loaded and at least once per vm.MaxSlice of gas and per host
// function; nil removes it. An error from it ends [BlockExecutor.Apply]. Only work that no other node waits for may be
// stopped: an existing block is executed to its end.
func (e *BlockExecutor) StopWith(stop func() error) { e.stop = stop }

// Override writes the block's parameters into the state; it must precede the first transaction. It implements a
// hard fork that all nodes agreed on outside the chain, to replace a producer's key that was lost.
func (e *BlockExecutor) Override() error {
	return e.state.Set(state.ParametersKey(), e.env.Parameters.Encode())
}

// Reserve allocates room for n transactions. The result does not depend on n, which may be an estimate.
func (e *BlockExecutor) Reserve(n int) {
	e.txs = slices.Grow(e.txs, n)
	e.receipts = slices.Grow(e.receipts, n)
	e.reasons = slices.Grow(e.reasons, n)
}

// GasLeft returns the gas that the block has left for further transactions.
func (e *BlockExecutor) GasLeft() types.Gas { return e.header.GasLimit - e.header.GasUsed }

// Full reports whether no further transaction can fit: each has at least the gas and the bytes of a plain transfer.
func (e *BlockExecutor) Full() bool {
	return e.GasLeft() < schedule.IntrinsicTransfer+schedule.WitnessKey ||
		e.bytes+types.MinTransactionBytes > int(e.env.Parameters.BlockBytes)
}

// Apply executes a transaction. If [IsInvalid] holds for the error, the executor is unchanged: a builder skips the
// transaction, an importer rejects the block. An error from the function of [BlockExecutor.StopWith] and a [*vm.Fault]
// also leave it unchanged. Any other error is a fault of the node, and the executor must not be used any more.
func (e *BlockExecutor) Apply(tx *types.VerifiedTx) (types.Receipt, error) {
	signed := tx.Signed()
	if err := CheckStatic(e.env, signed); err != nil {
		return types.Receipt{}, err
	}
	sender, payer, err := e.peekAccounts(&signed.Transaction)
	if err != nil {
		return types.Receipt{}, err
	}
	if err := CheckAt(e.env, sender, payer, tx); err != nil {
		return types.Receipt{}, err
	}
	if signed.GasLimit > e.GasLeft() {
		return types.Receipt{}, fmt.Errorf("%w: %d gas are left", ErrBlockFull, e.GasLeft())
	}
	if e.bytes+len(tx.Encoded()) > int(e.env.Parameters.BlockBytes) {
		return types.Receipt{}, fmt.Errorf("%w: %d bytes are used", ErrBlockFull, e.bytes)
	}
	e.state.Seal()
	outcome, err := e.execute(signed, sender)
	if err != nil {
		e.state.Undo()
		return types.Receipt{}, err
	}
	receipt := outcome.receipt()
	e.bytes += len(tx.Encoded())
	e.header.GasUsed += receipt.GasUsed
	e.txs = append(e.txs, tx.Tx())
	e.receipts = append(e.receipts, receipt)
	e.reasons = append(e.reasons, outcome.Reason)
	return receipt, nil
}

// peekAccounts reads the sender and, if there is one, the payer without recording their keys.
func (e *BlockExecutor) peekAccounts(tx *types.Transaction) (sender state.Account, payer *state.Account, err error) {
	if sender, err = peekAccount(e.state, tx.Sender); err != nil || tx.Payer == nil {
		return sender, nil, err
	}
	account, err := peekAccount(e.state, *tx.Payer)
	return sender, &account, err
}

// execute applies a valid transaction as specified in docs/protocol.md, "Execution".
func (e *BlockExecutor) execute(tx *types.SignedTransaction, sender state.Account) (Outcome, error) {
	price := fees.Price(e.env.BaseFee, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas)
	if err := e.listAccesses(&tx.Transaction); err != nil {
		return Outcome{}, err
	}
	if err := e.charge(&tx.Transaction, sender, price); err != nil { // 1
		return Outcome{}, err
	}
	outcome, err := e.runPayload(tx, intrinsicGas(tx, sender)) // 2
	if err != nil {
		return Outcome{}, err
	}
	if err := e.addLoad(outcome); err != nil {
		return Outcome{}, err
	}
	return outcome, e.settle(&tx.Transaction, price, outcome.GasUsed) // 3
}

// intrinsicGas returns the gas that a transaction costs before its payload runs; sender is the record when it begins.
func intrinsicGas(tx *types.SignedTransaction, sender state.Account) types.Gas {
	gas := fees.IntrinsicGas(tx)
	if !sender.Exists() {
		gas += schedule.NewAccount
	}
	return gas
}

// listAccesses records the keys that every block with transactions, and every transaction, has in the access list
// regardless of gas.
func (e *BlockExecutor) listAccesses(tx *types.Transaction) error {
	var keys [5][]byte
	listed := keys[:0]
	if len(e.txs) == 0 {
		// All transactions of a block have the same fee recipient.
		recipient := state.AccountKey(e.env.Parameters.FeeRecipient)
		listed = append(listed, state.SupplyKey(), state.ParametersKey(), recipient)
	}
	listed = append(listed, state.AccountKey(tx.Sender))
	if tx.Payer != nil {
		listed = append(listed, state.AccountKey(*tx.Payer))
	}
	if err := e.list(listed...); err != nil {
		return err
	}
	switch tx.Payload.(type) {
	case types.Deploy:
		return e.listMade(tx)
	case types.Instantiate:
		if err := e.list(state.ContractKey(types.ContractID(tx.Target))); err != nil {
			return err
		}
		return e.listMade(tx)
	default:
		return e.listAction(tx.Payload, tx.Target, tx.Value)
	}
}

// listMade records the keys of the contract that a transaction makes.
func (e *BlockExecutor) listMade(tx *types.Transaction) error {
	id := types.NewContractID(tx.Sender, tx.Nonce)
	if err := e.list(state.ContractKey(id)); err != nil || tx.Value == 0 {
		return err
	}
	return e.list(state.AccountKey(types.Account(id)))
}

// listAction records the keys of a transfer or a call, by a transaction or by a step of a Batch.
func (e *BlockExecutor) listAction(p types.Payload, target types.Account, value types.Amount) error {
	switch p.(type) {
	case types.Transfer:
		if value == 0 {
			return nil
		}
		return e.list(state.AccountKey(target))
	case types.Call:
		return e.list(state.ContractKey(types.ContractID(target)))
	default:
		return nil
	}
}

func (e *BlockExecutor) list(keys ...[]byte) error {
	for _, key := range keys {
		if _, err := e.state.Get(key); err != nil {
			return err
		}
	}
	return nil
}

// charge brings a recovery whose time has come into force, increments the nonce, and takes the price of the whole gas
// limit from the payer or, without one, from the sender. A failure of the payload does not undo it.
func (e *BlockExecutor) charge(tx *types.Transaction, sender state.Account, price types.Amount) error {
	cost, err := tx.GasLimit.Cost(price)
	if err != nil {
		return err
	}
	sender = sender.At(e.header.Timestamp)
	sender.Nonce++
	if tx.Payer == nil {
		if sender.Balance, err = sender.Balance.Sub(cost); err != nil {
			return err
		}
		return e.state.SetAccount(tx.Sender, sender)
	}
	if err := e.state.SetAccount(tx.Sender, sender); err != nil {
		return err
	}
	return e.debit(*tx.Payer, cost)
}

// payerOf returns the account that pays a transaction's gas.
func payerOf(tx *types.Transaction) types.Account {
	if tx.Payer != nil {
		return *tx.Payer
	}
	return tx.Sender
}

// settle refunds the unused gas, burns the base fee's share and credits the rest to the fee recipient.
func (e *BlockExecutor) settle(tx *types.Transaction, price types.Amount, used types.Gas) error {
	refund, err := (tx.GasLimit - used).Cost(price)
	if err != nil {
		return err
	}
	burned, err := used.Cost(e.env.BaseFee)
	if err != nil {
		return err
	}
	tip, err := used.Cost(price - e.env.BaseFee)
	if err != nil {
		return err
	}
	if e.burned, err = e.burned.Add(burned); err != nil {
		return err
	}
	if err := e.credit(payerOf(tx), refund); err != nil {
		return err
	}
	return e.credit(e.env.Parameters.FeeRecipient, tip)
}

// credit adds amount to an account's balance. It does nothing if amount is 0.
func (e *BlockExecutor) credit(to types.Account, amount types.Amount) error {
	if amount == 0 {
		return nil
	}
	account, err := e.state.Account(to)
	if err != nil {
		return err
	}
	if account.Balance, err = account.Balance.Add(amount); err != nil {
		return err
	}
	return e.state.SetAccount(to, account)
}

func (e *BlockExecutor) debit(from types.Account, amount types.Amount) error {
	account, err := e.state.Account(from)
	if err != nil {
		return err
	}
	if account.Balance, err = account.Balance.Sub(amount); err != nil {
		return err
	}
	return e.state.SetAccount(from, account)
}

// Finish completes the header except for the state root. The executor must not be used afterwards.
func (e *BlockExecutor) Finish() (Result, error) {
	return e.FinishWith(lists.TransactionsRootBy(e.txs, e.parallel))
}

// FinishWith is [BlockExecutor.Finish] for callers that know the root of the applied transactions, in order.
func (e *BlockExecutor) FinishWith(root types.MerkleRoot) (Result, error) {
	if e.burned > 0 {
		if err := e.burn(); err != nil {
			return Result{}, err
		}
	}
	accesses := e.state.Accesses()
	if err := checkSupply(accesses); err != nil {
		return Result{}, err
	}
	codes, err := e.newCodes(accesses)
	if err != nil {
		return Result{}, err
	}
	e.header.TransactionsRoot = root
	e.header.ReceiptsRoot = lists.ReceiptsRootBy(e.receipts, e.parallel)
	return Result{
		Header:       e.header,
		Transactions: e.txs,
		Receipts:     e.receipts,
		Reasons:      e.reasons,
		Accesses:     accesses,
		Codes:        codes,
		Loaded:       e.loadedBefore(),
	}, nil
}

func (e *BlockExecutor) burn() error {
	record, err := e.state.Get(state.SupplyKey())
	if err != nil {
		return err
	}
	supply, err := state.DecodeSupply(record)
	if err != nil {
		return err
	}
	if supply.Burned, err = supply.Burned.Add(e.burned); err != nil {
		return err
	}
	return e.state.Set(state.SupplyKey(), supply.Encode())
}

// checkSupply checks that the sum of the balances and the burned amount is unchanged.
func checkSupply(accesses []types.Access) error {
	var before, after sum128
	for _, a := range accesses {
		if err := before.addRecord(a.Key, a.Old); err != nil {
			return err
		}
		if err := after.addRecord(a.Key, a.New); err != nil {
			return err
		}
	}
	if before != after {
		return ErrSupply
	}
	return nil
}
