package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cairn-chain/cairn/crypto/p256"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// same compares the node's verdict with the judge's answer.
func (m *mutator) same(name string, own bool, command string, arguments ...any) error {
	m.cases++
	answer, err := m.judge.ask(command, arguments...)
	if err != nil {
		return err
	}
	want := "0"
	if own {
		want = "1"
	}
	if answer != want {
		return fmt.Errorf("%s %x: the node says %s, the judge %s", command, arguments, want, answer)
	}
	m.counts[fmt.Sprintf("%s, %t", name, own)]++
	return nil
}

// proofs compares verdicts on proofs of the head's state and of a block's lists, intact and changed.
func (m *mutator) proofs(r *rand.Rand, w *world, c *chain, result exec.Result) error {
	for range 4 {
		if err := m.stateProof(r, c, pick(r, [][]byte{
			state.AccountKey(w.account(r)), state.AccountKey(types.Account(scalar(r))), state.ParametersKey(),
		})); err != nil {
			return err
		}
	}
	if len(result.Transactions) == 0 {
		return nil
	}
	for range 4 {
		if err := m.inclusion(r, c, result, r.IntN(len(result.Transactions))); err != nil {
			return err
		}
	}
	return nil
}

func (m *mutator) stateProof(r *rand.Rand, c *chain, key []byte) error {
	hashes := map[poseidon.Digest]poseidon.Digest{} // hashes of values, by path
	for k, v := range c.entries {
		hashes[poseidon.Hash(poseidon.TagPath, []byte(k))] = poseidon.Hash(poseidon.TagValue, v)
	}
	proof, err := c.tree.Prove(key, func(path poseidon.Digest) (poseidon.Digest, error) { return hashes[path], nil })
	if err != nil {
		return err
	}
	encoded, root := proof.Of(key, c.entries[string(key)]).Encode(), c.parent.StateRoot
	if r.IntN(4) > 0 {
		encoded = changeBytes(r, encoded)
	}
	decoded, err := types.DecodeMerkleProof(encoded)
	holds := err == nil && tree.VerifyShown(root, &decoded) == nil
	return m.same("state proof", holds, "state", root[:], encoded)
}

func (m *mutator) inclusion(r *rand.Rand, c *chain, result exec.Result, number int) error {
	command, root, leaves := "transactions", c.parent.TransactionsRoot, lists.TransactionLeaves(result.Transactions)
	if r.IntN(2) == 0 {
		command, root, leaves = "receipts", c.parent.ReceiptsRoot, lists.ReceiptLeaves(result.Receipts)
	}
	proof := lists.NewTree(leaves).Prove(number)
	switch r.IntN(6) {
	case 0:
		proof.N = uint32(edge(r))
	case 1:
		proof.Number = uint32(edge(r))
	case 2:
		proof.Siblings = append(slices.Clone(proof.Siblings), [32]byte{})
	}
	encoded := proof.Encode()
	if r.IntN(2) == 0 {
		encoded = changeBytes(r, encoded)
	}
	decoded, err := types.DecodeInclusionProof(encoded)
	holds := err == nil
	if holds && command == "transactions" {
		holds = lists.CheckTransaction(root, result.Transactions[number], &decoded) == nil
	} else if holds {
		holds = lists.CheckReceipt(root, &result.Receipts[number], &decoded) == nil
	}
	return m.same("inclusion proof", holds, command, root[:], encoded)
}

// message compares verdicts on a witness of a message to a contract, as in account_verify.
func (m *mutator) message(r *rand.Rand, w *world, p *place) error {
	at := view{p.entries, p.template.Timestamp}
	account, contract, text := w.account(r), types.ContractID(scalar(r)), data(r)
	inForce, chainID := at.authority(account), p.parent.ChainID
	signed := messageTo(p.network, chainID, contract, account, text)
	signed.aux = scalar(r)
	made := w.witness(r, account, inForce, signed, false)
	if r.IntN(2) == 0 {
		made = changedWitness(r, made)
	}
	encoded := types.EncodeWitness(made)
	if r.IntN(4) == 0 {
		encoded = changeBytes(r, encoded)
	}
	witness, err := types.DecodeWitness(encoded)
	holds := err == nil
	if policy, ok := witness.(types.WitnessPolicy); ok && holds {
		holds = policy.Policy.Check() == nil
	}
	holds = holds && witness.Claim(account) == inForce &&
		types.VerifyMessage(p.network, chainID, contract, account, text, witness)
	return m.same("message", holds, "message", contract[:], account[:], inForce[:], text, encoded)
}

// signature compares verdicts on a P-256 signature, with any s and with the low s only.
func (m *mutator) signature(r *rand.Rand) error {
	s, hash := newDevice(r), scalar(r)
	digest := sha256.Sum256(hash[:])
	point, signature := s.point(), s.sign(digest)
	if r.IntN(2) == 0 {
		negate(signature[32:], numbers[0])
	}
	if r.IntN(2) == 0 {
		changeSignature(r, pick(r, []*[64]byte{&signature, &point}))
	}
	m.cases++
	answer, err := m.judge.ask("p256", point[:], digest[:], signature[:])
	if err != nil {
		return err
	}
	anyS, low := p256.VerifyAny(point, signature, digest), p256.Verify(point, signature, digest)
	if want := fmt.Sprintf("%d%d", bit(anyS), bit(low)); answer != want {
		return fmt.Errorf("p256 %x %x %x: the node says %s, the judge %s", point, digest, signature, want, answer)
	}
	m.counts[fmt.Sprintf("P-256, any s %t, low %t", anyS, low)]++
	return nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
