package types

import "fmt"

// MarshalJSON implements json.Marshaler.
func (w WitnessKey) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typeKey, "signature", Hex(w.Signature[:]))
}

// MarshalJSON implements json.Marshaler.
func (w WitnessText) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typeText, "signature", Hex(w.Signature[:]), "sighash", w.Sighash)
}

// MarshalJSON implements json.Marshaler.
func (w WitnessPolicy) MarshalJSON() ([]byte, error) {
	proofs := w.Proofs
	if proofs == nil {
		proofs = []Proof{}
	}
	return marshalObject("type", typePolicy, "policy", w.Policy, "proofs", proofs)
}

// ParseWitnessJSON parses the JSON of a witness, as the MarshalJSON of each variant writes it.
func ParseWitnessJSON(b []byte) (Witness, error) {
	o := readObject(b)
	var witness Witness
	switch variant := o.variant(); variant {
	case typeKey:
		var w WitnessKey
		o.fixed("signature", w.Signature[:])
		witness = w
	case typeText:
		w := WitnessText{Sighash: o.sighash()}
		o.fixed("signature", w.Signature[:])
		witness = w
	case typePolicy:
		var w WitnessPolicy
		o.read("policy", w.Policy.UnmarshalJSON)
		o.list("proofs", MaxProofs, func(_ int, raw []byte) error {
			var p Proof
			err := p.UnmarshalJSON(raw)
			w.Proofs = append(w.Proofs, p)
			return err
		})
		witness = w
	default:
		o.unknownVariant(variant)
	}
	if err := o.finish(); err != nil {
		return nil, fmt.Errorf("witness: %w", err)
	}
	return witness, nil
}

func (o *object) sighash() uint8 {
	v := o.u8("sighash")
	if o.err == nil && v > SighashAll {
		o.err = fmt.Errorf("sighash: %d, at most %d", v, SighashAll)
	}
	return v
}

// MarshalJSON implements json.Marshaler.
func (p Proof) MarshalJSON() ([]byte, error) {
	return marshalObject("signer", p.Signer, "evidence", p.Evidence)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Proof) UnmarshalJSON(b []byte) error {
	o := readObject(b)
	proof := Proof{Signer: o.u8("signer")}
	o.read("evidence", func(raw []byte) (err error) {
		proof.Evidence, err = ParseEvidenceJSON(raw)
		return err
	})
	*p = proof
	return o.finish()
}

// MarshalJSON implements json.Marshaler.
func (v EvidenceKey) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typeKey, "signature", Hex(v.Signature[:]))
}

// MarshalJSON implements json.Marshaler.
func (v EvidenceText) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typeText, "signature", Hex(v.Signature[:]), "sighash", v.Sighash)
}

// MarshalJSON implements json.Marshaler.
func (v EvidenceP256) MarshalJSON() ([]byte, error) {
	return marshalObject("type", typeP256, "signature", Hex(v.Signature[:]))
}

// MarshalJSON implements json.Marshaler.
func (v EvidencePasskey) MarshalJSON() ([]byte, error) {
	return marshalObject(
		"type", typePasskey, "authenticator", Hex(v.Authenticator[:]), "client", Hex(v.Client),
		"signature", Hex(v.Signature[:]),
	)
}

// ParseEvidenceJSON parses the JSON of evidence, as the MarshalJSON of each variant writes it.
func ParseEvidenceJSON(b []byte) (Evidence, error) {
	o := readObject(b)
	var evidence Evidence
	switch variant := o.variant(); variant {
	case typeKey:
		var v EvidenceKey
		o.fixed("signature", v.Signature[:])
		evidence = v
	case typeText:
		v := EvidenceText{Sighash: o.sighash()}
		o.fixed("signature", v.Signature[:])
		evidence = v
	case typeP256:
		var v EvidenceP256
		o.fixed("signature", v.Signature[:])
		evidence = v
	case typePasskey:
		v := EvidencePasskey{Client: o.bytes("client", MaxClientBytes)}
		o.fixed("authenticator", v.Authenticator[:])
		o.fixed("signature", v.Signature[:])
		evidence = v
	default:
		o.unknownVariant(variant)
	}
	if err := o.finish(); err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	return evidence, nil
}

// MarshalJSON implements json.Marshaler.
func (p InclusionProof) MarshalJSON() ([]byte, error) {
	siblings := make([]Digest, len(p.Siblings))
	for i, s := range p.Siblings {
		siblings[i] = s
	}
	return marshalObject("number", p.Number, "n", p.N, "leaf", Digest(p.Leaf), "siblings", siblings)
}

// UnmarshalJSON implements json.Unmarshaler. It does not check whether the proof holds.
func (p *InclusionProof) UnmarshalJSON(b []byte) error {
	o := readObject(b)
	proof := InclusionProof{Number: o.u32("number"), N: o.u32("n"), Siblings: [][32]byte{}}
	o.fixed("leaf", proof.Leaf[:])
	o.list("siblings", MaxListSiblings, func(_ int, raw []byte) error {
		var sibling [32]byte
		err := parseFixed(raw, sibling[:])
		proof.Siblings = append(proof.Siblings, sibling)
		return err
	})
	*p = proof
	return o.finish()
}
