package exec

import (
	"fmt"
	"math"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Env is the environment in which a block's transactions are checked. It depends on the parent, the chain's network and
// the block's timestamp.
type Env struct {
	ChainID    uint64
	Network    types.Network    // the genesis'
	Parameters types.Parameters // in the parent's state
	BaseFee    types.Amount     // the block's base fee
	Timestamp  uint64           // the block's, in milliseconds
}

// NewEnv returns the environment of the block after parent with a timestamp, in milliseconds; p are the parameters in
// the state after parent.
func NewEnv(network types.Network, parent types.Header, p types.Parameters, timestamp uint64) Env {
	return Env{
		ChainID: parent.ChainID, Network: network, Parameters: p,
		BaseFee: fees.NextBaseFee(parent, p), Timestamp: timestamp,
	}
}

// ReadAccount reads an account from a committed state.
func ReadAccount(r state.Reader, a types.Account) (state.Account, error) {
	record, err := r.Get(state.AccountKey(a))
	if err != nil {
		return state.Account{}, err
	}
	return state.DecodeAccount(a, record)
}

// peekAccount is [ReadAccount] on a block in progress. It does not record the key.
func peekAccount(o *state.Overlay, a types.Account) (state.Account, error) {
	record, err := o.Peek(state.AccountKey(a))
	if err != nil {
		return state.Account{}, err
	}
	return state.DecodeAccount(a, record)
}

// CheckStatic checks every validity rule that needs neither an account nor a signature: rules 2 to 13 of
// docs/protocol.md, and the part of rule 15 that holds for any sender.
func CheckStatic(env Env, tx *types.SignedTransaction) error {
	if tx.ChainID != env.ChainID {
		return fmt.Errorf("%w: its chain id is %d, but this chain has %d", ErrWrongChain, tx.ChainID, env.ChainID)
	}
	if tx.Nonce == math.MaxUint64 {
		return ErrNonceExhausted
	}
	for _, check := range []func(*types.SignedTransaction) error{
		checkSizes, checkUnused, checkAmounts, checkPayer, checkPolicies, checkRecovery,
	} {
		if err := check(tx); err != nil {
			return err
		}
	}
	return checkIn(env, tx)
}

// checkIn checks rules 11 to 13 and 15.
func checkIn(env Env, tx *types.SignedTransaction) error {
	switch {
	case tx.MaxFeePerGas < env.BaseFee:
		return fmt.Errorf("%w: %d, at least %d", ErrFeeTooLow, tx.MaxFeePerGas, env.BaseFee)
	case tx.ValidUntil != nil && env.Timestamp > *tx.ValidUntil:
		return fmt.Errorf("%w: scheduled for %d, but the time is already %d", ErrExpired, *tx.ValidUntil, env.Timestamp)
	}
	if p, ok := tx.Payload.(types.Configure); ok {
		if tx.Sender != env.Parameters.Admin {
			return ErrNotAdmin
		}
		if err := params.CheckChange(env.Parameters, p.Parameters, env.Timestamp); err != nil {
			return fmt.Errorf("%w: %w", ErrBadParameters, err)
		}
	}
	switch intrinsic := fees.IntrinsicGas(tx); {
	case tx.GasLimit < intrinsic:
		return fmt.Errorf("%w: it is %d, but %d is needed", ErrIntrinsicGas, tx.GasLimit, intrinsic)
	case tx.GasLimit > env.Parameters.GasLimit:
		return fmt.Errorf("%w: %d, at most %d", ErrGasOverBlock, tx.GasLimit, env.Parameters.GasLimit)
	}
	return nil
}

// checkSizes checks rule 4.
func checkSizes(tx *types.SignedTransaction) error {
	if err := checkPayloadSizes(tx.Payload); err != nil {
		return err
	}
	if err := checkWitnessSize("witness", tx.Witness); err != nil {
		return err
	}
	return checkWitnessSize("payer_witness", tx.PayerWitness)
}

func checkWitnessSize(field string, w types.Witness) error {
	policy, ok := w.(types.WitnessPolicy)
	if !ok { // the others are short, and a simulation has none
		return nil
	}
	return tooLong(field, types.WitnessBytes(policy), types.MaxWitnessBytes)
}

func tooLong(field string, size, limit int) error {
	if size > limit {
		return &SizeError{ErrFieldTooLong, field, size, limit}
	}
	return nil
}

func checkPayloadSizes(payload types.Payload) error {
	both := func(name, text string, limit int, rest string, data []byte) error {
		if err := tooLong(name, len(text), limit); err != nil {
			return err
		}
		return tooLong(rest, len(data), types.MaxArgsBytes)
	}
	switch p := payload.(type) {
	case types.Deploy:
		if len(p.Code) > types.MaxCodeBytes {
			return &SizeError{ErrCodeTooLong, "code", len(p.Code), types.MaxCodeBytes}
		}
		return both("name", p.Name, types.MaxNameBytes, "init_args", p.InitArgs)
	case types.Instantiate:
		return both("name", p.Name, types.MaxNameBytes, "init_args", p.InitArgs)
	case types.Call:
		return both("function", p.Function, types.MaxFunctionBytes, "args", p.Args)
	case types.Batch:
		for _, step := range p.Steps {
			if err := checkPayloadSizes(step.Action); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkUnused checks rule 5.
func checkUnused(tx *types.SignedTransaction) error {
	target, value := true, true // whether the payload uses them
	switch tx.Payload.(type) {
	case types.Deploy:
		target = false
	case types.Configure, types.Batch, types.SetPolicy:
		target, value = false, false
	}
	if !target && !tx.Target.IsZero() || !value && tx.Value != 0 {
		return fmt.Errorf("%w in a transaction with a %s", ErrNotZero, tx.Payload.Kind())
	}
	return nil
}

// checkAmounts checks rules 6 and 7.
func checkAmounts(tx *types.SignedTransaction) error {
	if _, err := tx.FeeCap(); err != nil {
		return fmt.Errorf("%w: gas limit × max fee", ErrOverflow)
	}
	if _, err := tx.Amount(); err != nil {
		return fmt.Errorf("%w: the sum of the steps' values", ErrOverflow)
	}
	if tx.MaxPriorityFeePerGas > tx.MaxFeePerGas {
		return fmt.Errorf("%w: %d over %d", ErrPriorityOverMax, tx.MaxPriorityFeePerGas, tx.MaxFeePerGas)
	}
	return nil
}

// checkPayer checks rule 8.
func checkPayer(tx *types.SignedTransaction) error {
	switch {
	case tx.Payer != nil && *tx.Payer == tx.Sender:
		return fmt.Errorf("%w: the sender is named as payer", ErrBadPayer)
	case tx.Payer == nil && tx.PayerWitness != nil:
		return fmt.Errorf("%w: there is a payer's witness and no payer", ErrBadPayer)
	case tx.Payer != nil && tx.PayerWitness == nil && tx.Witness != nil: // a simulation has no witness
		return fmt.Errorf("%w: the payer's witness is missing", ErrBadPayer)
	case tx.ValidUntil != nil && *tx.ValidUntil > types.MaxTime:
		return fmt.Errorf("%w: %d", ErrBadValidUntil, *tx.ValidUntil)
	}
	return nil
}

// checkPolicies checks rule 9.
func checkPolicies(tx *types.SignedTransaction) error {
	check := func(of string, p *types.Policy) error {
		if err := p.Check(); err != nil {
			return fmt.Errorf("%w: the %s's: %w", ErrBadPolicy, of, err)
		}
		return nil
	}
	if w, ok := tx.Witness.(types.WitnessPolicy); ok {
		if err := check("sender", &w.Policy); err != nil {
			return err
		}
	}
	if w, ok := tx.PayerWitness.(types.WitnessPolicy); ok {
		if err := check("payer", &w.Policy); err != nil {
			return err
		}
	}
	if p, ok := tx.Payload.(types.SetPolicy); ok && p.Policy != nil {
		return check("payload", p.Policy)
	}
	return nil
}

// checkRecovery checks rule 10: recovery keys must not be able to spend the account's coins as fees.
func checkRecovery(tx *types.SignedTransaction) error {
	if p, ok := tx.Payload.(types.SetPolicy); !ok || !p.Recovery {
		return nil
	}
	if tx.Payer == nil {
		return fmt.Errorf("%w: a recovery needs one", ErrBadPayer)
	}
	if w, ok := tx.Witness.(types.WitnessPolicy); tx.Witness != nil && (!ok || w.Policy.Recovery == nil) {
		return fmt.Errorf("%w: the sender's witness has no policy with a recovery", ErrBadPolicy)
	}
	return nil
}

// CheckAt checks the validity rules that depend on the accounts of sender and payer and need no signature: 14, 16 and
// 17, and the rest of 15. payer is nil if the transaction has none.
func CheckAt(env Env, sender state.Account, payer *state.Account, tx *types.VerifiedTx) error {
	signed := tx.Signed()
	switch {
	case signed.Nonce < sender.Nonce:
		return fmt.Errorf("%w: %d, next is %d", ErrNonceTooLow, signed.Nonce, sender.Nonce)
	case signed.Nonce > sender.Nonce:
		return fmt.Errorf("%w: %d, next is %d", ErrNonceTooHigh, signed.Nonce, sender.Nonce)
	}
	funds := Funds{Entry: sender.Exists(), Balance: sender.Balance}
	if payer != nil {
		funds.Payer = payer.Balance
	}
	if err := CheckFunds(funds, signed); err != nil {
		return err
	}
	return CheckClaims(env, sender, payer, signed, Claims{tx.Claim(), tx.PayerClaim()})
}

// Funds holds the balances from which the sender and the payer pay for a transaction.
type Funds struct {
	Entry   bool // whether the sender has an entry in the state
	Balance types.Amount
	Payer   types.Amount // balance of the payer, if there is one
}

// CheckFunds checks rule 16 and the rest of 15: a sender without an entry has the gas for one, and sender and payer
// have the coins.
func CheckFunds(f Funds, tx *types.SignedTransaction) error {
	if !f.Entry {
		if needed := fees.IntrinsicGas(tx) + params.Prices.NewAccount; tx.GasLimit < needed {
			return fmt.Errorf("%w: it is %d, but a sender without an entry needs %d", ErrIntrinsicGas, tx.GasLimit, needed)
		}
	}
	amount, err := tx.Amount()
	if err != nil {
		return fmt.Errorf("%w: the sum of the steps' values", ErrOverflow)
	}
	fee, err := tx.FeeCap()
	if err != nil {
		return fmt.Errorf("%w: gas limit × max fee", ErrOverflow)
	}
	if tx.Payer == nil {
		if amount, err = amount.Add(fee); err != nil || f.Balance < amount {
			return fmt.Errorf("%w: balance is %d", ErrCannotPay, f.Balance)
		}
		return nil
	}
	switch {
	case f.Balance < amount:
		return fmt.Errorf("%w: balance is %d", ErrCannotPay, f.Balance)
	case f.Payer < fee:
		return fmt.Errorf("%w of %d: balance is %d", ErrPayerCannotPay, fee, f.Payer)
	}
	return nil
}

// Claims are the authorities that the witnesses of a transaction claim.
type Claims struct {
	Sender types.Account
	Payer  types.Account // zero without a payer
}

// ClaimsOf returns the claims of a transaction's witnesses. It checks no signature.
func ClaimsOf(tx *types.SignedTransaction) Claims {
	c := Claims{Sender: tx.Witness.Claim(tx.Sender)}
	if tx.Payer != nil && tx.PayerWitness != nil {
		c.Payer = tx.PayerWitness.Claim(*tx.Payer)
	}
	return c
}

// CheckClaims checks rule 17: the witnesses claim the authorities in force.
func CheckClaims(
	env Env, sender state.Account, payer *state.Account, tx *types.SignedTransaction, claims Claims,
) error {
	if in := sender.AuthorityAt(tx.Sender, env.Timestamp); claims.Sender != in {
		return &AuthorityError{Account: tx.Sender, Authority: in}
	}
	if tx.Payer == nil {
		return nil
	}
	var record state.Account
	if payer != nil {
		record = *payer
	}
	if in := record.AuthorityAt(*tx.Payer, env.Timestamp); claims.Payer != in {
		return &AuthorityError{Account: *tx.Payer, Authority: in}
	}
	return nil
}

// CheckTexts returns [ErrTextTooLong] if a signature over a text cannot hold, because the text is too long for one. It
// is a part of rule 18 that has a reason of its own.
func CheckTexts(network types.Network, tx *types.SignedTransaction) error {
	check := func(w types.Witness, text func(types.Network) (string, bool)) error {
		if !signsText(w) {
			return nil
		}
		if text, ok := text(network); !ok || len(text) > types.MaxTextBytes {
			return fmt.Errorf("%w: %d bytes, at most %d", ErrTextTooLong, len(text), types.MaxTextBytes)
		}
		return nil
	}
	if err := check(tx.Witness, tx.Text); err != nil {
		return err
	}
	return check(tx.PayerWitness, tx.PayerText)
}

// signsText reports whether a witness has a signature over a text.
func signsText(w types.Witness) bool {
	switch w := w.(type) {
	case types.WitnessText:
		return true
	case types.WitnessPolicy:
		for _, proof := range w.Proofs {
			if _, ok := proof.Evidence.(types.EvidenceText); ok {
				return true
			}
		}
	}
	return false
}
