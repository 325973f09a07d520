package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// Party is an account that takes part in a transaction as its sender or its payer. A [Signer] is one. If the account's
// keys are elsewhere, use a [KeyAccount] or a [PolicyAccount].
type Party interface {
	Account() types.Account
	// Sample returns a witness for estimates, as large and as expensive as the account's witness of a payload. Its
	// signatures are not valid.
	Sample(payload types.Payload, role Role) types.Witness
}

// Signer makes the witnesses of one account.
type Signer interface {
	Party
	// Sign returns the account's witness of a transaction. The transaction must name the account in the role.
	Sign(ctx context.Context, tx types.Transaction, role Role) (types.Witness, error)
	// SignMessage returns the account's witness of a message. The message must name the account.
	SignMessage(ctx context.Context, m Message) (types.Witness, error)
}

// ErrOtherAccount is returned for a transaction or message that names a different account than the signer's.
var ErrOtherAccount = errors.New("it is for a different account than the signer's")

// Sign signs a transaction as its sender. If it has a payer, [Sponsor] adds the payer's witness.
func Sign(ctx context.Context, signer Signer, tx types.Transaction) (types.SignedTransaction, error) {
	if err := checkRole(tx, AsSender, signer.Account()); err != nil {
		return types.SignedTransaction{}, err
	}
	witness, err := signer.Sign(ctx, tx, AsSender)
	return types.SignedTransaction{Transaction: tx, Witness: witness}, err
}

// SignAll signs several transactions of one account as [Sign] does. With a [KeySigner] it is several times as fast.
func SignAll(ctx context.Context, signer Signer, txs []types.Transaction) ([]types.SignedTransaction, error) {
	if key, is := signer.(KeySigner); is {
		for _, tx := range txs {
			if err := checkRole(tx, AsSender, key.Account()); err != nil {
				return nil, err
			}
		}
		return types.SignAll(txs, key.key, randomness())
	}
	signed := make([]types.SignedTransaction, len(txs))
	for i, tx := range txs {
		var err error
		if signed[i], err = Sign(ctx, signer, tx); err != nil {
			return nil, err
		}
	}
	return signed, nil
}

// checkRole checks that a transaction names an account in a role.
func checkRole(tx types.Transaction, role Role, account types.Account) error {
	named := &tx.Sender
	if role == AsPayer {
		named = tx.Payer
	}
	if named == nil || *named != account {
		return fmt.Errorf("%w: it has no %s %s", ErrOtherAccount, role, account)
	}
	return nil
}

// MaxSponsored is the longest time for which [Sponsor] and [Client.Build] make a payer's signature valid.
const MaxSponsored = 10 * time.Minute

// ErrSponsoredTooLong is returned for a transaction with a payer whose valid_until is missing or further ahead than
// [MaxSponsored].
var ErrSponsoredTooLong = fmt.Errorf("a transaction with a payer can be valid for at most %v", MaxSponsored)

// Sponsor signs a transaction as its payer, at the present time. The payer can lose the whole gas limit × max fee to a
// call that fails: simulate the transaction first, and limit the amount for each user. It returns [ErrSponsoredTooLong]
// for a transaction that stays valid too long.
func Sponsor(
	ctx context.Context, payer Signer, signed types.SignedTransaction, now time.Time,
) (types.SignedTransaction, error) {
	tx := signed.Transaction
	if err := checkRole(tx, AsPayer, payer.Account()); err != nil {
		return signed, err
	}
	if err := checkSponsored(tx, milliseconds(now)); err != nil {
		return signed, err
	}
	witness, err := payer.Sign(ctx, tx, AsPayer)
	signed.PayerWitness = witness
	return signed, err
}

// checkSponsored checks the valid_until of a transaction with a payer.
func checkSponsored(tx types.Transaction, now uint64) error {
	if tx.ValidUntil == nil || *tx.ValidUntil > now+uint64(MaxSponsored.Milliseconds()) {
		return ErrSponsoredTooLong
	}
	return nil
}

// milliseconds returns a time as a block timestamp; 0 for a time before 1970.
func milliseconds(t time.Time) uint64 { return uint64(max(t.UnixMilli(), 0)) }

// KeyAccount is an account whose own key signs for it in another program. That may be a Bitcoin wallet, whose
// signatures cost more gas than other signatures by keys.
type KeyAccount types.Account

// Account implements [Party].
func (a KeyAccount) Account() types.Account { return types.Account(a) }

// Sample implements [Party].
func (a KeyAccount) Sample(types.Payload, Role) types.Witness { return types.WitnessText{} }

// KeySigner signs with the private key of an account. It can also be a [Cosigner].
type KeySigner struct {
	key crypto.PrivateKey
}

// NewSigner returns the signer of the account whose public key is the key's.
func NewSigner(key crypto.PrivateKey) KeySigner { return KeySigner{key: key} }

// Account implements [Party].
func (s KeySigner) Account() types.Account { return s.key.PublicKey() }

// Sample implements [Party].
func (s KeySigner) Sample(types.Payload, Role) types.Witness { return types.WitnessKey{} }

// Sign implements [Signer].
func (s KeySigner) Sign(_ context.Context, tx types.Transaction, role Role) (types.Witness, error) {
	if err := checkRole(tx, role, s.Account()); err != nil {
		return nil, err
	}
	return s.witness(StatementOf(tx, role))
}

// SignMessage implements [Signer].
func (s KeySigner) SignMessage(_ context.Context, m Message) (types.Witness, error) {
	if m.Account != s.Account() {
		return nil, ErrOtherAccount
	}
	return s.witness(m.Statement())
}

func (s KeySigner) witness(what Statement) (types.Witness, error) {
	signature, err := s.key.Sign(what.Hash[:], randomness())
	if err != nil {
		return nil, err
	}
	return types.WitnessKey{Signature: signature}, nil
}

// Signer implements [Cosigner].
func (s KeySigner) Signer() types.Signer { return types.SignerKey{Key: s.key.PublicKey()} }

// Evidence implements [Cosigner].
func (s KeySigner) Evidence(_ context.Context, what Statement) (types.Evidence, error) {
	signature, err := s.key.Sign(what.Hash[:], randomness())
	if err != nil {
		return nil, err
	}
	return types.EvidenceKey{Signature: signature}, nil
}

func randomness() (aux [32]byte) {
	_, _ = rand.Read(aux[:]) // never fails (crypto/rand)
	return aux
}
