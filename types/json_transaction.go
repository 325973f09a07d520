package types

import (
	"errors"
	"fmt"
)

// JSON of the parts of transactions (docs/protocol.md, "JSON"). Hex has 0x; readers also take it without, and digits of
// either case. Numbers above 2^53 − 1 are decimal strings; readers take both forms of any number. Missing, unknown and
// duplicate members are errors, as are values that the encoding cannot represent.

// MarshalJSON implements json.Marshaler.
func (p Transfer) MarshalJSON() ([]byte, error) {
	var memo *Hex
	if p.Memo != nil {
		memo = new(Hex(p.Memo[:]))
	}
	return marshalObject("type", p.Kind().String(), "memo", memo)
}

// MarshalJSON implements json.Marshaler.
func (p Deploy) MarshalJSON() ([]byte, error) {
	return marshalObject("type", p.Kind().String(), "name", p.Name, "code", Hex(p.Code), "init_args", Hex(p.InitArgs))
}

// MarshalJSON implements json.Marshaler.
func (p Call) MarshalJSON() ([]byte, error) {
	return marshalObject("type", p.Kind().String(), "function", p.Function, "args", Hex(p.Args))
}

// MarshalJSON implements json.Marshaler.
func (p Configure) MarshalJSON() ([]byte, error) {
	return marshalObject("type", p.Kind().String(), "parameters", p.Parameters)
}

// MarshalJSON implements json.Marshaler.
func (p Batch) MarshalJSON() ([]byte, error) {
	return marshalObject("type", p.Kind().String(), "steps", p.Steps)
}

// MarshalJSON implements json.Marshaler.
func (p SetPolicy) MarshalJSON() ([]byte, error) {
	return marshalObject("type", p.Kind().String(), "recovery", p.Recovery, "policy", p.Policy)
}

// MarshalJSON implements json.Marshaler.
func (p Instantiate) MarshalJSON() ([]byte, error) {
	return marshalObject("type", p.Kind().String(), "name", p.Name, "init_args", Hex(p.InitArgs))
}

// ParsePayloadJSON parses the JSON of a payload, as the MarshalJSON of each variant writes it.
func ParsePayloadJSON(b []byte) (Payload, error) {
	o := readObject(b)
	p := o.payload(o.variant())
	if err := o.finish(); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	return p, nil
}

func (o *object) payload(variant string) Payload {
	switch variant {
	case KindTransfer.String():
		var p Transfer
		o.option("memo", func(raw []byte) error {
			p.Memo = new([32]byte)
			return parseFixed(raw, p.Memo[:])
		})
		return p
	case KindDeploy.String():
		return Deploy{
			Name: o.text("name"), Code: o.bytes("code", MaxTransactionBytes), InitArgs: o.bytes("init_args", MaxTransactionBytes),
		}
	case KindCall.String():
		return Call{Function: o.text("function"), Args: o.bytes("args", MaxTransactionBytes)}
	case KindConfigure.String():
		var p Configure
		o.read("parameters", func(raw []byte) error {
			if err := p.Parameters.UnmarshalJSON(raw); err != nil {
				return err
			}
			if p.Parameters.Version != TransactionVersion {
				return errors.New("parameters of another version")
			}
			return nil
		})
		return p
	case KindBatch.String():
		return o.batch()
	case KindSetPolicy.String():
		p := SetPolicy{Recovery: o.bool("recovery")}
		o.option("policy", func(raw []byte) error {
			p.Policy = new(Policy)
			return p.Policy.UnmarshalJSON(raw)
		})
		return p
	case KindInstantiate.String():
		return Instantiate{Name: o.text("name"), InitArgs: o.bytes("init_args", MaxTransactionBytes)}
	default:
		o.unknownVariant(variant)
		return nil
	}
}

func (o *object) batch() Batch {
	var p Batch
	o.list("steps", MaxBatchSteps, func(_ int, raw []byte) error {
		var step Step
		err := step.UnmarshalJSON(raw)
		p.Steps = append(p.Steps, step)
		return err
	})
	if o.err == nil && len(p.Steps) == 0 {
		o.err = errors.New("steps: a batch has at least one")
	}
	return p
}

// MarshalJSON implements json.Marshaler.
func (s Step) MarshalJSON() ([]byte, error) {
	return marshalObject("target", s.Target, "value", number(s.Value), "action", s.Action)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Step) UnmarshalJSON(b []byte) error {
	o := readObject(b)
	step := Step{Target: o.account("target", ""), Value: Amount(o.u64("value"))}
	o.read("action", func(raw []byte) error {
		action := readObject(raw)
		variant := action.variant()
		if variant != KindTransfer.String() && variant != KindCall.String() { // a batch here would nest
			action.unknownVariant(variant)
			return action.finish()
		}
		step.Action = action.payload(variant)
		return action.finish()
	})
	*s = step
	return o.finish()
}

// MarshalJSON implements json.Marshaler.
func (p Policy) MarshalJSON() ([]byte, error) {
	return marshalObject("number", number(p.Number), "owner", p.Owner, "recovery", p.Recovery)
}

// UnmarshalJSON implements json.Unmarshaler. It does not check whether the policy is valid.
func (p *Policy) UnmarshalJSON(b []byte) error {
	o := readObject(b)
	policy := Policy{Number: o.u64("number")}
	o.read("owner", policy.Owner.UnmarshalJSON)
	o.option("recovery", func(raw []byte) error {
		policy.Recovery = new(Recovery)
		return policy.Recovery.UnmarshalJSON(raw)
	})
	*p = policy
	return o.finish()
}

// MarshalJSON implements json.Marshaler.
func (r Recovery) MarshalJSON() ([]byte, error) {
	return marshalObject("rule", r.Rule, "delay", number(r.Delay))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Recovery) UnmarshalJSON(b []byte) error {
	o := readObject(b)
	recovery := Recovery{Delay: o.u64("delay")}
	o.read("rule", recovery.Rule.UnmarshalJSON)
	*r = recovery
	return o.finish()
}

// MarshalJSON implements json.Marshaler.
func (r Rule) MarshalJSON() ([]byte, error) {
	signers := r.Signers
	if signers == nil {
		signers = []Signer{}
	}
	return marshalObject("threshold", r.Threshold, "signers", signers)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Rule) UnmarshalJSON(b []byte) error {
	o := readObject(b)
	rule := Rule{Threshold: o.u8("threshold")}
	o.list("signers", MaxSigners, func(_ int, raw []byte) error {
		signer, err := ParseSignerJSON(raw)
		rule.Signers = append(rule.Signers, signer)
		return err
	})
	*r = rule
	return o.finish()
}

// Types of signers, witnesses and evidence in JSON.
const (
	typeKey     = "key"
	typeText    = "text"
	typePolicy  = "policy"
	typeP256    = "p256"
	typePasskey = "passkey"
)

// MarshalJSON implements json.Marshaler.
func (s SignerKey) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typeKey, "key", s.Key)
}

// MarshalJSON implements json.Marshaler.
func (s SignerP256) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typeP256, "point", Hex(s.Point[:]))
}

// MarshalJSON implements json.Marshaler.
func (s SignerPasskey) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typePasskey, "point", Hex(s.Point[:]), "verified", s.Verified)
}

// ParseSignerJSON parses the JSON of a signer, as the MarshalJSON of each variant writes it.
func ParseSignerJSON(b []byte) (Signer, error) {
	o := readObject(b)
	var signer Signer
	switch variant := o.variant(); variant {
	case typeKey:
		var s SignerKey
		o.fixed("key", s.Key[:])
		signer = s
	case typeP256:
		var s SignerP256
		o.fixed("point", s.Point[:])
		signer = s
	case typePasskey:
		s := SignerPasskey{Verified: o.bool("verified")}
		o.fixed("point", s.Point[:])
		signer = s
	default:
		o.unknownVariant(variant)
	}
	if err := o.finish(); err != nil {
		return nil, fmt.Errorf("signer: %w", err)
	}
	return signer, nil
}
