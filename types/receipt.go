package types

import "github.com/cairn-chain/cairn/codec"

// ReceiptStatus is the outcome of an included transaction.
type ReceiptStatus uint8

// Outcomes of an included transaction.
const (
	StatusFailed  ReceiptStatus = 0
	StatusSuccess ReceiptStatus = 1
)

// Receipt is the part of a transaction's result that consensus commits to. The reason of a failure is not part of it.
type Receipt struct {
	Transaction TxID
	Status      ReceiptStatus
	GasUsed     Gas         // intrinsic gas included
	Contract    *ContractID // created by a successful deploy; otherwise nil
	Output      []byte      // return data, or revert data if the transaction failed
	Logs        []Log
}

// Log is an event that a contract emitted, or a payment made by code (with the zero contract and name
// [NativeTransfer]).
type Log struct {
	Contract ContractID // emitter of the event
	Name     string     // at most [MaxLogNameBytes]
	Topics   [][32]byte // at most [MaxLogTopics]
	Data     []byte     // at most [MaxLogDataBytes]
}

// NativeTransfer is the name of the log of a native payment made by code. Its topics are from and to; its data is
// amount_le64.
const NativeTransfer = "NativeTransfer"

// Encode returns bincode(Receipt), a leaf of the receipts root.
func (r Receipt) Encode() []byte {
	e := codec.NewEncoder(128)
	r.EncodeTo(e)
	return e.Data()
}

// EncodeTo appends the output of Encode.
func (r Receipt) EncodeTo(e *codec.Encoder) {
	e.Fixed(r.Transaction[:])
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
	d.Fixed(r.Transaction[:])
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
