package exec

import (
	"encoding/binary"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// PaymentKind is the kind of a payment.
type PaymentKind string

// Kinds of payments.
const (
	PaidByTransfer PaymentKind = "transfer" // amount of a transfer
	PaidByDeploy   PaymentKind = "deploy"   // value of a deploy, paid to the new contract
	PaidByCall     PaymentKind = "call"     // value of a call, paid to the contract
	PaidByContract PaymentKind = "contract" // payment by a running contract, including the value of a nested call
)

// PaymentKinds returns all kinds.
func PaymentKinds() []PaymentKind {
	return []PaymentKind{PaidByTransfer, PaidByDeploy, PaidByCall, PaidByContract}
}

// Payment is a movement of value between accounts in a transaction. Both accounts may be the same.
type Payment struct {
	Kind     PaymentKind
	From, To types.Account
	Amount   types.Amount // over 0, in smallest units
	Place    uint32       // position in the transaction: 0 for its own value, n for its n-th log, counted from 1
}

// Payments returns all payments of an included transaction, in order. After genesis, only payments and fees change
// balances.
func Payments(tx *types.Transaction, receipt *types.Receipt) (payments []Payment) {
	if receipt.Status != types.StatusSuccess {
		return nil
	}
	if to, ok := tx.Recipient(); ok && tx.Payload.Value() > 0 {
		kind := PaidByTransfer
		switch tx.Payload.Kind() {
		case types.KindDeploy:
			kind = PaidByDeploy
		case types.KindCall:
			kind = PaidByCall
		}
		payments = append(payments, Payment{Kind: kind, From: tx.Sender, To: to, Amount: tx.Payload.Value()})
	}
	for i := range receipt.Logs {
		if log := &receipt.Logs[i]; IsPayment(log) {
			payments = append(payments, Payment{
				Kind: PaidByContract, From: log.Topics[0], To: log.Topics[1],
				Amount: types.Amount(binary.LittleEndian.Uint64(log.Data)), Place: uint32(i) + 1,
			})
		}
	}
	return payments
}

// IsPayment reports whether a log records a payment by a contract. Contracts may emit a log of the same name, but not
// as the zero contract.
func IsPayment(log *types.Log) bool {
	return log.Contract.IsZero() && log.Name == types.NativeTransfer && len(log.Topics) == 2 && len(log.Data) == 8
}

// logTransfer logs a payment by a contract.
func (f *frame) logTransfer(from, to types.Account, amount types.Amount) vm.Exit {
	return f.log(types.Log{
		Name: types.NativeTransfer, Topics: [][32]byte{from, to}, Data: binary.LittleEndian.AppendUint64(nil, uint64(amount)),
	})
}
