package exec

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
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
	stop      func() error // may be nil; see [Derivation.StopWith]
	spareLoad bool         // see [Derivation.SpareLoad]

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
	Transactions []*types.Tx // in the block's order; their signatures are valid
	Receipts     []types.Receipt
	Reasons      []Reason                  // reasons of failed transactions; Success for the others
	Accesses     []types.Access            // every key that was read or written, ascending
	Codes        map[types.CodeHash][]byte // codes of the contracts that the block created; nil if there are none
	Loaded       []types.CodeHash          // older codes that the block's transactions loaded, in the order of loading
}

// Seed returns the part of the header after parent that is known before execution. p are the parameters in the state
// after parent. The errors are [ErrTimestamp] and [ErrUnknownVersion].
func Seed(parent types.Header, p types.Parameters, timestamp uint64) (types.Header, error) {
	if timestamp < parent.Timestamp {
		return types.Header{}, fmt.Errorf("%w: %d, parent has %d", ErrTimestamp, timestamp, parent.Timestamp)
	}
	if err := checkVersion(p.Version); err != nil {
		return types.Header{}, err
	}
	return types.Header{
		Version:   p.Version,
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
func Begin(p types.Parameters, parent state.Reader, seed types.Header, machine Machine) *Derivation {
	env := Env{ChainID: seed.ChainID, Parameters: p, BaseFee: seed.BaseFee}
	return &Derivation{env: env, header: seed, state: state.NewOverlay(parent), machine: machine}
}

// Trace sets the tracer of the transactions that are applied from now on; nil disables tracing.
func (d *Derivation) Trace(t Tracer) { d.tracer = t }

// RunIn sets the engine that runs contracts from now on.
func (d *Derivation) RunIn(engine vm.Engine) { d.machine.Engine = engine }

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

// Full reports whether no further transaction can fit: each costs at least a transfer's gas.
func (d *Derivation) Full() bool { return d.GasLeft() < params.Schedule1.IntrinsicTransfer }

// Apply executes a transaction. If [IsInvalid] holds for the error, the derivation is unchanged: a builder skips the
// transaction, an importer rejects the block. An error from the function of [Derivation.StopWith] and a [*vm.Fault]
// also leave it unchanged. Any other error is a fault of the node, and the derivation must not be used any more.
func (d *Derivation) Apply(tx *types.VerifiedTx) (types.Receipt, error) {
	signed := tx.Signed()
	if err := CheckStatic(d.env, signed); err != nil {
		return types.Receipt{}, err
	}
	sender, err := peekSender(d.state, signed.Sender)
	if err != nil {
		return types.Receipt{}, err
	}
	if err := CheckAt(d.env, sender, signed); err != nil {
		return types.Receipt{}, err
	}
	if signed.GasLimit > d.GasLeft() {
		return types.Receipt{}, fmt.Errorf("%w: %d gas are left", ErrBlockFull, d.GasLeft())
	}
	if d.bytes+len(tx.Encoded()) > types.MaxBlockBytes {
		return types.Receipt{}, fmt.Errorf("%w: %d bytes are taken", ErrBlockFull, d.bytes)
	}
	d.state.Seal()
	outcome, err := d.execute(&signed.Transaction)
	if err != nil {
		d.state.Undo()
		return types.Receipt{}, err
	}
	receipt := outcome.receipt(tx.ID())
	d.bytes += len(tx.Encoded())
	d.header.GasUsed += receipt.GasUsed
	d.txs = append(d.txs, tx.Tx())
	d.receipts = append(d.receipts, receipt)
	d.reasons = append(d.reasons, outcome.Reason)
	return receipt, nil
}

// execute applies a valid transaction as specified in docs/protocol.md, "Applying one valid transaction".
func (d *Derivation) execute(tx *types.Transaction) (Outcome, error) {
	price := fees.Price(d.env.BaseFee, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas)
	if err := d.listAccesses(tx); err != nil {
		return Outcome{}, err
	}
	if err := d.charge(tx, price); err != nil {
		return Outcome{}, err
	}
	outcome, err := d.runPayload(tx)
	if err != nil {
		return Outcome{}, err
	}
	if err := d.addLoad(outcome); err != nil {
		return Outcome{}, err
	}
	return outcome, d.settle(tx, price, outcome.GasUsed)
}

// listAccesses records the keys that every block with transactions, and every transaction, has in the access list
// regardless of gas.
func (d *Derivation) listAccesses(tx *types.Transaction) error {
	var err error
	list := func(key []byte) {
		if err == nil {
			_, err = d.state.Get(key)
		}
	}
	if len(d.txs) == 0 {
		list(state.SupplyKey())
		list(state.ParametersKey())
		list(state.AccountKey(d.env.Parameters.FeeRecipient))
	}
	list(state.AccountKey(tx.Sender))
	list(state.ContractKey(types.ContractID(tx.Sender)))
	switch p := tx.Payload.(type) {
	case types.Transfer:
		if p.Amount > 0 {
			list(state.AccountKey(p.To))
		}
	case types.Deploy:
		id := types.NewContractID(tx.Sender, tx.Nonce)
		list(state.ContractKey(id))
		if p.Amount > 0 {
			list(state.AccountKey(types.Account(id)))
		}
		if source, ok := p.Copies(); ok {
			list(state.ContractKey(source))
		}
	case types.Call:
		list(state.ContractKey(p.Contract))
	}
	return err
}

// charge takes the price of the whole gas limit from the sender and increments the nonce. A failure of the payload does
// not undo it.
func (d *Derivation) charge(tx *types.Transaction, price types.Amount) error {
	sender, err := d.state.Account(tx.Sender)
	if err != nil {
		return err
	}
	cost, err := tx.GasLimit.Cost(price)
	if err != nil {
		return err
	}
	if sender.Balance, err = sender.Balance.Sub(cost); err != nil {
		return err
	}
	sender.Nonce++
	return d.state.SetAccount(tx.Sender, sender)
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
	if err := d.credit(tx.Sender, refund); err != nil {
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
	return d.FinishWith(types.TransactionsRoot(types.IDs(d.txs)))
}

// FinishWith is [Derivation.Finish] for callers that know the Merkle root of the applied transactions' IDs, in order.
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
	d.header.ReceiptsRoot = types.ReceiptsRoot(d.receipts)
	d.header.WritesDigest = types.DigestWrites(accesses)
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
