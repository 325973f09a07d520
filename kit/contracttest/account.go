package contracttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Account sends transactions and signs messages. It encodes as 32 bytes in hex, as contracts take accounts.
type Account struct {
	types.Account
	signer client.Signer
}

// Account returns the account of a name, which a key signs for. It is the same in every chain. The first call for a name
// credits it with [Funds].
func (c *Chain) Account(name string) Account {
	c.t.Helper()
	return c.AccountOf(client.NewSigner(key(name)))
}

// PolicyAccount returns the account of a name that a policy signs for: a P-256 key alone, as browsers and phones hold
// one. Its transactions cost more than those of [Chain.Account], and its 32 bytes are not a key.
func (c *Chain) PolicyAccount(name string) Account {
	c.t.Helper()
	seed := sha256.Sum256([]byte("cairn/contracttest/p256/" + name))
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	c.must(err)
	cosigner, err := client.NewP256Signer(private)
	c.must(err)
	policy := client.SinglePolicy(cosigner.Signer())
	signer, err := client.NewPolicySigner(network, client.PolicyAccount{ID: policy.Hash(), Policy: policy}, cosigner)
	c.must(err)
	return c.AccountOf(signer)
}

// AccountOf returns the account that a signer signs for. The first call for an account credits it with [Funds].
func (c *Chain) AccountOf(signer client.Signer) Account {
	c.t.Helper()
	a := Account{Account: signer.Account(), signer: signer}
	if c.state[string(state.AccountKey(a.Account))] == nil {
		c.Fund(a.Account, Funds)
	}
	return a
}

// SignMessage returns the encoded witness of an account for a message to a contract, as the host function account_verify
// takes it.
func (c *Chain) SignMessage(from Account, contract types.ContractID, message []byte) []byte {
	c.t.Helper()
	witness, err := from.signer.SignMessage(context.Background(), client.Message{
		ChainID: ChainID, Contract: contract, Account: from.Account, Bytes: message,
	})
	c.must(err)
	return types.EncodeWitness(witness)
}

// SetPolicy lets a policy sign for the account in place of its previous signer; nil restores the account's own key.
// Send later transactions with another Account: [Chain.AccountOf] of a client.PolicySigner with this account's ID.
func (c *Chain) SetPolicy(from Account, policy *types.Policy, options ...Options) Result {
	c.t.Helper()
	_, result := c.send(from, client.Action{Payload: types.SetPolicy{Policy: policy}}, only(options))
	return result
}

// Batch carries out transfers and calls in one transaction: all of them, or none if one fails.
func (c *Chain) Batch(from Account, steps []client.Action, options ...Options) Result {
	c.t.Helper()
	var batch types.Batch
	for _, s := range steps {
		batch.Steps = append(batch.Steps, types.Step{Target: s.Target, Value: s.Value, Action: s.Payload})
	}
	_, result := c.send(from, client.Action{Payload: batch}, only(options))
	return result
}

// sign signs a transaction as its sender and, if there is one, as its payer.
func (c *Chain) sign(tx types.Transaction, from Account, payer Account) *types.VerifiedTx {
	c.t.Helper()
	signed, err := client.Sign(context.Background(), from.signer, tx)
	c.must(err)
	if tx.Payer != nil {
		signed.PayerWitness, err = payer.signer.Sign(context.Background(), tx, client.AsPayer)
		c.must(err)
	}
	verified := types.VerifyWitnesses(network, types.NewTxs(signed))
	if verified[0] == nil {
		c.t.Fatal("the witness of a test account does not hold")
	}
	return verified[0]
}
