package types

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
)

// PayloadKind is a payload's variant number in the encoding.
type PayloadKind uint32

// Payloads.
const (
	KindTransfer PayloadKind = iota
	KindDeploy
	KindCall
	KindConfigure
	KindBatch
	KindSetPolicy
	KindInstantiate
	payloadKinds
)

var payloadNames = [payloadKinds]string{
	"transfer", "deploy", "call", "configure", "batch", "set_policy", "instantiate",
}

// String returns the kind's name in RPC results.
func (k PayloadKind) String() string {
	if k < payloadKinds {
		return payloadNames[k]
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// Payload is the action of a transaction: [Transfer], [Deploy], [Call], [Configure], [Batch], [SetPolicy] or
// [Instantiate].
type Payload interface {
	// Kind returns the payload's variant number.
	Kind() PayloadKind
	encode(*codec.Encoder)
}

// Transfer moves the value to the target without running code.
type Transfer struct {
	Memo *[32]byte // for the recipient's books; nil: none
}

// Deploy stores a contract and runs its init function. The target is zero; the new contract gets the value.
type Deploy struct {
	Name     string
	Code     []byte // a module
	InitArgs []byte
}

// Call calls a function of the target, a contract, which gets the value.
type Call struct {
	Function string
	Args     []byte
}

// Configure replaces the chain's parameters. Only their admin may send it. Target and value are zero.
type Configure struct {
	Parameters Parameters
}

// Batch carries out 1 to [MaxBatchSteps] steps, or none if one of them fails. Target and value are zero.
type Batch struct {
	Steps []Step
}

// Step is a transfer or a call in a [Batch], from the transaction's sender.
type Step struct {
	Target Account
	Value  Amount
	Action Payload // a [Transfer] or a [Call]
}

// SetPolicy changes who may sign for the sender. Target and value are zero.
type SetPolicy struct {
	Recovery bool    // signed by the recovery rule of the policy in force, and in force only after its delay
	Policy   *Policy // nil: the account is its own authority
}

// Instantiate makes a contract with the code of the target, which is a contract, and runs its init function. The new
// contract gets the value.
type Instantiate struct {
	Name     string
	InitArgs []byte
}

// Kind returns [KindTransfer].
func (Transfer) Kind() PayloadKind { return KindTransfer }

// Kind returns [KindDeploy].
func (Deploy) Kind() PayloadKind { return KindDeploy }

// Kind returns [KindCall].
func (Call) Kind() PayloadKind { return KindCall }

// Kind returns [KindConfigure].
func (Configure) Kind() PayloadKind { return KindConfigure }

// Kind returns [KindBatch].
func (Batch) Kind() PayloadKind { return KindBatch }

// Kind returns [KindSetPolicy].
func (SetPolicy) Kind() PayloadKind { return KindSetPolicy }

// Kind returns [KindInstantiate].
func (Instantiate) Kind() PayloadKind { return KindInstantiate }

func (p Transfer) encode(e *codec.Encoder) {
	e.Option(p.Memo != nil)
	if p.Memo != nil {
		e.Fixed(p.Memo[:])
	}
}

func (p Deploy) encode(e *codec.Encoder) {
	e.String(p.Name)
	e.Bytes(p.Code)
	e.Bytes(p.InitArgs)
}

func (p Call) encode(e *codec.Encoder) {
	e.String(p.Function)
	e.Bytes(p.Args)
}

func (p Configure) encode(e *codec.Encoder) { p.Parameters.encode(e) }

func (p Batch) encode(e *codec.Encoder) {
	e.U64(uint64(len(p.Steps)))
	for _, step := range p.Steps {
		e.Fixed(step.Target[:])
		e.U64(uint64(step.Value))
		encodePayload(e, step.Action)
	}
}

func (p SetPolicy) encode(e *codec.Encoder) {
	e.Bool(p.Recovery)
	e.Option(p.Policy != nil)
	if p.Policy != nil {
		p.Policy.encode(e)
	}
}

func (p Instantiate) encode(e *codec.Encoder) {
	e.String(p.Name)
	e.Bytes(p.InitArgs)
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

func decodePayload(d *codec.Decoder) Payload {
	return decodePayloadOf(PayloadKind(d.Variant(uint32(payloadKinds))), d)
}

// decodePayloadOf reads a payload's fields.
func decodePayloadOf(kind PayloadKind, d *codec.Decoder) Payload {
	switch kind {
	case KindDeploy:
		return Deploy{
			Name: d.String(MaxTransactionBytes), Code: d.Bytes(MaxTransactionBytes), InitArgs: d.Bytes(MaxTransactionBytes),
		}
	case KindCall:
		return Call{Function: d.String(MaxTransactionBytes), Args: d.Bytes(MaxTransactionBytes)}
	case KindConfigure:
		p := decodeParameters(d)
		if d.Err() == nil && p.Version != TransactionVersion {
			d.Fail(fmt.Errorf("%w: parameters of version %d", codec.ErrBadVariant, p.Version))
		}
		return Configure{Parameters: p}
	case KindBatch:
		return decodeBatch(d)
	case KindSetPolicy:
		p := SetPolicy{Recovery: d.Bool()}
		if d.Option() {
			p.Policy = new(decodePolicy(d))
		}
		return p
	case KindInstantiate:
		return Instantiate{Name: d.String(MaxTransactionBytes), InitArgs: d.Bytes(MaxTransactionBytes)}
	default:
		var p Transfer
		if d.Option() {
			p.Memo = new([32]byte)
			d.Fixed(p.Memo[:])
		}
		return p
	}
}

func decodeBatch(d *codec.Decoder) Batch {
	n := d.Length(MaxBatchSteps, minStepBytes)
	if n == 0 {
		d.Fail(fmt.Errorf("%w: a batch without steps", codec.ErrTruncated))
		return Batch{}
	}
	steps := make([]Step, n)
	for i := range steps {
		d.Fixed(steps[i].Target[:])
		steps[i].Value = Amount(d.U64())
		kind := PayloadKind(d.Variant(uint32(payloadKinds)))
		if kind != KindTransfer && kind != KindCall {
			d.Fail(fmt.Errorf("%w: a step with the action %s", codec.ErrBadVariant, kind))
		}
		if d.Err() != nil { // no batch nests: a batch's kind is refused before its payload is read
			return Batch{}
		}
		steps[i].Action = decodePayloadOf(kind, d)
	}
	return Batch{Steps: steps}
}
