package exec

import (
	"encoding/binary"

	"github.com/cairn-chain/cairn/types"
)

// PaymentKind is the kind of a payment.
type PaymentKind string

// Kinds of payments.
const (
	PaidByTransfer    PaymentKind = "transfer"    // value of a transfer
	PaidByDeploy      PaymentKind = "deploy"      // value of a deploy, paid to the new contract
	PaidByInstantiate PaymentKind = "instantiate" // value of an instantiate, paid to the new contract
	PaidByCall        PaymentKind = "call"        // value of a call, paid to the contract
	PaidByBatch       PaymentKind = "batch"       // value of a step
	// PaidByContract is a payment by a running contract, including the value of a nested call and of a contract that it
	// creates.
	PaidByContract PaymentKind = "contract"
)

// PaymentKinds returns all kinds.
func PaymentKinds() []PaymentKind {
	return []PaymentKind{
		PaidByTransfer, PaidByDeploy, PaidByInstantiate, PaidByCall, PaidByBatch, PaidByContract,
	}
}

// Payment is a movement of value between accounts in a transaction. Both accounts may be the same.
type Payment struct {
	Kind     PaymentKind
	From, To types.Account
	Amount   types.Amount // over 0, in smallest units
	Memo     *[32]byte    // of a transfer or of a step; nil: none
	Place    uint32       // position in the transaction: 0 for its own value, n for its n-th log, counted from 1
}

// AppendPayments appends all payments of an included transaction, in order. After genesis, only payments and fees
// change balances.
func AppendPayments(payments []Payment, tx *types.Transaction, receipt *types.Receipt) []Payment {
	if receipt.Status != types.StatusSuccess {
		return payments
	}
	if to, ok := tx.Recipient(); ok && tx.Value > 0 {
		payment := Payment{From: tx.Sender, To: to, Amount: tx.Value}
		switch p := tx.Payload.(type) {
		case types.Transfer:
			payment.Kind, payment.Memo = PaidByTransfer, p.Memo
		case types.Deploy:
			payment.Kind = PaidByDeploy
		case types.Instantiate:
			payment.Kind = PaidByInstantiate
		default:
			payment.Kind = PaidByCall
		}
		payments = append(payments, payment)
	}
	for i := range receipt.Logs {
		log := &receipt.Logs[i]
		if !IsPayment(log) {
			continue
		}
		payment := Payment{
			Kind: PaidByContract, From: log.Topics[0], To: log.Topics[1],
			Amount: types.Amount(binary.LittleEndian.Uint64(log.Data)), Place: uint32(i) + 1,
		}
		if payment.From == tx.Sender { // nobody can sign for a contract
			payment.Kind = PaidByBatch
		}
		if memo := log.Data[amountBytes:]; len(memo) > 0 {
			payment.Memo = (*[32]byte)(memo)
		}
		payments = append(payments, payment)
	}
	return payments
}

// Lengths of the data of a payment's log: an amount, and behind it perhaps a memo.
const (
	amountBytes = 8
	memoBytes   = 32
)

// IsPayment reports whether a log records a payment by a contract or by a step of a Batch. Contracts may emit a log of
// the same name, but not as the zero contract.
func IsPayment(log *types.Log) bool {
	return log.Contract.IsZero() && log.Name == types.NativeTransfer && len(log.Topics) == 2 &&
		(len(log.Data) == amountBytes || len(log.Data) == amountBytes+memoBytes)
}

// payment returns the log of a payment.
func payment(from, to types.Account, amount types.Amount) types.Log {
	return types.Log{Name: types.NativeTransfer, Topics: [][32]byte{from, to}, Data: le64(uint64(amount))}
}

func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
