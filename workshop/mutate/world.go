package main

import (
	"math/rand/v2"

	cairn "github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// world holds the accounts whose secrets are known.
type world struct {
	keys        map[types.Account]cairn.PrivateKey
	authorities map[types.Account]*authority // by policy hash
	accounts    []types.Account              // of keys and policies
	policies    []types.Account
	producer    cairn.PrivateKey
}

func newWorld(r *rand.Rand) *world {
	w := &world{
		keys: map[types.Account]cairn.PrivateKey{}, authorities: map[types.Account]*authority{}, producer: newKey(r),
	}
	for range 8 {
		key := newKey(r)
		w.keys[key.PublicKey()] = key
		w.accounts = append(w.accounts, key.PublicKey())
	}
	for range 8 {
		a := newAuthority(r)
		hash := a.policy.Hash()
		w.authorities[hash] = a
		w.accounts = append(w.accounts, hash)
		w.policies = append(w.policies, hash)
	}
	return w
}

func (w *world) account(r *rand.Rand) types.Account { return pick(r, w.accounts) }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// stranger returns an account without a known secret, or one of the world's.
func (w *world) stranger(r *rand.Rand) types.Account {
	if r.IntN(3) > 0 {
		return w.account(r)
	}
	return types.Account(scalar(r))
}

// witness makes a witness of an account by the authority in force, or rarely by another one.
func (w *world) witness(
	r *rand.Rand, account, inForce types.Account, m message, recovery bool,
) types.Witness {
	if r.IntN(40) == 0 { // a past or future one
		inForce = w.account(r)
	}
	return w.by(r, account, inForce, m, recovery)
}

// by makes a witness of an account by an authority, or by the account's key if nobody has that authority.
func (w *world) by(r *rand.Rand, account, inForce types.Account, m message, recovery bool) types.Witness {
	if a, known := w.authorities[inForce]; known {
		return a.witness(r, m, recovery)
	}
	key, known := w.keys[account]
	if !known {
		key = w.producer
	}
	if r.IntN(2) == 0 {
		return types.WitnessKey{Signature: schnorr(key, m.hash, m.aux)}
	}
	sighash := uint8(r.IntN(2))
	return types.WitnessText{Signature: textSignature(key, m, sighash), Sighash: sighash}
}

// messagesOf returns the messages that the sender and the payer of a transaction sign.
func messagesOf(tx types.Transaction, network types.Network, aux [32]byte) (sender, payer message) {
	id := tx.Hash()
	text, _ := tx.Text(network)
	paid, _ := tx.PayerText(network)
	return message{hash: id, text: text, aux: aux}, message{hash: types.PayerHash(id), text: paid, aux: aux}
}

// sign adds the witnesses of a transaction on a state.
func (w *world) sign(r *rand.Rand, network types.Network, s view, tx types.Transaction) types.SignedTransaction {
	signed := types.SignedTransaction{Transaction: tx}
	sender, payer := messagesOf(tx, network, scalar(r))
	switch r.IntN(40) { // sign in another's place
	case 0:
		sender, payer = payer, sender
	case 1:
		sender.hash = payer.hash
	case 2:
		sender.text, payer.text = payer.text, sender.text
	case 3:
		sender.text, _ = tx.Text(pick(r, []types.Network{types.Mainnet, types.Testnet, types.Regtest}))
	}
	set, _ := tx.Payload.(types.SetPolicy)
	recovery := set.Recovery
	if r.IntN(20) == 0 {
		recovery = !recovery
	}
	signed.Witness = w.witness(r, tx.Sender, s.authority(tx.Sender), sender, recovery)
	if tx.Payer != nil {
		signed.PayerWitness = w.witness(r, *tx.Payer, s.authority(*tx.Payer), payer, false)
	}
	return signed
}

// view is a state at a time.
type view struct {
	entries mapState
	time    uint64
}

func (v view) record(a types.Account) state.Account {
	record, err := state.DecodeAccount(a, v.entries[string(state.AccountKey(a))])
	if err != nil {
		panic(err) // only the node's own code wrote it
	}
	return record
}

func (v view) authority(a types.Account) types.Account { return v.record(a).AuthorityAt(a, v.time) }

// mapState is a committed state.
type mapState map[string][]byte

// Get implements [state.Reader].
func (m mapState) Get(key []byte) ([]byte, error) { return m[string(key)], nil }

func (m mapState) commit(accesses []types.Access) {
	for _, a := range accesses {
		if len(a.New) == 0 {
			delete(m, string(a.Key))
		} else {
			m[string(a.Key)] = a.New
		}
	}
}
