package main

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/types"
)

// changeFields changes fields of a transaction before it is signed.
func (m *maker) changeFields(r *rand.Rand, tx *types.Transaction) {
	switch r.IntN(16) {
	case 0:
		tx.Sender = m.stranger(r)
	case 1:
		tx.Target = pick(r, []types.Account{{}, tx.Sender, m.stranger(r), types.Account{31: 1}})
	case 2:
		tx.ChainID = pick(r, []uint64{tx.ChainID + 1, edge(r)})
	case 3:
		tx.Nonce = pick(r, []uint64{tx.Nonce + 1, tx.Nonce - 1, edge(r)})
	case 4:
		tx.MaxFeePerGas = types.Amount(pick(r, []uint64{uint64(m.baseFee), uint64(m.baseFee) - 1, edge(r)}))
	case 5:
		tx.MaxPriorityFeePerGas = types.Amount(pick(r, []uint64{uint64(tx.MaxFeePerGas), uint64(tx.MaxFeePerGas) + 1, edge(r)}))
	case 6:
		tx.Value = types.Amount(edge(r))
	case 7:
		payer := pick(r, []types.Account{tx.Sender, m.stranger(r), m.account(r)})
		tx.Payer = &payer
	case 8:
		tx.Payer = nil
	case 9:
		until := pick(r, []uint64{m.at.time - 1, m.at.time, types.MaxTime + 1, edge(r)})
		tx.ValidUntil = &until
	case 10:
		tx.Payload = m.payload(r)
	case 11:
		record := m.at.record(tx.Sender)
		tx.Value = record.Balance - min(record.Balance, types.Amount(r.IntN(20_000_000)))
	case 12: // a name or a function of the greatest length, or longer
		name := strings.Repeat("x", 64+r.IntN(2))
		tx.Payload = pick(r, []types.Payload{
			types.Call{Function: name}, types.Instantiate{Name: name}, types.Deploy{Name: name, Code: []byte{0}},
		})
	case 13: // a fee cap of about 2^64
		tx.MaxFeePerGas = types.Amount(pick(r, []uint64{1<<64 - 1, 1 << 63, (1<<64 - 1) / (20_000 + r.Uint64N(100_000))}))
	default:
		m.changePayload(r, tx)
	}
}

// changePayload changes a part of the payload.
func (m *maker) changePayload(r *rand.Rand, tx *types.Transaction) {
	switch p := tx.Payload.(type) {
	case types.Batch:
		p.Steps = slices.Clone(p.Steps)
		step := &p.Steps[r.IntN(len(p.Steps))]
		step.Value, step.Target = types.Amount(edge(r)), m.stranger(r)
		if r.IntN(8) == 0 {
			for len(p.Steps) < 256+r.IntN(2) {
				p.Steps = append(p.Steps, types.Step{Target: m.account(r), Action: types.Transfer{}})
			}
		}
		tx.Payload = p
	case types.SetPolicy:
		if p.Policy != nil {
			changed := *p.Policy
			changePolicy(r, &changed)
			p.Policy = &changed
		} else {
			p.Recovery = !p.Recovery
		}
		tx.Payload = p
	case types.Configure:
		p.Parameters = m.parameters(r)
		tx.Payload = p
	case types.Call:
		p.Args = make([]byte, pick(r, []int{0, 65_536, 65_537}))
		tx.Payload = p
	case types.Deploy:
		p.Name = text(r)
		tx.Payload = p
	default:
		tx.Payload = m.payload(r)
	}
}

// changePolicy changes a policy at the edges of its validity.
func changePolicy(r *rand.Rand, p *types.Policy) {
	rule := &p.Owner
	if p.Recovery != nil && r.IntN(2) == 0 {
		recovery := *p.Recovery
		p.Recovery = &recovery
		if r.IntN(2) == 0 {
			recovery.Delay = pick(r, []uint64{0, 1, 1 << 40, 1<<40 + 1, edge(r)})
			p.Recovery = &recovery
			return
		}
		rule = &recovery.Rule
		defer func() { p.Recovery.Rule = *rule }()
	}
	if len(rule.Signers) == 0 { // changed earlier
		rule.Signers = []types.Signer{newSigner(r).public}
		return
	}
	rule.Signers = slices.Clone(rule.Signers)
	at := r.IntN(len(rule.Signers))
	switch r.IntN(7) {
	case 0:
		rule.Threshold = uint8(edge(r))
	case 1:
		rule.Threshold = uint8(len(rule.Signers) + r.IntN(2))
	case 2:
		rule.Signers = append(rule.Signers, rule.Signers[at])
	case 3:
		rule.Signers = nil
	case 4:
		slices.Reverse(rule.Signers)
	case 5:
		for len(rule.Signers) < 16+r.IntN(2) {
			rule.Signers = append(rule.Signers, newSigner(r).public)
		}
	default:
		rule.Signers[at] = types.SignerKey{Key: types.PublicKey(scalar(r))}
	}
}

// changeWitness changes a witness after it was made.
func (m *maker) changeWitness(r *rand.Rand, signed *types.SignedTransaction) {
	switch r.IntN(8) {
	case 0:
		signed.Witness, signed.PayerWitness = signed.PayerWitness, signed.Witness
	case 1:
		signed.PayerWitness = nil
	case 2:
		signed.PayerWitness = signed.Witness
	default:
		w := &signed.Witness
		if signed.PayerWitness != nil && r.IntN(2) == 0 {
			w = &signed.PayerWitness
		}
		*w = changedWitness(r, *w)
	}
	if signed.Witness == nil {
		signed.Witness = types.WitnessKey{}
	}
}

func changedWitness(r *rand.Rand, w types.Witness) types.Witness {
	switch w := w.(type) {
	case types.WitnessKey:
		if r.IntN(3) == 0 {
			return types.WitnessText{Signature: w.Signature}
		}
		changeSignature(r, (*[64]byte)(&w.Signature))
		return w
	case types.WitnessText:
		switch r.IntN(3) {
		case 0:
			return types.WitnessKey{Signature: w.Signature}
		case 1:
			w.Sighash ^= 1
		default:
			changeSignature(r, (*[64]byte)(&w.Signature))
		}
		return w
	case types.WitnessPolicy:
		return changedPolicyWitness(r, w)
	default:
		return w
	}
}

func changedPolicyWitness(r *rand.Rand, w types.WitnessPolicy) types.WitnessPolicy {
	w.Proofs = slices.Clone(w.Proofs)
	if len(w.Proofs) == 0 {
		return w
	}
	at := r.IntN(len(w.Proofs))
	proof := &w.Proofs[at]
	switch r.IntN(8) {
	case 0:
		w.Proofs = append(w.Proofs, *proof)
	case 1:
		w.Proofs = slices.Delete(w.Proofs, at, at+1)
	case 2:
		slices.Reverse(w.Proofs)
	case 3:
		proof.Signer = pick(r, []uint8{proof.Signer + 1, proof.Signer - 1, uint8(edge(r))})
	case 4:
		changePolicy(r, &w.Policy)
	case 5:
		w.Policy.Number++
	default:
		proof.Evidence = changedEvidence(r, proof.Evidence)
	}
	return w
}

func changedEvidence(r *rand.Rand, e types.Evidence) types.Evidence {
	switch e := e.(type) {
	case types.EvidenceKey:
		if r.IntN(3) == 0 {
			return types.EvidenceP256{Signature: e.Signature}
		}
		changeSignature(r, (*[64]byte)(&e.Signature))
		return e
	case types.EvidenceText:
		if r.IntN(2) == 0 {
			e.Sighash ^= 1
		} else {
			changeSignature(r, (*[64]byte)(&e.Signature))
		}
		return e
	case types.EvidenceP256:
		if r.IntN(3) == 0 {
			return types.EvidenceKey{Signature: e.Signature}
		}
		changeSignature(r, &e.Signature)
		return e
	case types.EvidencePasskey:
		switch r.IntN(5) {
		case 0:
			e.Authenticator[32] ^= 1 << r.IntN(8)
		case 1:
			e.Authenticator[r.IntN(37)] ^= 1 << r.IntN(8)
		case 2:
			e.Client = e.Client[:r.IntN(len(e.Client)+1)]
		case 3:
			e.Client = append(slices.Clone(e.Client), make([]byte, pick(r, []int{1, 1024 - len(e.Client), 1025 - len(e.Client)}))...)
		default:
			changeSignature(r, &e.Signature)
		}
		return e
	default:
		return e
	}
}

// changeSignature flips a bit, negates s modulo either order, or sets one half to 0 or to an order.
func changeSignature(r *rand.Rand, s *[64]byte) {
	half := s[32*r.IntN(2):][:32]
	switch r.IntN(6) {
	case 0:
		clear(half)
	case 1:
		number := pick(r, numbers)
		copy(half, number[:])
	case 2, 3:
		negate(s[32:], pick(r, numbers[:2]))
	default:
		s[r.IntN(64)] ^= 1 << r.IntN(8)
	}
}

// changeBytes changes an encoding.
func changeBytes(r *rand.Rand, encoded []byte) []byte {
	b := slices.Clone(encoded)
	for range 1 + r.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := r.IntN(len(b))
		switch r.IntN(7) {
		case 0, 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			b[at] = byte(edge(r))
		case 3:
			b = slices.Insert(b, at, byte(edge(r)))
		case 4:
			b = slices.Delete(b, at, min(len(b), at+1+r.IntN(8)))
		case 5:
			if at+8 <= len(b) {
				binary.LittleEndian.PutUint64(b[at:], edge(r))
			}
		default:
			if r.IntN(2) == 0 {
				b = b[:at]
			} else {
				b = append(b, byte(edge(r)))
			}
		}
	}
	return b
}
