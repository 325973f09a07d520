package client

import (
	"bytes"
	"context"
	stdcrypto "crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"

	"github.com/cairn-chain/cairn/types"
)

// Errors of signers with P-256 keys.
var (
	// ErrNotP256 is returned for a key that is not on P-256, or a signature that is not ECDSA over P-256.
	ErrNotP256 = errors.New("it is not an ECDSA key on P-256")
	// ErrAssertion is returned for an assertion that the chain does not accept.
	ErrAssertion = errors.New("the chain does not accept this passkey assertion")
)

// P256Signer signs with a P-256 key of a machine, a hardware module or a key service, as a [Cosigner] of a policy.
// [SinglePolicy] makes an account that it alone signs for.
type P256Signer struct {
	key   stdcrypto.Signer
	point [64]byte
}

// NewP256Signer returns the signer of a P-256 key, such as an *ecdsa.PrivateKey or a key service's [stdcrypto.Signer].
func NewP256Signer(key stdcrypto.Signer) (P256Signer, error) {
	public, ok := key.Public().(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() {
		return P256Signer{}, fmt.Errorf("%w: the key", ErrNotP256)
	}
	encoded, err := public.Bytes() // SEC 1, uncompressed: 04 ‖ x ‖ y
	if err != nil {
		return P256Signer{}, fmt.Errorf("%w: %w", ErrNotP256, err)
	}
	return P256Signer{key: key, point: [64]byte(encoded[1:])}, nil
}

// Signer implements [Cosigner].
func (s P256Signer) Signer() types.Signer { return types.SignerP256{Point: s.point} }

// Evidence implements [Cosigner].
func (s P256Signer) Evidence(_ context.Context, what Statement) (types.Evidence, error) {
	digest := sha256.Sum256(what.Hash[:])
	der, err := s.key.Sign(rand.Reader, digest[:], stdcrypto.SHA256)
	if err != nil {
		return nil, err
	}
	signature, err := rawSignature(der)
	if err != nil {
		return nil, err
	}
	return types.EvidenceP256{Signature: signature}, nil
}

// p256Order is the order of P-256's group.
var p256Order = elliptic.P256().Params().N

// rawSignature converts an ECDSA signature from DER to r ‖ s with the lower of the two possible s, the only one that
// the chain accepts.
func rawSignature(der []byte) (signature [64]byte, err error) {
	var parsed struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &parsed); err != nil {
		return signature, fmt.Errorf("%w: the signature is not DER", ErrNotP256)
	}
	if again, err := asn1.Marshal(parsed); err != nil || !bytes.Equal(again, der) { // Unmarshal is not strict
		return signature, fmt.Errorf("%w: the signature is not DER", ErrNotP256)
	}
	for _, n := range []*big.Int{parsed.R, parsed.S} {
		if n.Sign() <= 0 || n.Cmp(p256Order) >= 0 {
			return signature, fmt.Errorf("%w: a number of the signature is out of range", ErrNotP256)
		}
	}
	if other := new(big.Int).Sub(p256Order, parsed.S); other.Cmp(parsed.S) < 0 {
		parsed.S = other
	}
	parsed.R.FillBytes(signature[:32])
	parsed.S.FillBytes(signature[32:])
	return signature, nil
}

// Assertion is a passkey's answer to navigator.credentials.get: the members of AuthenticatorAssertionResponse.
type Assertion struct {
	AuthenticatorData, ClientDataJSON, Signature []byte
}

// Assert asks a passkey to sign a challenge, without extensions. verified sets userVerification to required.
type Assert func(ctx context.Context, challenge [32]byte, verified bool) (Assertion, error)

// PasskeySigner signs with a passkey, as a [Cosigner] of a policy. A Go program has no passkeys itself: assert asks the
// browser or device that has the passkey.
type PasskeySigner struct {
	signer types.SignerPasskey
	assert Assert
}

// NewPasskeySigner returns the signer of a passkey with a public key x ‖ y. With verified, the chain requires that the
// device verified its user.
func NewPasskeySigner(point [64]byte, verified bool, assert Assert) PasskeySigner {
	return PasskeySigner{signer: types.SignerPasskey{Point: point, Verified: verified}, assert: assert}
}

// Signer implements [Cosigner].
func (s PasskeySigner) Signer() types.Signer { return s.signer }

// Evidence implements [Cosigner].
func (s PasskeySigner) Evidence(ctx context.Context, what Statement) (types.Evidence, error) {
	assertion, err := s.assert(ctx, what.Hash, s.signer.Verified)
	if err != nil {
		return nil, err
	}
	evidence, err := assertion.evidence(what.Hash)
	if err != nil {
		return nil, err
	}
	return evidence, nil
}

// evidence converts an assertion of a challenge to the chain's form. The chain has no JSON parser.
func (a Assertion) evidence(challenge [32]byte) (types.EvidencePasskey, error) {
	var evidence types.EvidencePasskey
	before := `{"type":"webauthn.get","challenge":"` + base64.RawURLEncoding.EncodeToString(challenge[:])
	client, found := bytes.CutPrefix(a.ClientDataJSON, []byte(before))
	switch {
	case !found || !bytes.HasPrefix(client, []byte(`","origin":"`)):
		return evidence, fmt.Errorf("%w: its client data do not match the challenge, or are in another order", ErrAssertion)
	case len(a.AuthenticatorData) != len(evidence.Authenticator):
		return evidence, fmt.Errorf("%w: its authenticator data have %d bytes, not %d; ask without extensions",
			ErrAssertion, len(a.AuthenticatorData), len(evidence.Authenticator))
	}
	signature, err := rawSignature(a.Signature)
	return types.EvidencePasskey{
		Authenticator: [37]byte(a.AuthenticatorData), Client: client, Signature: signature,
	}, err
}
