package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/types"
)

// ErrTextSignature is returned for a signature of a text that is not a wallet's signature by the expected account.
var ErrTextSignature = errors.New("not a BIP-322 signature (simple) of the text by the account's key")

// SignText asks a Bitcoin wallet to sign a text for the taproot address of an account, by BIP-322 simple. It returns
// the wallet's base64, with or without the prefix smp.
type SignText func(ctx context.Context, account types.Account, text string) (string, error)

// TextSigner signs with a Bitcoin wallet, which shows the text that it signs. It can also be a [Cosigner].
type TextSigner struct {
	network types.Network
	account types.Account
	sign    SignText
}

// NewTextSigner returns the signer of an account whose key is in a wallet. The network is the chain's.
func NewTextSigner(network types.Network, account types.Account, sign SignText) TextSigner {
	return TextSigner{network: network, account: account, sign: sign}
}

// Account implements [Party].
func (s TextSigner) Account() types.Account { return s.account }

// Sample implements [Party].
func (s TextSigner) Sample(types.Payload, Role) types.Witness { return types.WitnessText{} }

// Sign implements [Signer].
func (s TextSigner) Sign(ctx context.Context, tx types.Transaction, role Role) (types.Witness, error) {
	if err := checkRole(tx, role, s.account); err != nil {
		return nil, err
	}
	return s.witness(ctx, StatementOf(tx, role))
}

// SignMessage implements [Signer].
func (s TextSigner) SignMessage(ctx context.Context, m Message) (types.Witness, error) {
	if m.Account != s.account {
		return nil, ErrOtherAccount
	}
	return s.witness(ctx, m.Statement())
}

func (s TextSigner) witness(ctx context.Context, what Statement) (types.Witness, error) {
	evidence, err := s.evidence(ctx, what)
	if err != nil {
		return nil, err
	}
	return types.WitnessText(evidence), nil
}

// Signer implements [Cosigner].
func (s TextSigner) Signer() types.Signer { return types.SignerKey{Key: types.PublicKey(s.account)} }

// Evidence implements [Cosigner].
func (s TextSigner) Evidence(ctx context.Context, what Statement) (types.Evidence, error) {
	evidence, err := s.evidence(ctx, what)
	if err != nil {
		return nil, err
	}
	return evidence, nil
}

func (s TextSigner) evidence(ctx context.Context, what Statement) (types.EvidenceText, error) {
	text, err := what.Text(s.network)
	if err != nil {
		return types.EvidenceText{}, err
	}
	signature, err := s.sign(ctx, s.account, text)
	if err != nil {
		return types.EvidenceText{}, err
	}
	evidence, err := ParseTextSignature(signature)
	if err == nil && !what.holds(s.network, s.Signer(), evidence) {
		err = fmt.Errorf("%w %s: check that the wallet signs with this address, and signs the text up to its last line",
			ErrTextSignature, s.network.Address(s.account))
	}
	return evidence, err
}

// ParseTextSignature reads a wallet's signature: base64 of a witness stack with one signature of 64 or 65 bytes,
// optionally prefixed with smp. It does not verify the signature.
func ParseTextSignature(text string) (types.EvidenceText, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "smp")
	stack, err := base64.StdEncoding.Strict().DecodeString(text)
	const items, short, long = 1, 64, 65
	switch {
	case err != nil:
		return types.EvidenceText{}, fmt.Errorf("%w: it is not base64", ErrTextSignature)
	case len(stack) == 2+short && stack[0] == items && stack[1] == short:
		return types.EvidenceText{Signature: types.Signature(stack[2:])}, nil
	case len(stack) == 2+long && stack[0] == items && stack[1] == long && stack[len(stack)-1] == types.SighashAll:
		return types.EvidenceText{Signature: types.Signature(stack[2 : 2+short]), Sighash: types.SighashAll}, nil
	}
	return types.EvidenceText{}, fmt.Errorf("%w: a taproot address gives a stack of one signature of 64 or 65 bytes, "+
		"and this has %d bytes", ErrTextSignature, len(stack))
}
