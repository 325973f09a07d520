package client

import (
	"encoding/json"
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Action is what a transaction does: its payload, with the target and the value that belong to it.
type Action struct {
	Target  types.Account
	Value   types.Amount
	Payload types.Payload
}

// ActionOf returns what a transaction does.
func ActionOf(tx types.Transaction) Action {
	return Action{Target: tx.Target, Value: tx.Value, Payload: tx.Payload}
}

// Transfer moves an amount to an account.
func Transfer(to types.Account, amount types.Amount) Action {
	return Action{Target: to, Value: amount, Payload: types.Transfer{}}
}

// TransferWithMemo moves an amount to an account, with a memo for the recipient's books: see [Memo].
func TransferWithMemo(to types.Account, amount types.Amount, memo [32]byte) Action {
	return Action{Target: to, Value: amount, Payload: types.Transfer{Memo: &memo}}
}

// Memo returns a text of at most 32 bytes as a memo. Wallets show printable ASCII as it is, and anything else in hex.
func Memo(text string) (memo [32]byte, err error) {
	if len(text) > len(memo) {
		return memo, fmt.Errorf("a memo has at most %d bytes, %q has %d", len(memo), text, len(text))
	}
	copy(memo[:], text)
	return memo, nil
}

// Configure replaces the chain's parameters. Only their admin may send it.
func Configure(parameters types.Parameters) Action {
	return Action{Payload: types.Configure{Parameters: parameters}}
}

// Deploy stores a contract's WASM code under a name and runs its init function. args is passed to it encoded as JSON,
// or nothing if nil. The contract receives value.
func Deploy(name string, code []byte, args any, value types.Amount) (Action, error) {
	encoded, err := encodeArgs(args)
	return Action{Value: value, Payload: types.Deploy{Name: name, Code: code, InitArgs: encoded}}, err
}

// Instantiate makes a contract with the code of another one, the template, and runs its init function. The code is
// neither sent nor compiled again. args is passed to it encoded as JSON, or nothing if nil. The new contract receives
// value.
func Instantiate(name string, template types.ContractID, args any, value types.Amount) (Action, error) {
	encoded, err := encodeArgs(args)
	payload := types.Instantiate{Name: name, InitArgs: encoded}
	return Action{Target: types.Account(template), Value: value, Payload: payload}, err
}

// Call runs a contract's function. args is passed to it encoded as JSON, or nothing if nil. The contract receives
// value.
func Call(contract types.ContractID, function string, args any, value types.Amount) (Action, error) {
	encoded, err := encodeArgs(args)
	return CallEncoded(contract, function, encoded, value), err
}

// CallEncoded is like [Call], with arguments that are encoded already.
func CallEncoded(contract types.ContractID, function string, args []byte, value types.Amount) Action {
	return Action{Target: types.Account(contract), Value: value, Payload: types.Call{Function: function, Args: args}}
}

// Steps carries out 1 to [types.MaxBatchSteps] transfers and calls in their order, or none of them if one fails.
func Steps(actions ...Action) Action {
	steps := make([]types.Step, len(actions))
	for i, a := range actions {
		steps[i] = types.Step{Target: a.Target, Value: a.Value, Action: a.Payload}
	}
	return Action{Payload: types.Batch{Steps: steps}}
}

// SetPolicy lets a policy sign for the sender from the next transaction on. A nil policy restores the original
// authority: the account's own key, or the policy whose hash the account is. SetPolicy also cancels a pending recovery.
// Keep the encoded policy: the chain has only its hash until it signs for the first time.
func SetPolicy(policy *types.Policy) Action {
	return Action{Payload: types.SetPolicy{Policy: policy}}
}

// Recover is like [SetPolicy], but is signed by the recovery rule of the policy in force and holds only after that
// rule's delay. It needs a payer.
func Recover(policy *types.Policy) Action {
	return Action{Payload: types.SetPolicy{Recovery: true, Policy: policy}}
}

func encodeArgs(args any) ([]byte, error) {
	if args == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments: %w", err)
	}
	return encoded, nil
}
