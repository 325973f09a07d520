package types

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

// TransactionVersion is the only version of a transaction's layout.
const TransactionVersion = 1

var (
	txTag       = bip340.NewTag("cairn/tx/v1")
	txIDTag     = bip340.NewTag("cairn/txid/v1")
	contractTag = bip340.NewTag("cairn/contract/v1")
)

// Transaction is the part of a transaction that the sender signs.
type Transaction struct {
	Version              uint8 // version of this layout: [TransactionVersion]
	ChainID              uint64
	Sender               Account
	Nonce                uint64 // number of earlier transactions of the sender
	GasLimit             Gas
	MaxFeePerGas         Amount // limit of base fee plus priority fee
	MaxPriorityFeePerGas Amount
	Payload              Payload // never nil
}

// SignedTransaction is a transaction with its sender's BIP-340 signature over [Transaction.SigningHash].
type SignedTransaction struct {
	Transaction
	Signature Signature
}

// PayloadKind is a payload's variant number in the encoding.
type PayloadKind uint32

// Payloads of protocol version 1.
const (
	KindTransfer PayloadKind = iota
	KindDeploy
	KindCall
	KindConfigure
	payloadKinds
)

// String returns the kind's name in RPC results.
func (k PayloadKind) String() string {
	switch k {
	case KindTransfer:
		return "transfer"
	case KindDeploy:
		return "deploy"
	case KindCall:
		return "call"
	case KindConfigure:
		return "configure"
	default:
		return fmt.Sprintf("kind %d", uint32(k))
	}
}

// Payload is the action of a transaction: [Transfer], [Deploy], [Call] or [Configure].
type Payload interface {
	// Kind returns the payload's variant number.
	Kind() PayloadKind
	// Value returns the native amount that the payload moves from the sender.
	Value() Amount
	encode(*codec.Encoder)
}

// Transfer moves value to an account without running code.
type Transfer struct {
	To     Account
	Amount Amount
}

// Deploy stores a contract and runs its init function.
type Deploy struct {
	Amount   Amount
	Name     string
	Code     []byte // a module, or [CopyOf] a contract that has the same module
	InitArgs []byte
}

// copyMark is the first byte of a deploy's code that refers to a contract; a module begins with 0.
const copyMark = 1

// CopyOf returns the code for a [Deploy] that copies a contract's code. The code is not compiled or stored again.
func CopyOf(contract ContractID) []byte { return append([]byte{copyMark}, contract[:]...) }

// Copies returns the contract whose code a deploy copies. It returns false if the deploy brings its own code.
func (d Deploy) Copies() (contract ContractID, ok bool) {
	if len(d.Code) != 1+len(contract) || d.Code[0] != copyMark {
		return contract, false
	}
	return ContractID(d.Code[1:]), true
}

// Call calls a function of a contract.
type Call struct {
	Amount   Amount
	Contract ContractID
	Function string
	Args     []byte
}

// Configure replaces the chain's parameters. Only the current producer may send it.
type Configure struct {
	Parameters Parameters
}

// Kind returns [KindTransfer].
func (Transfer) Kind() PayloadKind { return KindTransfer }

// Kind returns [KindDeploy].
func (Deploy) Kind() PayloadKind { return KindDeploy }

// Kind returns [KindCall].
func (Call) Kind() PayloadKind { return KindCall }

// Kind returns [KindConfigure].
func (Configure) Kind() PayloadKind { return KindConfigure }

// Value returns the amount that the transfer moves to its recipient.
func (p Transfer) Value() Amount { return p.Amount }

// Value returns the amount that the deploy moves to the new contract.
func (p Deploy) Value() Amount { return p.Amount }

// Value returns the amount that the call moves to the contract.
func (p Call) Value() Amount { return p.Amount }

// Value returns 0.
func (Configure) Value() Amount { return 0 }

func (p Transfer) encode(e *codec.Encoder) {
	e.Fixed(p.To[:])
	e.U64(uint64(p.Amount))
}

func (p Deploy) encode(e *codec.Encoder) {
	e.U64(uint64(p.Amount))
	e.String(p.Name)
	e.Bytes(p.Code)
	e.Bytes(p.InitArgs)
}

func (p Call) encode(e *codec.Encoder) {
	e.U64(uint64(p.Amount))
	e.Fixed(p.Contract[:])
	e.String(p.Function)
	e.Bytes(p.Args)
}

func (p Configure) encode(e *codec.Encoder) { p.Parameters.encode(e) }

func decodePayload(d *codec.Decoder) Payload {
	switch PayloadKind(d.Variant(uint32(payloadKinds))) {
	case KindDeploy:
		return Deploy{
			Amount: Amount(d.U64()), Name: d.String(MaxTransactionBytes),
			Code: d.Bytes(MaxTransactionBytes), InitArgs: d.Bytes(MaxTransactionBytes),
		}
	case KindCall:
		p := Call{Amount: Amount(d.U64())}
		d.Fixed(p.Contract[:])
		p.Function, p.Args = d.String(MaxTransactionBytes), d.Bytes(MaxTransactionBytes)
		return p
	case KindConfigure:
		return Configure{Parameters: decodeParameters(d)}
	default:
		var p Transfer
		d.Fixed(p.To[:])
		p.Amount = Amount(d.U64())
		return p
	}
}

func (t Transaction) encode(e *codec.Encoder) {
	e.U8(t.Version)
	e.U64(t.ChainID)
	e.Fixed(t.Sender[:])
	e.U64(t.Nonce)
	e.U64(uint64(t.GasLimit))
	e.U64(uint64(t.MaxFeePerGas))
	e.U64(uint64(t.MaxPriorityFeePerGas))
	encodePayload(e, t.Payload)
}

func encodePayload(e *codec.Encoder, p Payload) {
	e.U32(uint32(p.Kind()))
	p.encode(e)
}

// EncodePayload returns bincode(Payload), the end of a transaction's encoding.
func EncodePayload(p Payload) []byte {
	e := codec.NewEncoder(64)
	encodePayload(e, p)
	return e.Data()
}

func decodeTransaction(d *codec.Decoder) (t Transaction) {
	t.Version = d.U8()
	t.ChainID = d.U64()
	d.Fixed(t.Sender[:])
	t.Nonce = d.U64()
	t.GasLimit = Gas(d.U64())
	t.MaxFeePerGas = Amount(d.U64())
	t.MaxPriorityFeePerGas = Amount(d.U64())
	t.Payload = decodePayload(d)
	return t
}

// Encode returns bincode(Transaction): the signed bytes, and the unsigned form for calls and estimates.
func (t Transaction) Encode() []byte {
	e := codec.NewEncoder(256)
	t.encode(e)
	return e.Data()
}

// Encode returns bincode(SignedTransaction): the transaction's bytes, followed by the signature's 64.
func (t SignedTransaction) Encode() []byte {
	e := codec.NewEncoder(256)
	t.EncodeTo(e)
	return e.Data()
}

// EncodeTo appends the output of Encode.
func (t SignedTransaction) EncodeTo(e *codec.Encoder) {
	t.encode(e)
	e.Fixed(t.Signature[:])
}

// DecodeTransaction decodes an unsigned transaction of at most [MaxTransactionBytes]. Byte fields alias b.
func DecodeTransaction(b []byte) (Transaction, error) {
	if len(b) > MaxTransactionBytes {
		return Transaction{}, fmt.Errorf("%w: %d bytes, at most %d", codec.ErrTooLong, len(b), MaxTransactionBytes)
	}
	d := codec.NewDecoder(b)
	t := decodeTransaction(d)
	return t, d.Finish()
}

// DecodeSignedTransaction decodes a signed transaction of at most [MaxTransactionBytes]. Byte fields alias b. The
// limits of the fields are validity rules (exec.CheckStatic) and not checked here.
func DecodeSignedTransaction(b []byte) (SignedTransaction, error) {
	if len(b) > MaxTransactionBytes {
		return SignedTransaction{}, fmt.Errorf("%w: %d bytes, at most %d", codec.ErrTooLong, len(b), MaxTransactionBytes)
	}
	d := codec.NewDecoder(b)
	t := decodeSignedTransaction(d)
	return t, d.Finish()
}

func decodeSignedTransaction(d *codec.Decoder) (t SignedTransaction) {
	start := d.Offset()
	t.Transaction = decodeTransaction(d)
	d.Fixed(t.Signature[:])
	if d.Offset()-start > MaxTransactionBytes {
		d.Fail(fmt.Errorf("%w: a transaction of %d bytes", codec.ErrTooLong, d.Offset()-start))
	}
	return t
}

// SigningHash returns the message that the sender signs: tagged("cairn/tx/v1", bincode(Transaction)), BIP-340's tagged
// hash.
func (t Transaction) SigningHash() [32]byte { return txTag.Hash(t.Encode()) }

// Cost returns the maximum that a transaction can take from its sender: value + gas_limit × max_fee_per_gas. It returns
// [ErrOverflow] if that does not fit.
func (t Transaction) Cost() (Amount, error) {
	fee, err := t.GasLimit.Cost(t.MaxFeePerGas)
	if err != nil {
		return 0, err
	}
	return fee.Add(t.Payload.Value())
}

// Recipient returns the account that receives the transaction's value: the account of a transfer, or the contract that
// is called or created. A configure has no recipient.
func (t *Transaction) Recipient() (Account, bool) {
	switch p := t.Payload.(type) {
	case Transfer:
		return p.To, true
	case Deploy:
		return Account(NewContractID(t.Sender, t.Nonce)), true
	case Call:
		return Account(p.Contract), true
	default:
		return Account{}, false
	}
}

// ID returns the transaction's hash.
func (t SignedTransaction) ID() TxID { return TransactionID(t.Encode()) }

// TransactionID returns the hash of an encoded signed transaction: tagged("cairn/txid/v1", encoded).
func TransactionID(encoded []byte) TxID { return TxID(txIDTag.Hash(encoded)) }

// NewContractID returns the ID of the contract that a Deploy by sender with this nonce creates:
// tagged("cairn/contract/v1", sender ‖ nonce_le64).
func NewContractID(sender Account, nonce uint64) ContractID {
	e := codec.NewEncoder(40)
	e.Fixed(sender[:])
	e.U64(nonce)
	return ContractID(contractTag.Hash(e.Data()))
}

// Signer signs messages as specified by BIP-340. crypto.PrivateKey implements it. It is an interface so that code that
// only verifies need not import code that signs.
type Signer interface {
	Sign(msg []byte, aux [32]byte) ([64]byte, error)
	SignAll(messages [][32]byte, aux [32]byte) ([][64]byte, error)
}

// Sign signs a transaction with key; aux is BIP-340's auxiliary randomness and may be zeros. The key must be the
// sender's; Sign does not check that.
func Sign(t Transaction, key Signer, aux [32]byte) (SignedTransaction, error) {
	message := t.SigningHash()
	signature, err := key.Sign(message[:], aux)
	return SignedTransaction{Transaction: t, Signature: signature}, err
}

// SignAll signs several transactions of one sender as [Sign] does, several times as fast.
func SignAll(txs []Transaction, key Signer, aux [32]byte) ([]SignedTransaction, error) {
	messages := make([][32]byte, len(txs))
	for i := range txs {
		messages[i] = txs[i].SigningHash()
	}
	signatures, err := key.SignAll(messages, aux)
	if err != nil {
		return nil, err
	}
	signed := make([]SignedTransaction, len(txs))
	for i, signature := range signatures {
		signed[i] = SignedTransaction{Transaction: txs[i], Signature: signature}
	}
	return signed, nil
}
