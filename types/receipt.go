package types

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/codec"
)

// ReceiptStatus is the outcome of an included transaction.
type ReceiptStatus uint8

// Outcomes of an included transaction.
const (
	StatusFailed  ReceiptStatus = 0
	StatusSuccess ReceiptStatus = 1
)

// Receipt is the part of a transaction's result that consensus commits to. Its index in the block is that of its
// transaction. The reason for a failure is not part of it.
type Receipt struct {
	Status   ReceiptStatus
	GasUsed  Gas         // intrinsic gas included
	Contract *ContractID // created by a successful deploy or instantiate; otherwise nil
	Output   []byte      // return data, or revert data if the transaction failed
	Logs     []Log
}

// Log is an event that a contract emitted, or one of the protocol's, which has the zero contract and the name
// [NativeTransfer], [CodeReplaced], [PolicySet] or [RecoveryStarted].
type Log struct {
	Contract ContractID // emitter of the event
	Name     string     // at most [MaxLogNameBytes]
	Topics   [][32]byte // at most [MaxLogTopics]
	Data     []byte     // at most [MaxLogDataBytes]
}

// Names of the protocol's logs (docs/protocol.md, "Receipts and logs").
const (
	// NativeTransfer is a payment by code or by a batch. Its topics are from and to; its data is amount_le64, followed by
	// the memo of a batch's step if it has one.
	NativeTransfer = "NativeTransfer"
	// CodeReplaced is a change of a contract's code. Its topics are the contract and the code hash.
	CodeReplaced = "CodeReplaced"
	// PolicySet is a change of who may sign for an account. Its topics are the account and the new authority.
	PolicySet = "PolicySet"
	// RecoveryStarted is the beginning of a recovery. Its topics are the account and the authority to come; its data is
	// from_le64, the time in milliseconds at which that is in force.
	RecoveryStarted = "RecoveryStarted"
)

// Details returns the hash of a receipt without its status and gas: SHA256(contract ‖ output ‖ logs), encoded.
func (r Receipt) Details() Digest {
	const statusAndGas = 1 + 8
	e := codec.NewEncoder(128)
	r.EncodeTo(e)
	return Digest(sha256.Sum256(e.Data()[statusAndGas:]))
}

// Encode returns bincode(Receipt).
func (r Receipt) Encode() []byte {
	e := codec.NewEncoder(128)
	r.EncodeTo(e)
	return e.Data()
}

// EncodeTo appends the output of Encode.
func (r Receipt) EncodeTo(e *codec.Encoder) {
	e.U8(uint8(r.Status))
	e.U64(uint64(r.GasUsed))
	e.Option(r.Contract != nil)
	if r.Contract != nil {
		e.Fixed(r.Contract[:])
	}
	e.Bytes(r.Output)
	e.U64(uint64(len(r.Logs)))
	for _, log := range r.Logs {
		log.encode(e)
	}
}

func (l Log) encode(e *codec.Encoder) {
	e.Fixed(l.Contract[:])
	e.String(l.Name)
	e.U64(uint64(len(l.Topics)))
	for _, topic := range l.Topics {
		e.Fixed(topic[:])
	}
	e.Bytes(l.Data)
}

// DecodeReceipt decodes the output of [Receipt.Encode]. Byte fields alias b.
func DecodeReceipt(b []byte) (Receipt, error) {
	d := codec.NewDecoder(b)
	var r Receipt
	r.Status = ReceiptStatus(d.Variant8(2))
	r.GasUsed = Gas(d.U64())
	if d.Option() {
		r.Contract = new(ContractID)
		d.Fixed(r.Contract[:])
	}
	r.Output = d.Bytes(MaxArgsBytes)
	n := d.Length(MaxTransactionLogs, minLogBytes)
	if n > 0 {
		r.Logs = make([]Log, n)
	}
	for i := range r.Logs {
		r.Logs[i] = decodeLog(d)
	}
	return r, d.Finish()
}

func decodeLog(d *codec.Decoder) (l Log) {
	d.Fixed(l.Contract[:])
	l.Name = d.String(MaxLogNameBytes)
	n := d.Length(MaxLogTopics, 32)
	if n > 0 {
		l.Topics = make([][32]byte, n)
	}
	for i := range l.Topics {
		d.Fixed(l.Topics[i][:])
	}
	l.Data = d.Bytes(MaxLogDataBytes)
	return l
}
