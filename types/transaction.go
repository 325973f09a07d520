package types

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

// TransactionVersion is the only version of a transaction's layout: the first byte of a [SignedTransaction] and of an
// unsigned form.
const TransactionVersion = 2

var (
	txTag       = bip340.NewTag("cairn/tx/v2")
	payerTag    = bip340.NewTag("cairn/payer/v2")
	witnessTag  = bip340.NewTag("cairn/witness/v2")
	contractTag = bip340.NewTag("cairn/contract/v2")
	instanceTag = bip340.NewTag("cairn/instance/v2")
)

// Transaction is what a sender signs (docs/protocol.md, "Transactions").
type Transaction struct {
	Sender               Account
	Target               Account // recipient, contract or template; zero if the payload needs none
	ChainID              uint64
	Nonce                uint64 // number of earlier transactions of the sender
	GasLimit             Gas
	MaxFeePerGas         Amount // limit of base fee plus priority fee
	MaxPriorityFeePerGas Amount
	Value                Amount   // moves to the target, or to the new contract
	Payer                *Account // pays the fee; nil: the sender does
	ValidUntil           *uint64  // timestamp of the last block that may include it, in milliseconds; nil: no end
	Payload              Payload  // never nil
}

// SignedTransaction is a transaction with the witnesses of its sender and, exactly if it has a payer, of its payer.
type SignedTransaction struct {
	Transaction
	Witness      Witness // never nil
	PayerWitness Witness // nil: none
}

func (t Transaction) encode(e *codec.Encoder) {
	e.Fixed(t.Sender[:])
	e.Fixed(t.Target[:])
	e.U64(t.ChainID)
	e.U64(t.Nonce)
	e.U64(uint64(t.GasLimit))
	e.U64(uint64(t.MaxFeePerGas))
	e.U64(uint64(t.MaxPriorityFeePerGas))
	e.U64(uint64(t.Value))
	e.Option(t.Payer != nil)
	if t.Payer != nil {
		e.Fixed(t.Payer[:])
	}
	e.Option(t.ValidUntil != nil)
	if t.ValidUntil != nil {
		e.U64(*t.ValidUntil)
	}
	encodePayload(e, t.Payload)
}

// decodeTransaction sets t, which must be zero.
func decodeTransaction(d *codec.Decoder, t *Transaction) {
	d.Fixed(t.Sender[:])
	d.Fixed(t.Target[:])
	t.ChainID = d.U64()
	t.Nonce = d.U64()
	t.GasLimit = Gas(d.U64())
	t.MaxFeePerGas = Amount(d.U64())
	t.MaxPriorityFeePerGas = Amount(d.U64())
	t.Value = Amount(d.U64())
	if d.Option() {
		t.Payer = new(Account)
		d.Fixed(t.Payer[:])
	}
	if d.Option() {
		t.ValidUntil = new(uint64)
		*t.ValidUntil = d.U64()
	}
	t.Payload = decodePayload(d)
}

// Encode returns bincode(Transaction): the message that [Transaction.Hash] hashes.
func (t Transaction) Encode() []byte {
	e := codec.NewEncoder(256)
	t.encode(e)
	return e.Data()
}

// EncodeUnsigned returns the unsigned form, for calls and estimates: the version byte and bincode(Transaction).
func (t Transaction) EncodeUnsigned() []byte {
	e := codec.NewEncoder(256)
	e.U8(TransactionVersion)
	t.encode(e)
	return e.Data()
}

// DecodeUnsigned decodes the output of [Transaction.EncodeUnsigned]. Byte fields alias b.
func DecodeUnsigned(b []byte) (Transaction, error) {
	if err := checkTransactionSize(len(b)); err != nil {
		return Transaction{}, err
	}
	d := codec.NewDecoder(b)
	decodeVersion(d)
	var t Transaction
	decodeTransaction(d, &t)
	return t, d.Finish()
}

func checkTransactionSize(size int) error {
	if size > MaxTransactionBytes {
		return fmt.Errorf("%w: a transaction of %d bytes, at most %d", codec.ErrTooLong, size, MaxTransactionBytes)
	}
	return nil
}

func decodeVersion(d *codec.Decoder) {
	if v := d.U8(); d.Err() == nil && v != TransactionVersion {
		d.Fail(fmt.Errorf("%w: transaction version %d, want %d", codec.ErrBadVariant, v, TransactionVersion))
	}
}

// Encode returns bincode(SignedTransaction).
func (t SignedTransaction) Encode() []byte {
	e := codec.NewEncoder(256)
	t.EncodeTo(e)
	return e.Data()
}

// EncodeTo appends the output of Encode.
func (t SignedTransaction) EncodeTo(e *codec.Encoder) {
	e.U8(TransactionVersion)
	t.Transaction.encode(e)
	t.encodeWitnesses(e)
}

func (t SignedTransaction) encodeWitnesses(e *codec.Encoder) {
	encodeWitness(e, t.Witness)
	e.Option(t.PayerWitness != nil)
	if t.PayerWitness != nil {
		encodeWitness(e, t.PayerWitness)
	}
}

// DecodeSignedTransaction decodes a signed transaction of at most [MaxTransactionBytes]. Byte fields alias b. Most
// limits of the fields are validity rules (exec.CheckStatic) and not checked here.
func DecodeSignedTransaction(b []byte) (SignedTransaction, error) {
	if err := checkTransactionSize(len(b)); err != nil {
		return SignedTransaction{}, err
	}
	d := codec.NewDecoder(b)
	var t SignedTransaction
	decodeSignedTransaction(d, &t)
	return t, d.Finish()
}

// decodeSignedTransaction reads a signed transaction into t, which must be zero. It returns the offset of the end of
// bincode(Transaction).
func decodeSignedTransaction(d *codec.Decoder, t *SignedTransaction) (end int) {
	start := d.Offset()
	decodeVersion(d)
	decodeTransaction(d, &t.Transaction)
	end = d.Offset()
	t.Witness = decodeWitness(d)
	if d.Option() {
		t.PayerWitness = decodeWitness(d)
	}
	if err := checkTransactionSize(d.Offset() - start); err != nil {
		d.Fail(err)
	}
	return end
}

// Hash returns the transaction's ID, which is also the message that the sender signs:
// tagged("cairn/tx/v2", bincode(Transaction)), BIP-340's tagged hash. It covers no witness.
func (t Transaction) Hash() TxID { return hashTransaction(t.Encode()) }

func hashTransaction(encoded []byte) TxID { return TxID(txTag.Hash(encoded)) }

// ID returns the transaction's hash; see [Transaction.Hash].
func (t SignedTransaction) ID() TxID { return t.Hash() }

// PayerHash returns the message that the payer of a transaction signs: tagged("cairn/payer/v2", hash).
func PayerHash(id TxID) [32]byte { return payerTag.Hash(id[:]) }

// WitnessDigest returns tagged("cairn/witness/v2", bincode(Witness) ‖ bincode(Option<Witness>) of the payer), which the
// transactions root commits to.
func (t SignedTransaction) WitnessDigest() Digest {
	e := codec.NewEncoder(128)
	t.encodeWitnesses(e)
	return Digest(witnessTag.Hash(e.Data()))
}

// Amount returns the amount that the transaction moves from its sender: its value, or the sum of a batch's values. It
// returns [ErrOverflow] if the sum does not fit.
func (t Transaction) Amount() (Amount, error) {
	batch, ok := t.Payload.(Batch)
	if !ok {
		return t.Value, nil
	}
	var sum Amount
	var err error
	for _, step := range batch.Steps {
		if sum, err = sum.Add(step.Value); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// FeeCap returns the maximum fee: gas_limit × max_fee_per_gas. It returns [ErrOverflow] if the product does not fit.
func (t Transaction) FeeCap() (Amount, error) { return t.GasLimit.Cost(t.MaxFeePerGas) }

// Recipient returns the account that receives the transaction's value: the account of a transfer, or the contract that
// is called or created. A configure, a batch and a change of policy have no recipient.
func (t *Transaction) Recipient() (Account, bool) {
	switch t.Payload.(type) {
	case Transfer, Call:
		return t.Target, true
	case Deploy, Instantiate:
		return Account(NewContractID(t.Sender, t.Nonce)), true
	default:
		return Account{}, false
	}
}

// NewContractID returns the ID of the contract that a Deploy or Instantiate by sender with this nonce creates:
// tagged("cairn/contract/v2", sender ‖ nonce_le64).
func NewContractID(sender Account, nonce uint64) ContractID {
	e := codec.NewEncoder(40)
	e.Fixed(sender[:])
	e.U64(nonce)
	return ContractID(contractTag.Hash(e.Data()))
}

// NewInstanceID returns the ID of the contract that the host function create makes:
// tagged("cairn/instance/v2", creator ‖ code hash ‖ salt).
func NewInstanceID(creator ContractID, code CodeHash, salt [32]byte) ContractID {
	e := codec.NewEncoder(96)
	e.Fixed(creator[:])
	e.Fixed(code[:])
	e.Fixed(salt[:])
	return ContractID(instanceTag.Hash(e.Data()))
}

// PrivateKey signs messages as specified by BIP-340. crypto.PrivateKey implements it. It is an interface so that code
// that only verifies need not import code that signs.
type PrivateKey interface {
	Sign(msg []byte, aux [32]byte) ([64]byte, error)
	SignAll(messages [][32]byte, aux [32]byte) ([][64]byte, error)
}

// Sign signs a transaction without payer with the witness [WitnessKey]; aux is BIP-340's auxiliary randomness and may be
// zeros. The key must be the sender's; Sign does not check that.
func Sign(t Transaction, key PrivateKey, aux [32]byte) (SignedTransaction, error) {
	message := t.Hash()
	signature, err := key.Sign(message[:], aux)
	return SignedTransaction{Transaction: t, Witness: WitnessKey{signature}}, err
}

// SignAll signs several transactions of one sender as [Sign] does, several times as fast.
func SignAll(txs []Transaction, key PrivateKey, aux [32]byte) ([]SignedTransaction, error) {
	messages := make([][32]byte, len(txs))
	for i := range txs {
		messages[i] = txs[i].Hash()
	}
	signatures, err := key.SignAll(messages, aux)
	if err != nil {
		return nil, err
	}
	signed := make([]SignedTransaction, len(txs))
	for i, signature := range signatures {
		signed[i] = SignedTransaction{Transaction: txs[i], Witness: WitnessKey{signature}}
	}
	return signed, nil
}
