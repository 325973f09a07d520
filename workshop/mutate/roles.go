package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"

	cairn "github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// signing is a key's signature of 32 bytes: by BIP-340, or over P-256 for a device's key.
type signing struct {
	by     signer
	digest [32]byte
}

func (s signing) signature(r *rand.Rand) [64]byte {
	if s.by.device != nil {
		return s.by.sign(s.digest)
	}
	return schnorr(s.by.key, s.digest, scalar(r))
}

// use is a place for a signature, with the signature that belongs there.
type use struct {
	name string
	signing
	holds func(signature [64]byte) (bool, error) // compares both verdicts
}

// roles puts signatures that are valid in one role into every other role. Each must be valid in its own role only.
func (m *mutator) roles(r *rand.Rand, cases int) error {
	cases = min(cases, m.cases+perRound)
	s, err := newStage(r, m)
	if err != nil {
		return err
	}
	uses, signings := s.uses(r)
	for _, u := range uses {
		if err := m.misuse(r, u, u.signing); err != nil {
			return err
		}
	}
	for m.cases < cases {
		u, s := pick(r, uses), pick(r, signings)
		if (u.by.device == nil) != (s.by.device == nil) {
			continue
		}
		if err := m.misuse(r, u, s); err != nil {
			return err
		}
	}
	return nil
}

func (m *mutator) misuse(r *rand.Rand, u use, s signing) error {
	got, err := u.holds(s.signature(r))
	if err != nil {
		return fmt.Errorf("%s: %w", u.name, err)
	}
	sameKey := s.by.device == u.by.device && (s.by.device != nil || s.by.public == u.by.public)
	want := sameKey && s.digest == u.digest
	if got != want {
		return fmt.Errorf("%s, a signature of %x by %v: it holds: %t, want %t", u.name, s.digest, s.by.public, got, want)
	}
	m.counts[fmt.Sprintf("%s, %t", u.name, got)]++
	return nil
}

// stage has a key account, which is also the producer, and a policy account whose first signer is the same key. Each
// can be the payer of the other.
type stage struct {
	*mutator
	place
	chain    *chain
	key      signer
	policy   types.Policy
	owners   []signer // a key, a P-256 key and a passkey
	heirs    []signer
	contract types.ContractID
	said     []byte
}

func oneOf(signers []signer) (rule types.Rule) {
	rule.Threshold = 1
	for _, s := range signers {
		rule.Signers = append(rule.Signers, s.public)
	}
	return rule
}

// threeOf returns a key, and a point that is both a P-256 key and a passkey, as signers in the order of a rule.
func threeOf(r *rand.Rand, key signer) []signer {
	device := newDevice(r)
	passkey := device
	passkey.public = types.SignerPasskey{Point: device.point()}
	return []signer{key, device, passkey}
}

func keySigner(key cairn.PrivateKey) signer {
	return signer{public: types.SignerKey{Key: key.PublicKey()}, key: key}
}

func newStage(r *rand.Rand, m *mutator) (*stage, error) {
	s := &stage{mutator: m, key: keySigner(newKey(r)), contract: types.ContractID(scalar(r)), said: data(r)}
	s.owners, s.heirs = threeOf(r, s.key), threeOf(r, keySigner(newKey(r)))
	s.policy = types.Policy{
		Owner: oneOf(s.owners), Recovery: &types.Recovery{Rule: oneOf(s.heirs), Delay: 1 + r.Uint64N(1000)},
	}
	g := types.Genesis{
		ChainID: r.Uint64(), Network: pick(r, []types.Network{types.Mainnet, types.Testnet, types.Regtest}),
		Time: 1_700_000_000_000, Parameters: params.Default(s.key.key.PublicKey()),
	}
	g.BaseFee = g.Parameters.MinBaseFee
	for _, a := range []types.Account{s.key.key.PublicKey(), s.policy.Hash()} {
		g.Allocations = append(g.Allocations, types.Allocation{Account: a, Balance: 1 << 40})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	var err error
	if s.chain, err = m.begin(g, false); err != nil {
		return nil, err
	}
	s.place = s.chain.place
	if s.template, err = exec.HeaderTemplate(s.parent, s.present, s.parent.Timestamp+1000); err != nil {
		return nil, err
	}
	return s, m.tellContext(&s.place)
}

// form is a kind of evidence: of a key, a text by either sighash, a P-256 key or a passkey.
type form int

const (
	keyForm form = iota
	textForm
	textAllForm
	p256Form
	passkeyForm
	forms
)

func (f form) String() string { return []string{"key", "text", "text, all", "P-256", "passkey"}[f] }

// number returns the number of the form's signer in a rule of threeOf.
func (f form) number() int { return []int{0, 0, 0, 1, 2}[f] }

var (
	authenticator = [37]byte{32: 1}
	client        = []byte(`","origin":"http://localhost"}`)
)

// signed returns the 32 bytes that a signer signs for a message in a form.
func (f form) signed(by signer, m message) [32]byte {
	switch f {
	case textForm, textAllForm:
		return textMessage(by.key, m, uint8(f-textForm))
	case p256Form:
		return sha256.Sum256(m.hash[:])
	case passkeyForm:
		return types.PasskeyDigest(m.hash, authenticator, client)
	default:
		return m.hash
	}
}

func (f form) evidence(signature [64]byte) types.Evidence {
	switch f {
	case textForm:
		return types.EvidenceText{Signature: signature}
	case textAllForm:
		return types.EvidenceText{Signature: signature, Sighash: 1}
	case p256Form:
		return types.EvidenceP256{Signature: signature}
	case passkeyForm:
		return types.EvidencePasskey{Authenticator: authenticator, Client: client, Signature: signature}
	default:
		return types.EvidenceKey{Signature: signature}
	}
}

// witness returns a witness with a signature in a form, by the policy or by the key.
func (s *stage) witness(f form, byPolicy bool, signature [64]byte) types.Witness {
	switch {
	case byPolicy:
		proof := types.Proof{Signer: uint8(f.number()), Evidence: f.evidence(signature)}
		return types.WitnessPolicy{Policy: s.policy, Proofs: []types.Proof{proof}}
	case f == keyForm:
		return types.WitnessKey{Signature: signature}
	default:
		return types.WitnessText{Signature: signature, Sighash: uint8(f - textForm)}
	}
}

// uses returns all places for signatures, and the signatures to put there: those that belong there and some that never
// do.
func (s *stage) uses(r *rand.Rand) (uses []use, signings []signing) {
	key, policy := s.key.key.PublicKey(), s.policy.Hash()
	var hashes []message // of all hashed values
	for _, byPolicy := range []bool{false, true} {
		sender, payer := key, policy
		if byPolicy {
			sender, payer = policy, key
		}
		tx := s.transaction(r, sender, payer)
		uses = append(uses, s.usesOf(r, tx, byPolicy, "")...)
		hashes = append(hashes, s.hashesOf(tx)...)
		message := s.said
		asked := messageTo(s.network, s.chain.parent.ChainID, s.contract, sender, message)
		uses = append(uses, s.each(s.owners, byPolicy, "message", asked, func(w types.Witness) (bool, error) {
			return s.messageHolds(sender, message, w)
		})...)
		hashes = append(hashes, messageTo(s.network, s.chain.parent.ChainID+1, s.contract, sender, message),
			messageTo(s.network, s.chain.parent.ChainID, types.ContractID(sender), sender, message),
			messageTo(s.network, s.chain.parent.ChainID, s.contract, payer, message))
	}
	recovers := s.transaction(r, policy, key)
	recovers.Payload, recovers.Value, recovers.Target = types.SetPolicy{Recovery: true}, 0, types.Account{}
	uses = append(uses, s.usesOf(r, recovers, true, "recovery's ")...)
	sealed, use := s.sealUse()
	uses = append(uses, use)
	for _, u := range uses {
		signings = append(signings, u.signing)
	}
	owner := oneOf(s.owners)
	hashes = append(hashes, message{hash: policy}, message{hash: types.Policy{Owner: owner}.Hash()},
		message{hash: types.NewContractID(key, 0)}, message{hash: types.NewInstanceID(s.contract, types.CodeHash(policy), policy)},
		message{hash: sealed.TransactionsRoot}, message{hash: sealed.ReceiptsRoot}, message{hash: sealed.StateRoot},
		message{hash: sha256.Sum256(sealed.Encode())}, message{hash: key}, message{})
	for _, by := range append(slices.Clone(s.owners), s.heirs...) {
		for _, m := range hashes {
			signings = append(signings, signing{by, m.hash})
			for f := range forms {
				if (f < p256Form) == (by.device == nil) {
					signings = append(signings, signing{by, f.signed(by, m)})
				}
			}
		}
	}
	return uses, signings
}

func (s *stage) transaction(r *rand.Rand, sender, payer types.Account) types.Transaction {
	tx := types.Transaction{
		Sender: sender, Target: s.key.key.PublicKey(), ChainID: s.parent.ChainID, GasLimit: 1_000_000, Payer: &payer,
		MaxFeePerGas: s.template.BaseFee, Value: types.Amount(r.IntN(1000)), Payload: types.Transfer{Memo: memo(r)},
	}
	if r.IntN(2) == 0 {
		tx.Payload = types.Batch{Steps: []types.Step{{Target: payer, Value: tx.Value, Action: tx.Payload}}}
		tx.Target, tx.Value = types.Account{}, 0
	}
	return tx
}

func messageTo(n types.Network, chainID uint64, c types.ContractID, a types.Account, said []byte) message {
	return message{hash: types.MessageHash(chainID, c, a, said), text: types.MessageText(n, chainID, c, a, said)}
}

// hashesOf returns hashes of a transaction and its parts that nobody signs, and texts of other networks.
func (s *stage) hashesOf(tx types.Transaction) (hashes []message) {
	signed := types.SignedTransaction{Transaction: tx, Witness: types.WitnessKey{}, PayerWitness: types.WitnessKey{}}
	encoded, id := tx.Encode(), tx.Hash()
	other, later := tx, tx
	other.ChainID++
	later.Nonce++
	payer := types.PayerHash(id)
	for _, hash := range [][32]byte{
		signed.WitnessDigest(), sha256.Sum256(encoded), bip340.NewTag("cairn/tx/v2").Hash(append([]byte{2}, encoded...)),
		bip340.NewTag("cairn/tx/v1").Hash(encoded), other.Hash(), later.Hash(), types.PayerHash(types.TxID(payer)),
		types.PayerHash(other.Hash()), sha256.Sum256(id[:]), lists.TransactionLeaf(types.NewTx(signed)).Bytes(),
	} {
		hashes = append(hashes, message{hash: hash})
	}
	for _, n := range []types.Network{types.Mainnet, types.Testnet, types.Regtest} {
		if n != s.network {
			text, _ := tx.Text(n)
			hashes = append(hashes, message{hash: id, text: text})
			text, _ = tx.PayerText(n)
			hashes = append(hashes, message{hash: payer, text: text})
		}
	}
	return hashes
}

// usesOf returns the places of a transaction's two witnesses. The heirs sign as the sender of a recovery.
func (s *stage) usesOf(r *rand.Rand, tx types.Transaction, byPolicy bool, of string) []use {
	sender, payer := messagesOf(tx, s.network, [32]byte{})
	signers := s.owners
	if of != "" {
		signers = s.heirs
	}
	sign := func(signers []signer, byPolicy bool, m message) types.Witness {
		return s.witness(keyForm, byPolicy, signing{signers[0], m.hash}.signature(r))
	}
	judge := func(signed types.SignedTransaction) (bool, error) {
		rule, err := s.compare(&s.place, signed.Encode())
		if err == nil && rule != 0 && rule != 18 {
			err = fmt.Errorf("it breaks rule %d", rule)
		}
		return rule == 0, err
	}
	uses := s.each(signers, byPolicy, of+"sender", sender, func(w types.Witness) (bool, error) {
		return judge(types.SignedTransaction{Transaction: tx, Witness: w, PayerWitness: sign(s.owners, !byPolicy, payer)})
	})
	return append(uses, s.each(s.owners, !byPolicy, of+"payer", payer, func(w types.Witness) (bool, error) {
		return judge(types.SignedTransaction{Transaction: tx, Witness: sign(signers, byPolicy, sender), PayerWitness: w})
	})...)
}

// each returns a place for each form.
func (s *stage) each(signers []signer, byPolicy bool, role string, m message, holds func(types.Witness) (bool, error)) []use {
	var uses []use
	for f := range forms {
		by := signers[f.number()]
		if f >= p256Form && !byPolicy {
			break
		}
		name := role + ", " + f.String()
		if byPolicy {
			name += " of a policy"
		}
		uses = append(uses, use{name, signing{by, f.signed(by, m)}, func(signature [64]byte) (bool, error) {
			return holds(s.witness(f, byPolicy, signature))
		}})
	}
	return uses
}

func (s *stage) messageHolds(account types.Account, said []byte, w types.Witness) (bool, error) {
	encoded := types.EncodeWitness(w)
	holds := types.VerifyMessage(s.network, s.parent.ChainID, s.contract, account, said, w)
	return holds, s.same("message", holds, "message", s.contract[:], account[:], account[:], said, encoded)
}

// sealUse returns the seal of an empty block.
func (s *stage) sealUse() (types.Header, use) {
	run := exec.Begin(s.network, s.present, s.entries, s.template, exec.Machine{})
	result, err := run.Finish()
	if err == nil {
		err = s.chain.root(&result)
	}
	if err != nil {
		panic(err) // an empty block is valid
	}
	hash := result.Header.Hash()
	return result.Header, use{"seal", signing{s.key, hash}, func(signature [64]byte) (bool, error) {
		block := types.Block{Header: result.Header, Seal: types.Seal{Signature: signature}}
		_, number, err := s.compareBlock(s.chain, block.Encode())
		return number != 0, err
	}}
}
