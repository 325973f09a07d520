package testkit

import (
	"bytes"
	"crypto/ecdh"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// keptVectors are the members that an implementation of the page outside this repository made. They are never
// rewritten; tests here and in the defining packages recompute them from their inputs.
type keptVectors struct {
	JudgedIn            json.RawMessage `json:"judged_in"`
	Keys                json.RawMessage `json:"keys"`
	TaggedHashes        json.RawMessage `json:"tagged_hashes"`
	Policies            json.RawMessage `json:"policies"`
	Transactions        json.RawMessage `json:"transactions"`
	Valid               json.RawMessage `json:"valid"`
	Refused             json.RawMessage `json:"refused"`
	Records             json.RawMessage `json:"records"`
	Parameters          json.RawMessage `json:"parameters"`
	ChangesOfParameters json.RawMessage `json:"changes_of_parameters"`
	Versions            json.RawMessage `json:"versions"`
	BaseFees            json.RawMessage `json:"base_fees"`
	ContractIDs         json.RawMessage `json:"contract_ids"`
	InstanceIDs         json.RawMessage `json:"instance_ids"`
	Message             json.RawMessage `json:"message"`
	Receipts            json.RawMessage `json:"receipts"`
	Lists               json.RawMessage `json:"lists"`
	Chain               json.RawMessage `json:"chain"`
	Changing            json.RawMessage `json:"changing"`
	Example             json.RawMessage `json:"example"`
	BlocksRefused       json.RawMessage `json:"blocks_refused"`
	Geneses             json.RawMessage `json:"geneses"`
	Proofs              json.RawMessage `json:"proofs"`
}

// readKept reads members of docs/vectors.json into v.
func readKept[T any](t *testing.T) (v T) {
	t.Helper()
	content, err := os.ReadFile(vectorsFile)
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// UnmarshalText reads lower-case hex without a prefix.
func (b *bytesHex) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

func TestKeptHashesAndKeys(t *testing.T) {
	v := readKept[struct {
		Keys []struct {
			Name, Curve    string
			Secret, Public bytesHex
		}
		Tagged []struct {
			Tag           string
			Message, Hash bytesHex
		} `json:"tagged_hashes"`
	}](t)
	for _, c := range v.Tagged {
		if got := naiveTagged(c.Tag, c.Message); !bytes.Equal(got[:], c.Hash) {
			t.Errorf("%s of %q is %x, want %x", c.Tag, []byte(c.Message), got, []byte(c.Hash))
		}
	}
	for _, c := range v.Keys {
		var public []byte
		if c.Curve == "P-256" {
			key, err := ecdh.P256().NewPrivateKey(c.Secret)
			if err != nil {
				t.Fatal(err)
			}
			public = key.PublicKey().Bytes()[1:]
		} else {
			_, x := evenSecret([32]byte(c.Secret))
			public = x[:]
		}
		if !bytes.Equal(public, c.Public) {
			t.Errorf("%s: public key %x, want %x", c.Name, public, []byte(c.Public))
		}
	}
	if len(v.Tagged) < 18 || len(v.Keys) < 8 {
		t.Errorf("%d tagged hashes and %d keys", len(v.Tagged), len(v.Keys))
	}
}

func TestKeptRecords(t *testing.T) {
	v := readKept[struct {
		Records []struct {
			Name             string
			Account, Encoded bytesHex
			Record           *struct {
				Balance, Nonce uint64
				Authority      bytesHex
				Pending        []json.RawMessage
			}
			Before bytesHex `json:"in_force_before"`
			Then   bytesHex `json:"in_force_from"`
			From   uint64
		}
	}](t)
	for _, c := range v.Records {
		self := types.Account(c.Account)
		record, err := state.DecodeAccount(self, c.Encoded)
		if (err == nil) != (c.Record != nil) {
			t.Errorf("%s: error %v", c.Name, err)
		}
		if c.Record == nil || err != nil {
			continue
		}
		if got := record.Encode(self); !bytes.Equal(got, c.Encoded) {
			t.Errorf("%s: encoded as %x", c.Name, got)
		}
		before, then := record.AuthorityAt(self, c.From-1), record.AuthorityAt(self, c.From)
		if !bytes.Equal(before[:], c.Before) || !bytes.Equal(then[:], c.Then) {
			t.Errorf("%s: authority %x, then %x", c.Name, before, then)
		}
		own := record.AuthorityAt(self, 0)
		if uint64(record.Balance) != c.Record.Balance || record.Nonce != c.Record.Nonce ||
			(record.Pending != nil) != (c.Record.Pending != nil) || !bytes.Equal(own[:], c.Record.Authority) {
			t.Errorf("%s: decoded as %+v", c.Name, record)
		}
	}
}

func TestKeptParameters(t *testing.T) {
	v := readKept[struct {
		Parameters []struct {
			Parameters types.Parameters
			Encoded    bytesHex
		}
		Changes []struct {
			Name      string
			Present   types.Parameters
			New       json.RawMessage
			Encoded   bytesHex
			Timestamp uint64
			Valid     bool
		} `json:"changes_of_parameters"`
	}](t)
	for _, c := range v.Parameters {
		if got := c.Parameters.Encode(); !bytes.Equal(got, c.Encoded) {
			t.Errorf("%+v is encoded as %x", c.Parameters, got)
		}
	}
	for _, c := range v.Changes {
		next, err := types.DecodeParameters(c.Encoded)
		if err == nil {
			var fromJSON types.Parameters
			if err := json.Unmarshal(c.New, &fromJSON); err != nil || !bytes.Equal(fromJSON.Encode(), c.Encoded) {
				t.Errorf("%s: JSON and encoding differ, error %v", c.Name, err)
			}
			err = params.CheckChange(c.Present, next, c.Timestamp)
		}
		if (err == nil) != c.Valid {
			t.Errorf("%s: %v, want valid = %t", c.Name, err, c.Valid)
		}
	}
	if len(v.Changes) < 29 {
		t.Errorf("%d changes", len(v.Changes))
	}
}

func TestKeptBaseFees(t *testing.T) {
	v := readKept[struct {
		BaseFees []struct {
			BaseFee   types.Amount `json:"base_fee"`
			GasUsed   types.Gas    `json:"gas_used"`
			GasLimit  types.Gas    `json:"gas_limit"`
			TargetBPS uint16       `json:"target_bps"`
			Min, Max  types.Amount
			Next      types.Amount
		} `json:"base_fees"`
	}](t)
	for _, c := range v.BaseFees {
		parent := types.Header{BaseFee: c.BaseFee, GasUsed: c.GasUsed, GasLimit: c.GasLimit}
		p := types.Parameters{TargetBPS: c.TargetBPS, MinBaseFee: c.Min, MaxBaseFee: c.Max}
		if got := fees.NextBaseFee(parent, p); got != c.Next {
			t.Errorf("%+v: next base fee %d, want %d", c, got, c.Next)
		}
	}
	if len(v.BaseFees) < 16 {
		t.Errorf("%d base fees", len(v.BaseFees))
	}
}

// same reports whether two JSON values are equal, apart from 0x before hex.
func same(t *testing.T, name string, value any, want json.RawMessage) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted bytes.Buffer
	if err := json.Compact(&got, bytes.ReplaceAll(text, []byte(`"0x`), []byte(`"`))); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&wanted, want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sorted(t, got.Bytes()), sorted(t, wanted.Bytes())) {
		t.Errorf("%s: %s, want %s", name, &got, &wanted)
	}
}

// sorted returns a JSON value with the members of objects in the order of their names. Numbers keep their form.
func sorted(t *testing.T, text []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKeptJSON compares the JSON of policies, payloads and witnesses with their encodings.
func TestKeptJSON(t *testing.T) {
	type member struct {
		Name        string
		Transaction struct{ Payload json.RawMessage }
		Witness     json.RawMessage
		Payer       json.RawMessage `json:"payer_witness"`
		Signed      bytesHex
	}
	v := readKept[struct {
		Policies []struct {
			Policy  json.RawMessage
			Encoded bytesHex
		}
		Transactions []member
	}](t)
	for _, c := range v.Policies {
		var p types.Policy
		if err := json.Unmarshal(c.Policy, &p); err != nil || !bytes.Equal(p.Encode(), c.Encoded) {
			t.Errorf("%s: error %v", c.Policy, err)
		}
		same(t, "policy", p, c.Policy)
	}
	for _, c := range v.Transactions {
		tx, err := types.DecodeSignedTransaction(c.Signed)
		if err != nil {
			t.Fatal(err)
		}
		same(t, c.Name, tx.Payload, c.Transaction.Payload)
		same(t, c.Name, tx.Witness, c.Witness)
		same(t, c.Name, tx.PayerWitness, c.Payer)
		payload, err := types.ParsePayloadJSON(c.Transaction.Payload)
		if err != nil {
			t.Errorf("%s: error %v", c.Name, err)
		}
		again := tx
		again.Payload = payload
		if again.Witness, err = types.ParseWitnessJSON(c.Witness); err != nil || !bytes.Equal(again.Encode(), c.Signed) {
			t.Errorf("%s: its JSON is encoded as %x, want %x, error %v", c.Name, again.Encode(), c.Signed, err)
		}
	}
}

type keptChain struct {
	Blocks []struct {
		Header struct {
			StateRoot        bytesHex `json:"state_root"`
			TransactionsRoot bytesHex `json:"transactions_root"`
			ReceiptsRoot     bytesHex `json:"receipts_root"`
		}
		Transactions []struct {
			Leaf        bytesHex
			ReceiptLeaf bytesHex `json:"receipt_leaf"`
		}
		Accesses []struct{ Key, Old, New bytesHex }
		State    [][2]bytesHex
	}
}

// TestKeptRoots computes the roots of the chains by the naive definitions.
func TestKeptRoots(t *testing.T) {
	v := readKept[struct{ Chain, Changing, Example keptChain }](t)
	blocks := 0
	for _, chain := range []keptChain{v.Chain, v.Changing, v.Example} {
		for _, b := range chain.Blocks {
			blocks++
			committed := map[string][]byte{}
			for _, entry := range b.State {
				committed[string(entry[0])] = entry[1]
			}
			var txs, receipts []naiveDigest
			for _, tx := range b.Transactions {
				txs, receipts = append(txs, naiveParse(tx.Leaf)), append(receipts, naiveParse(tx.ReceiptLeaf))
			}
			state, ofTxs, ofReceipts := stateRoot(committed), naiveListRoot(5, txs), naiveListRoot(7, receipts)
			if !bytes.Equal(state[:], b.Header.StateRoot) || !bytes.Equal(ofTxs[:], b.Header.TransactionsRoot) ||
				!bytes.Equal(ofReceipts[:], b.Header.ReceiptsRoot) {
				t.Errorf("roots %x, %x, %x; the header has %+v", state, ofTxs, ofReceipts, b.Header)
			}
		}
	}
	if blocks != 14 {
		t.Errorf("%d blocks, want 14", blocks)
	}
}

// TestFirstTransfer computes the page's block step by step.
func TestFirstTransfer(t *testing.T) {
	const (
		coins, value        = 100_000_000, 150_000_000
		baseFee, price, gas = 88, 88 + 3, 10_000
	)
	keys := developmentKeys(t)
	account := func(i int) (types.Account, string) {
		a := types.Account(keys[i].PublicKey())
		return a, string(state.AccountKey(a))
	}
	sender, senderKey := account(0)
	recipient, recipientKey := account(1)
	tips, tipsKey := account(8)
	want := map[string][]byte{
		string(state.SupplyKey()): state.Supply{Supply: 21_110 * coins, Burned: gas * baseFee}.Encode(),
		senderKey:                 state.Account{Balance: 10_000*coins - value - gas*price, Nonce: 1}.Encode(sender),
		recipientKey:              state.Account{Balance: 10_000*coins + value}.Encode(recipient),
		tipsKey:                   state.Account{Balance: gas * 3}.Encode(tips),
	}
	block := readKept[struct{ Example keptChain }](t).Example.Blocks[1]
	writes := 0
	for _, a := range block.Accesses {
		if bytes.Equal(a.Old, a.New) {
			continue
		}
		writes++
		if !bytes.Equal(want[string(a.Key)], a.New) {
			t.Errorf("key %x is %x, by hand %x", []byte(a.Key), []byte(a.New), want[string(a.Key)])
		}
	}
	if writes != len(want) {
		t.Errorf("%d writes, by hand %d", writes, len(want))
	}
}
