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

// Derivation is a block in progress. Transactions are applied to it one after the other.
type Derivation struct {
	env     Env
	header  types.Header
	state   *state.Overlay
	machine Machine
	applied
	parallel  lists.Parallel // see [Derivation.ShareOut]
	stop      func() error   // may be nil; see [Derivation.StopWith]
	spareLoad bool           // see [Derivation.SpareLoad]

	// Only simulations set these.
	tracer Tracer // may be nil
	view   bool   // the call is in view context
}

// applied holds the results of the applied transactions.
type applied struct {
	txs      []*types.Tx
	receipts []types.Receipt
	reasons  []Reason
	bytes    int
	burned   types.Amount
	codes    map[types.CodeHash][]byte // codes that the block's deploys brought
	loaded   loads
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

// Seed returns the part of the header after parent that is known before execution. p are the parameters in the state
// after parent; timestamp is in milliseconds. The errors are [ErrTimestamp] and [ErrUnknownVersion].
func Seed(parent types.Header, p types.Parameters, timestamp uint64) (types.Header, error) {
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

// Begin starts a block with the header of seed (see [Seed]) on the parent's state. p are the parameters in that state;
// machine runs the contracts.
func Begin(
	network types.Network, p types.Parameters, parent state.Reader, seed types.Header, machine Machine,
) *Derivation {
	env := Env{
		ChainID: seed.ChainID, Network: network, Parameters: p, BaseFee: seed.BaseFee, Timestamp: seed.Timestamp,
	}
	return &Derivation{env: env, header: seed, state: state.NewOverlay(parent), machine: machine, parallel: lists.InOrder}
}

// Trace sets the tracer of the transactions that are applied from now on; nil disables tracing.
func (d *Derivation) Trace(t Tracer) { d.tracer = t }

// RunIn sets the engine that runs contracts from now on.
func (d *Derivation) RunIn(engine vm.Engine) { d.machine.Engine = engine }

// ShareOut sets how the lists of transactions and receipts are hashed in the end, on several cores; by default they are
// hashed one run after the other.
func (d *Derivation) ShareOut(parallel lists.Parallel) { d.parallel = parallel }

// StopWith sets a function that is called before code is loaded and at least once per vm.MaxSlice of gas and per host
// function; nil removes it. An error from it ends [Derivation.Apply]. Only work that no other node waits for may be
// stopped: an existing block is executed to its end.
func (d *Derivation) StopWith(stop func() error) { d.stop = stop }

// Override writes the derivation's parameters into the state; it must precede the first transaction. It implements a
// hard fork that all nodes agreed on outside the chain, to replace a producer's key that was lost.
func (d *Derivation) Override() error {
	return d.state.Set(state.ParametersKey(), d.env.Parameters.Encode())
}

// Reserve allocates room for n transactions. The result does not depend on n, which may be an estimate.
func (d *Derivation) Reserve(n int) {
	d.txs = slices.Grow(d.txs, n)
	d.receipts = slices.Grow(d.receipts, n)
	d.reasons = slices.Grow(d.reasons, n)
}

// GasLeft returns the gas that the block has left for further transactions.
func (d *Derivation) GasLeft() types.Gas { return d.header.GasLimit - d.header.GasUsed }

// Full reports whether no further transaction can fit: each has at least the gas and the bytes of a plain transfer.
func (d *Derivation) Full() bool {
	return d.GasLeft() < schedule.IntrinsicTransfer+schedule.WitnessKey ||
		d.bytes+types.MinTransactionBytes > int(d.env.Parameters.BlockBytes)
}

// Apply executes a transaction. If [IsInvalid] holds for the error, the derivation is unchanged: a builder skips the
// transaction, an importer rejects the block. An error from the function of [Derivation.StopWith] and a [*vm.Fault]
// also leave it unchanged. Any other error is a fault of the node, and the derivation must not be used any more.
func (d *Derivation) Apply(tx *types.VerifiedTx) (types.Receipt, error) {
	signed := tx.Signed()
	if err := CheckStatic(d.env, signed); err != nil {
		return types.Receipt{}, err
	}
	sender, payer, err := d.peekAccounts(&signed.Transaction)
	if err != nil {
		return types.Receipt{}, err
	}
	if err := CheckAt(d.env, sender, payer, tx); err != nil {
		return types.Receipt{}, err
	}
	if signed.GasLimit > d.GasLeft() {
		return types.Receipt{}, fmt.Errorf("%w: %d gas are left", ErrBlockFull, d.GasLeft())
	}
	if d.bytes+len(tx.Encoded()) > int(d.env.Parameters.BlockBytes) {
		return types.Receipt{}, fmt.Errorf("%w: %d bytes are taken", ErrBlockFull, d.bytes)
	}
	d.state.Seal()
	outcome, err := d.execute(signed, sender)
	if err != nil {
		d.state.Undo()
		return types.Receipt{}, err
	}
	receipt := outcome.receipt()
	d.bytes += len(tx.Encoded())
	d.header.GasUsed += receipt.GasUsed
	d.txs = append(d.txs, tx.Tx())
	d.receipts = append(d.receipts, receipt)
	d.reasons = append(d.reasons, outcome.Reason)
	return receipt, nil
}

// peekAccounts reads the sender and, if there is one, the payer without recording their keys.
func (d *Derivation) peekAccounts(tx *types.Transaction) (sender state.Account, payer *state.Account, err error) {
	if sender, err = peekAccount(d.state, tx.Sender); err != nil || tx.Payer == nil {
		return sender, nil, err
	}
	account, err := peekAccount(d.state, *tx.Payer)
	return sender, &account, err
}

// execute applies a valid transaction as specified in docs/protocol.md, "Execution".
func (d *Derivation) execute(tx *types.SignedTransaction, sender state.Account) (Outcome, error) {
	price := fees.Price(d.env.BaseFee, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas)
	if err := d.listAccesses(&tx.Transaction); err != nil {
		return Outcome{}, err
	}
	if err := d.charge(&tx.Transaction, sender, price); err != nil { // 1
		return Outcome{}, err
	}
	outcome, err := d.runPayload(tx, intrinsicGas(tx, sender)) // 2
	if err != nil {
		return Outcome{}, err
	}
	if err := d.addLoad(outcome); err != nil {
		return Outcome{}, err
	}
	return outcome, d.settle(&tx.Transaction, price, outcome.GasUsed) // 3
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
func (d *Derivation) listAccesses(tx *types.Transaction) error {
	var keys [5][]byte
	listed := keys[:0]
	if len(d.txs) == 0 {
		// All transactions of a block have the same fee recipient.
		recipient := state.AccountKey(d.env.Parameters.FeeRecipient)
		listed = append(listed, state.SupplyKey(), state.ParametersKey(), recipient)
	}
	listed = append(listed, state.AccountKey(tx.Sender))
	if tx.Payer != nil {
		listed = append(listed, state.AccountKey(*tx.Payer))
	}
	if err := d.list(listed...); err != nil {
		return err
	}
	switch tx.Payload.(type) {
	case types.Deploy:
		return d.listMade(tx)
	case types.Instantiate:
		if err := d.list(state.ContractKey(types.ContractID(tx.Target))); err != nil {
			return err
		}
		return d.listMade(tx)
	default:
		return d.listAction(tx.Payload, tx.Target, tx.Value)
	}
}

// listMade records the keys of the contract that a transaction makes.
func (d *Derivation) listMade(tx *types.Transaction) error {
	id := types.NewContractID(tx.Sender, tx.Nonce)
	if err := d.list(state.ContractKey(id)); err != nil || tx.Value == 0 {
		return err
	}
	return d.list(state.AccountKey(types.Account(id)))
}

// listAction records the keys of a transfer or a call, by a transaction or by a step of a Batch.
func (d *Derivation) listAction(p types.Payload, target types.Account, value types.Amount) error {
	switch p.(type) {
	case types.Transfer:
		if value == 0 {
			return nil
		}
		return d.list(state.AccountKey(target))
	case types.Call:
		return d.list(state.ContractKey(types.ContractID(target)))
	default:
		return nil
	}
}

func (d *Derivation) list(keys ...[]byte) error {
	for _, key := range keys {
		if _, err := d.state.Get(key); err != nil {
			return err
		}
	}
	return nil
}

// charge brings a recovery whose time has come into force, increments the nonce, and takes the price of the whole gas
// limit from the payer or, without one, from the sender. A failure of the payload does not undo it.
func (d *Derivation) charge(tx *types.Transaction, sender state.Account, price types.Amount) error {
	cost, err := tx.GasLimit.Cost(price)
	if err != nil {
		return err
	}
	sender = sender.At(d.header.Timestamp)
	sender.Nonce++
	if tx.Payer == nil {
		if sender.Balance, err = sender.Balance.Sub(cost); err != nil {
			return err
		}
		return d.state.SetAccount(tx.Sender, sender)
	}
	if err := d.state.SetAccount(tx.Sender, sender); err != nil {
		return err
	}
	return d.debit(*tx.Payer, cost)
}

// payerOf returns the account that pays a transaction's gas.
func payerOf(tx *types.Transaction) types.Account {
	if tx.Payer != nil {
		return *tx.Payer
	}
	return tx.Sender
}

// settle refunds the unused gas, burns the base fee's share and credits the rest to the fee recipient.
func (d *Derivation) settle(tx *types.Transaction, price types.Amount, used types.Gas) error {
	refund, err := (tx.GasLimit - used).Cost(price)
	if err != nil {
		return err
	}
	burned, err := used.Cost(d.env.BaseFee)
	if err != nil {
		return err
	}
	tip, err := used.Cost(price - d.env.BaseFee)
	if err != nil {
		return err
	}
	if d.burned, err = d.burned.Add(burned); err != nil {
		return err
	}
	if err := d.credit(payerOf(tx), refund); err != nil {
		return err
	}
	return d.credit(d.env.Parameters.FeeRecipient, tip)
}

// credit adds amount to an account's balance. It does nothing if amount is 0.
func (d *Derivation) credit(to types.Account, amount types.Amount) error {
	if amount == 0 {
		return nil
	}
	account, err := d.state.Account(to)
	if err != nil {
		return err
	}
	if account.Balance, err = account.Balance.Add(amount); err != nil {
		return err
	}
	return d.state.SetAccount(to, account)
}

func (d *Derivation) debit(from types.Account, amount types.Amount) error {
	account, err := d.state.Account(from)
	if err != nil {
		return err
	}
	if account.Balance, err = account.Balance.Sub(amount); err != nil {
		return err
	}
	return d.state.SetAccount(from, account)
}

// Finish completes the header except for the state root. The derivation must not be used afterwards.
func (d *Derivation) Finish() (Result, error) {
	return d.FinishWith(lists.TransactionsRootBy(d.txs, d.parallel))
}

// FinishWith is [Derivation.Finish] for callers that know the root of the applied transactions, in order.
func (d *Derivation) FinishWith(root types.MerkleRoot) (Result, error) {
	if d.burned > 0 {
		if err := d.burn(); err != nil {
			return Result{}, err
		}
	}
	accesses := d.state.Accesses()
	if err := checkSupply(accesses); err != nil {
		return Result{}, err
	}
	codes, err := d.newCodes(accesses)
	if err != nil {
		return Result{}, err
	}
	d.header.TransactionsRoot = root
	d.header.ReceiptsRoot = lists.ReceiptsRootBy(d.receipts, d.parallel)
	return Result{
		Header:       d.header,
		Transactions: d.txs,
		Receipts:     d.receipts,
		Reasons:      d.reasons,
		Accesses:     accesses,
		Codes:        codes,
		Loaded:       d.loadedBefore(),
	}, nil
}

func (d *Derivation) burn() error {
	record, err := d.state.Get(state.SupplyKey())
	if err != nil {
		return err
	}
	supply, err := state.DecodeSupply(record)
	if err != nil {
		return err
	}
	if supply.Burned, err = supply.Burned.Add(d.burned); err != nil {
		return err
	}
	return d.state.Set(state.SupplyKey(), supply.Encode())
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
