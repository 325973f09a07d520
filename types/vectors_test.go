package types_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// protocolVectors are the parts of docs/vectors.json that this package defines.
type protocolVectors struct {
	JudgedIn struct {
		Network types.Network `json:"network"`
	} `json:"judged_in"`
	Policies []struct {
		Name, Encoded, Hash string
		Addresses           map[types.Network]string
	}
	Transactions []struct {
		Name, Message, ID, Text string
		PayerHash               string `json:"payer_hash"`
		PayerText               string `json:"payer_text"`
		Claim                   string
		WitnessDigest           string `json:"witness_digest"`
		Signed                  string
	}
	Valid, Refused []struct {
		Name, Signed string
		Runs         [][]any `json:"signed_runs"`
		Rule         int
		TextBytes    int `json:"text_bytes"`
	}
	Versions []struct {
		Parameters string
		Timestamp  uint64
		Version    uint32
	}
	ContractIDs []struct {
		Sender types.Account
		Nonce  uint64
		ID     types.ContractID
	} `json:"contract_ids"`
	InstanceIDs []struct {
		Creator  types.ContractID
		CodeHash types.CodeHash `json:"code_hash"`
		Salt     types.Digest
		ID       types.ContractID
	} `json:"instance_ids"`
	Message struct {
		ChainID  uint64 `json:"chain_id"`
		Contract types.ContractID
		Account  types.Account
		Message  string
		Hash     string
		Text     string
		Key      string
		AsText   string `json:"as_text"`
	}
	Receipts []struct{ Name, Encoded, Details string }
}

func readProtocolVectors(t *testing.T) (v protocolVectors) {
	t.Helper()
	b, err := os.ReadFile("../docs/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unroll returns the bytes of a vector that has them as hex, or as pairs of bytes in hex and repetitions.
func unroll(t *testing.T, s string, runs [][]any) []byte {
	t.Helper()
	b := unhex(t, s)
	for _, run := range runs {
		b = append(b, bytes.Repeat(unhex(t, run[0].(string)), int(run[1].(float64)))...)
	}
	return b
}

func TestTransactionVectors(t *testing.T) {
	v := readProtocolVectors(t)
	if len(v.Transactions) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Transactions {
		t.Run(c.Name, func(t *testing.T) {
			tx, err := types.DecodeTx(unhex(t, c.Signed))
			if err != nil {
				t.Fatal(err)
			}
			signed, id := tx.Signed(), tx.ID()
			text, _ := signed.Text(v.JudgedIn.Network)
			payerText, _ := signed.PayerText(v.JudgedIn.Network)
			payerHash, digest := types.PayerHash(id), tx.WitnessDigest()
			claim := signed.Witness.Claim(signed.Sender)
			for _, part := range []struct{ name, got, want string }{
				{"message", hex.EncodeToString(signed.Transaction.Encode()), c.Message},
				{"signed", hex.EncodeToString(signed.Encode()), c.Signed},
				{"id", hex.EncodeToString(id[:]), c.ID},
				{"payer hash", hex.EncodeToString(payerHash[:]), c.PayerHash},
				{"witness digest", hex.EncodeToString(digest[:]), c.WitnessDigest},
				{"claim", hex.EncodeToString(claim[:]), c.Claim},
				{"text", text, c.Text},
				{"payer's text", payerText, c.PayerText},
			} {
				if part.got != part.want {
					t.Errorf("%s: got %s, want %s", part.name, part.got, part.want)
				}
			}
			verified := types.VerifyWitnesses(v.JudgedIn.Network, []*types.Tx{tx})[0]
			if verified == nil {
				t.Fatal("the witnesses do not hold")
			}
			if verified.Claim() != claim {
				t.Errorf("verified claims %v, want %v", verified.Claim(), claim)
			}
		})
	}
}

// If any byte of the witnesses changes, the transaction does not decode, its witnesses are invalid, or they claim
// another authority.
func TestEachByteOfWitnesses(t *testing.T) {
	v := readProtocolVectors(t)
	for _, c := range v.Transactions {
		good := unhex(t, c.Signed)
		tx, err := types.DecodeTx(good)
		if err != nil {
			t.Fatal(err)
		}
		want := types.VerifyWitnesses(v.JudgedIn.Network, []*types.Tx{tx})[0]
		var changed []*types.Tx
		for at := 1 + len(tx.Signed().Transaction.Encode()); at < len(good); at++ {
			bad := bytes.Clone(good)
			bad[at] ^= 1
			if tx, err := types.DecodeTx(bad); err == nil {
				changed = append(changed, tx)
			}
		}
		for i, got := range types.VerifyWitnesses(v.JudgedIn.Network, changed) {
			if got != nil && got.Claim() == want.Claim() && got.PayerClaim() == want.PayerClaim() {
				t.Errorf("%s: holds still, changed to %x", c.Name, changed[i].Encoded())
			}
		}
	}
}

// Valid transactions decode, and their witnesses hold. Of those that break a rule, exactly the ones of rule 1 do not
// decode, and the witnesses of those of rule 18 do not hold.
func TestJudgedVectors(t *testing.T) {
	v := readProtocolVectors(t)
	for _, c := range v.Valid {
		tx, err := types.DecodeTx(unroll(t, c.Signed, c.Runs))
		if err != nil {
			t.Errorf("%s: error %v", c.Name, err)
			continue
		}
		if types.VerifyWitnesses(v.JudgedIn.Network, []*types.Tx{tx})[0] == nil {
			t.Errorf("%s: the witnesses do not hold", c.Name)
		}
		if text, ok := tx.Signed().Text(v.JudgedIn.Network); !ok || len(text) != c.TextBytes {
			t.Errorf("%s: a text of %d bytes, want %d", c.Name, len(text), c.TextBytes)
		}
	}
	rules := make(map[int]int)
	for _, c := range v.Refused {
		rules[c.Rule]++
		tx, err := types.DecodeTx(unroll(t, c.Signed, c.Runs))
		if (err != nil) != (c.Rule == 1) {
			t.Errorf("%s: decoding gives %v, the first rule broken is %d", c.Name, err, c.Rule)
		}
		if c.Rule == 18 && types.VerifyWitnesses(v.JudgedIn.Network, []*types.Tx{tx})[0] != nil {
			t.Errorf("%s: the witnesses hold", c.Name)
		}
	}
	if rules[1] == 0 || rules[18] == 0 {
		t.Errorf("vectors by rule: got %v", rules)
	}
}

func TestPolicyVectors(t *testing.T) {
	for _, c := range readProtocolVectors(t).Policies {
		p, err := types.DecodePolicy(unhex(t, c.Encoded))
		if err != nil {
			t.Errorf("%s: error %v", c.Name, err)
			continue
		}
		if err := p.Check(); err != nil {
			t.Errorf("%s: error %v", c.Name, err)
		}
		if hash := p.Hash(); hex.EncodeToString(hash[:]) != c.Hash || hex.EncodeToString(p.Encode()) != c.Encoded {
			t.Errorf("%s: hash %v, want %s", c.Name, hash, c.Hash)
		}
		for network, want := range c.Addresses {
			if got := network.Address(p.Hash()); got != want {
				t.Errorf("%s on %s: %s, want %s", c.Name, network, got, want)
			}
		}
	}
}

func TestIDVectors(t *testing.T) {
	v := readProtocolVectors(t)
	if len(v.ContractIDs) == 0 || len(v.InstanceIDs) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.ContractIDs {
		if got := types.NewContractID(c.Sender, c.Nonce); got != c.ID {
			t.Errorf("contract: got %v, want %v", got, c.ID)
		}
	}
	for _, c := range v.InstanceIDs {
		if got := types.NewInstanceID(c.Creator, c.CodeHash, c.Salt); got != c.ID {
			t.Errorf("instance: got %v, want %v", got, c.ID)
		}
	}
}

func TestMessageVector(t *testing.T) {
	v := readProtocolVectors(t)
	m, network := v.Message, v.JudgedIn.Network
	message := unhex(t, m.Message)
	if got := types.MessageHash(m.ChainID, m.Contract, m.Account, message); hex.EncodeToString(got[:]) != m.Hash {
		t.Errorf("hash %x, want %s", got, m.Hash)
	}
	if got := types.MessageText(network, m.ChainID, m.Contract, m.Account, message); got != m.Text {
		t.Errorf("got %s\nwant %s", got, m.Text)
	}
	for _, w := range []types.Witness{
		types.WitnessKey{Signature: types.Signature(unhex(t, m.Key))},
		types.WitnessText{Signature: types.Signature(unhex(t, m.AsText))},
	} {
		if !types.VerifyMessage(network, m.ChainID, m.Contract, m.Account, message, w) {
			t.Errorf("%T does not hold", w)
		}
		if types.VerifyMessage(network, m.ChainID+1, m.Contract, m.Account, message, w) {
			t.Errorf("%T holds on another chain", w)
		}
	}
}

func TestVersionVectors(t *testing.T) {
	for _, c := range readProtocolVectors(t).Versions {
		p, err := types.DecodeParameters(unhex(t, c.Parameters))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.VersionAt(c.Timestamp); got != c.Version {
			t.Errorf("at %d: version %d, want %d", c.Timestamp, got, c.Version)
		}
	}
}

func TestReceiptVectors(t *testing.T) {
	for _, c := range readProtocolVectors(t).Receipts {
		r, err := types.DecodeReceipt(unhex(t, c.Encoded))
		if err != nil {
			t.Errorf("%s: error %v", c.Name, err)
			continue
		}
		if details := r.Details(); hex.EncodeToString(details[:]) != c.Details {
			t.Errorf("%s: details %v, want %s", c.Name, details, c.Details)
		}
	}
}
