package exec

import (
	"fmt"
	"math"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Env is the environment in which a block's transactions are checked. It depends only on the parent.
type Env struct {
	ChainID    uint64
	Parameters types.Parameters // in the parent's state
	BaseFee    types.Amount     // the block's base fee
}

// NewEnv returns the environment of the block after parent; p are the parameters in the state after parent.
func NewEnv(parent types.Header, p types.Parameters) Env {
	return Env{ChainID: parent.ChainID, Parameters: p, BaseFee: fees.NextBaseFee(parent, p)}
}

// Sender is the part of a transaction's sender that [CheckAt] needs.
type Sender struct {
	state.Account
	IsContract bool
}

// ReadSender reads a sender from a committed state.
func ReadSender(r state.Reader, a types.Account) (Sender, error) {
	record, err := r.Get(state.AccountKey(a))
	if err != nil {
		return Sender{}, err
	}
	contract, err := r.Get(state.ContractKey(types.ContractID(a)))
	if err != nil {
		return Sender{}, err
	}
	return newSender(record, contract)
}

// peekSender is [ReadSender] on a block in progress. It does not record the keys that it reads.
func peekSender(o *state.Overlay, a types.Account) (Sender, error) {
	record, err := o.Peek(state.AccountKey(a))
	if err != nil {
		return Sender{}, err
	}
	contract, err := o.Peek(state.ContractKey(types.ContractID(a)))
	if err != nil {
		return Sender{}, err
	}
	return newSender(record, contract)
}

func newSender(record, contract []byte) (Sender, error) {
	account, err := state.DecodeAccount(record)
	return Sender{Account: account, IsContract: len(contract) > 0}, err
}

// CheckStatic checks every validity rule that needs no account: version, chain, sizes, gas, fees, and the sender and
// parameters of a Configure.
func CheckStatic(env Env, tx *types.SignedTransaction) error {
	switch {
	case tx.Version != types.TransactionVersion:
		return fmt.Errorf("%w: %d", ErrBadVersion, tx.Version)
	case tx.ChainID != env.ChainID:
		return fmt.Errorf("%w: %d, this is %d", ErrWrongChain, tx.ChainID, env.ChainID)
	}
	if err := checkSizes(tx.Payload); err != nil {
		return err
	}
	switch intrinsic := fees.IntrinsicGas(tx.Payload); {
	case tx.Nonce == math.MaxUint64:
		return ErrNonceExhausted
	case tx.GasLimit < intrinsic:
		return fmt.Errorf("%w: %d, needed are %d", ErrIntrinsicGas, tx.GasLimit, intrinsic)
	case tx.GasLimit > env.Parameters.GasLimit:
		return fmt.Errorf("%w: %d, at most %d", ErrGasOverBlock, tx.GasLimit, env.Parameters.GasLimit)
	case tx.MaxPriorityFeePerGas > tx.MaxFeePerGas:
		return fmt.Errorf("%w: %d over %d", ErrPriorityOverMax, tx.MaxPriorityFeePerGas, tx.MaxFeePerGas)
	case tx.MaxFeePerGas < env.BaseFee:
		return fmt.Errorf("%w: %d, at least %d", ErrFeeTooLow, tx.MaxFeePerGas, env.BaseFee)
	}
	if p, ok := tx.Payload.(types.Configure); ok {
		if tx.Sender != types.Account(env.Parameters.Producer) {
			return ErrNotProducer
		}
		if err := params.CheckChange(env.Parameters, p.Parameters); err != nil {
			return fmt.Errorf("%w: %w", ErrBadParameters, err)
		}
	}
	return nil
}

func checkSizes(payload types.Payload) error {
	tooLong := func(field string, size, limit int) error {
		if size > limit {
			return &SizeError{ErrFieldTooLong, field, size, limit}
		}
		return nil
	}
	switch p := payload.(type) {
	case types.Deploy:
		if len(p.Code) > types.MaxCodeBytes {
			return &SizeError{ErrCodeTooLong, "code", len(p.Code), types.MaxCodeBytes}
		}
		if err := tooLong("name", len(p.Name), types.MaxNameBytes); err != nil {
			return err
		}
		return tooLong("init_args", len(p.InitArgs), types.MaxArgsBytes)
	case types.Call:
		if err := tooLong("function", len(p.Function), types.MaxFunctionBytes); err != nil {
			return err
		}
		return tooLong("args", len(p.Args), types.MaxArgsBytes)
	default:
		return nil
	}
}

// CheckAt checks the validity rules that depend on the sender's account: it has no code, the nonce is the next one, and
// the balance covers the transaction's cost.
func CheckAt(_ Env, sender Sender, tx *types.SignedTransaction) error {
	switch {
	case sender.IsContract:
		return ErrSenderIsContract
	case tx.Nonce < sender.Nonce:
		return fmt.Errorf("%w: %d, next is %d", ErrNonceTooLow, tx.Nonce, sender.Nonce)
	case tx.Nonce > sender.Nonce:
		return fmt.Errorf("%w: %d, next is %d", ErrNonceTooHigh, tx.Nonce, sender.Nonce)
	}
	cost, err := tx.Cost()
	if err != nil || cost > sender.Balance {
		return fmt.Errorf("%w: balance is %d", ErrCannotPay, sender.Balance)
	}
	return nil
}
