package client

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Role is the part of an account in a transaction that it signs.
type Role uint8

// The roles in a transaction.
const (
	AsSender Role = iota // the account that acts
	AsPayer              // the account that pays another's fee
)

// String returns the role's name.
func (r Role) String() string {
	if r == AsPayer {
		return "payer"
	}
	return "sender"
}

// ErrNoText is returned if a text signature is needed and the text does not exist or is too long for one.
var ErrNoText = fmt.Errorf("a Bitcoin wallet signs texts of at most %d bytes", types.MaxTextBytes)

// Statement is a message to sign: 32 bytes, and a readable text of the same content, which a Bitcoin wallet signs
// instead of the bytes.
type Statement struct {
	Hash [32]byte

	text func(types.Network) (string, bool)
}

// StatementOf returns the statement that an account signs in a role of a transaction.
func StatementOf(tx types.Transaction, role Role) Statement {
	id := tx.Hash()
	if role == AsPayer {
		return Statement{Hash: types.PayerHash(id), text: tx.PayerText}
	}
	return Statement{Hash: id, text: tx.Text}
}

// Text returns the text on a network. It returns [ErrNoText] if a wallet cannot sign it.
func (s Statement) Text(network types.Network) (string, error) {
	text, ok := s.text(network)
	switch {
	case !ok:
		return "", fmt.Errorf("%w, and this has none: its valid_until is after the year 9999", ErrNoText)
	case len(text) > types.MaxTextBytes:
		return "", fmt.Errorf("%w, and this has %d: sign with a key, or in parts", ErrNoText, len(text))
	}
	return text, nil
}

// holds reports whether a signer's evidence holds.
func (s Statement) holds(network types.Network, signer types.Signer, evidence types.Evidence) bool {
	return types.EvidenceHolds(signer, evidence, s.Hash, func() (string, bool) { return s.text(network) })
}

// Message is a message that an account signs for a contract, or for anybody if Contract is zero: a login, an order, a
// permit. The host function account_verify accepts its witness.
type Message struct {
	ChainID  uint64
	Contract types.ContractID // zero: outside of contracts
	Account  types.Account
	Bytes    []byte // at most 1,024 for account_verify
}

// Statement returns the statement to sign.
func (m Message) Statement() Statement {
	return Statement{
		Hash: types.MessageHash(m.ChainID, m.Contract, m.Account, m.Bytes),
		text: func(network types.Network) (string, bool) {
			return types.MessageText(network, m.ChainID, m.Contract, m.Account, m.Bytes), true
		},
	}
}
