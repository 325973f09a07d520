package client

import (
	"crypto/rand"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// Signer signs the transactions of one account.
type Signer struct {
	key crypto.PrivateKey
}

// NewSigner returns the signer of the account whose public key is the key's.
func NewSigner(key crypto.PrivateKey) Signer { return Signer{key: key} }

// Account is the signer's account.
func (s Signer) Account() types.Account { return s.key.PublicKey() }

// Sign signs a transaction whose sender is the signer's account.
func (s Signer) Sign(tx types.Transaction) (types.SignedTransaction, error) {
	return types.Sign(tx, s.key, randomness())
}

// SignAll signs transactions whose sender is the signer's account, several times as fast as one by one.
func (s Signer) SignAll(txs []types.Transaction) ([]types.SignedTransaction, error) {
	return types.SignAll(txs, s.key, randomness())
}

func randomness() (aux [32]byte) {
	_, _ = rand.Read(aux[:]) // never fails (crypto/rand)
	return aux
}
