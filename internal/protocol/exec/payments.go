package exec

import (
	"encoding/binary"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// PaymentKind says how an account was paid.
type PaymentKind string

// The kinds of payments.
const (
	PaidByTransfer PaymentKind = "transfer" // the amount of a transfer
	PaidByDeploy   PaymentKind = "deploy"   // the value of a deploy, which the new contract gets
	PaidByCall     PaymentKind = "call"     // the value of a call, which the contract gets
	PaidByContract PaymentKind = "contract" // what a contract paid while it ran, the value of nested calls too
)

// PaymentKinds lists the kinds.
func PaymentKinds() []PaymentKind {
	return []PaymentKind{PaidByTransfer, PaidByDeploy, PaidByCall, PaidByContract}
}

// Payment is what a transaction moved from one account to another, or to the same.
type Payment struct {
	Kind     PaymentKind
	From, To types.Account
	Amount   types.Amount // over 0, in smallest units
	Place    uint32       // among the transaction's: 0 is its own value, n its n-th log, counted from 1
}

// Payments are all payments of an included transaction, in the order in which they were made. With the fees they are
// all that changes balances after genesis.
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

// IsPayment reports whether a log is that of a payment by a contract. Contracts can emit the name, but not as the zero
// contract.
func IsPayment(log *types.Log) bool {
	return log.Contract.IsZero() && log.Name == types.NativeTransfer && len(log.Topics) == 2 && len(log.Data) == 8
}

// logTransfer is the log of a payment that a contract makes.
func (f *frame) logTransfer(from, to types.Account, amount types.Amount) vm.Exit {
	return f.log(types.Log{
		Name: types.NativeTransfer, Topics: [][32]byte{from, to}, Data: binary.LittleEndian.AppendUint64(nil, uint64(amount)),
	})
}
