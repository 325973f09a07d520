package types_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

// enum reads and writes one kind of value in JSON.
type enum struct {
	name  string
	parse func([]byte) (any, error)
	// sample values, each variant and each option
	samples []any
}

func parser[T any](parse func([]byte) (T, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return parse(b) }
}

// unmarshal reads a struct by its UnmarshalJSON, as encoding/json does.
func unmarshal[T any](b []byte) (T, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}

func enums() []enum {
	policy := samplePolicy()
	alone := types.Policy{Number: 1<<53 + 1, Owner: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{}}}}
	e := []enum{
		{"payload", parser(types.ParsePayloadJSON), []any{types.SetPolicy{Recovery: true}, types.SetPolicy{Policy: &alone}}},
		{"policy", parser(unmarshal[types.Policy]), []any{policy, alone}},
		{"witness", parser(types.ParseWitnessJSON), []any{
			types.WitnessKey{Signature: countSignature(1)}, types.WitnessText{Signature: countSignature(2), Sighash: 1},
			types.WitnessText{}, sampleWitness(), types.WitnessPolicy{Policy: alone},
		}},
		{"signer", parser(types.ParseSignerJSON), []any{
			types.SignerKey{Key: count[types.PublicKey](3)}, types.SignerP256{Point: countSignature(4)},
			types.SignerPasskey{Point: countSignature(5), Verified: true}, types.SignerPasskey{},
		}},
		{"evidence", parser(types.ParseEvidenceJSON), []any{
			types.EvidenceKey{Signature: countSignature(6)}, types.EvidenceText{Signature: countSignature(7), Sighash: 1},
			types.EvidenceP256{Signature: countSignature(8)},
			types.EvidencePasskey{Authenticator: [37]byte{9}, Client: []byte(`","origin":"`), Signature: countSignature(9)},
		}},
		{"proof", parser(unmarshal[types.Proof]), []any{types.Proof{Signer: 255, Evidence: types.EvidenceKey{}}}},
		{"parameters", parser(unmarshal[types.Parameters]), []any{sampleParameters(), sampleUpgrading()}},
		{"inclusion proof", parser(unmarshal[types.InclusionProof]), []any{
			sampleInclusion(), types.InclusionProof{N: 1, Siblings: [][32]byte{}},
		}},
	}
	for _, p := range samplePayloads() {
		e[0].samples = append(e[0].samples, p)
	}
	return e
}

// visit calls f with each object in a JSON value, and with a function that replaces it.
func visit(value any, replace func(any) any, f func(object map[string]any, replace func(any) any)) {
	switch value := value.(type) {
	case map[string]any:
		f(value, replace)
		for name, member := range value {
			visit(member, func(other any) any {
				changed := make(map[string]any)
				for n, m := range value {
					changed[n] = m
				}
				changed[name] = other
				return replace(changed)
			}, f)
		}
	case []any:
		for i, element := range value {
			visit(element, func(other any) any {
				changed := append([]any(nil), value...)
				changed[i] = other
				return replace(changed)
			}, f)
		}
	}
}

func without(object map[string]any, name string) map[string]any {
	changed := make(map[string]any)
	for n, m := range object {
		if n != name {
			changed[n] = m
		}
	}
	return changed
}

// Each value is read back, and no other form of its JSON is accepted: with a member less or more at any depth, one of
// another type, or one twice.
func TestJSONOfValues(t *testing.T) {
	for _, e := range enums() {
		for _, sample := range e.samples {
			text, err := json.Marshal(sample)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.parse(text)
			if err != nil || !sameJSON(t, got, sample) {
				t.Errorf("%s: %s reads as %+v, error %v", e.name, text, got, err)
			}
			if again, err := e.parse([]byte(strings.ReplaceAll(string(text), `"0x`, `"`))); err != nil ||
				!sameJSON(t, again, sample) {
				t.Errorf("%s without 0x: error %v", text, err)
			}
			refuse := func(changed any) {
				t.Helper()
				b, err := json.Marshal(changed)
				if err != nil {
					t.Fatal(err)
				}
				if v, err := e.parse(b); err == nil {
					t.Errorf("%s: %s reads as %+v", e.name, b, v)
				}
			}
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			var value any
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
			visit(value, func(v any) any { return v }, func(object map[string]any, replace func(any) any) {
				more := without(object, "")
				more["extra"] = 1
				refuse(replace(more))
				for name, member := range object {
					refuse(replace(without(object, name)))
					for _, wrong := range wrongFor(member) {
						if name == "memo" && wrong == nil { // without one
							continue
						}
						changed := without(object, name)
						changed[name] = wrong
						refuse(replace(changed))
					}
					upper := without(object, name)
					upper[strings.ToUpper(name)] = member
					if strings.ToUpper(name) != name {
						refuse(replace(upper))
					}
				}
			})
			refuse([]any{value})
			for _, bad := range []string{"", "null", string(text) + "{}", string(text[:len(text)-1])} {
				if _, err := e.parse([]byte(bad)); err == nil {
					t.Errorf("%s: %q is read", e.name, bad)
				}
			}
		}
	}
}

// wrongFor returns values of other types than a member's.
func wrongFor(member any) []any {
	wrong := []any{json.Number("1.5"), json.Number("-1"), json.Number("18446744073709551616"), "\U0001F600\x00", []any{1}}
	switch member.(type) {
	case nil: // an option
		return append(wrong, true)
	case bool:
		return append(wrong, "true", json.Number("1"), nil)
	case json.Number:
		return append(wrong, true, "01", "0x1", "", json.Number("1e1"), nil)
	case string:
		return []any{json.Number("1.5"), true, []any{}, map[string]any{}, nil}
	default:
		return append(wrong, true, "")
	}
}

// sameJSON compares values by their JSON, and by their encodings if they have one.
func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := a.(types.Payload); ok && !bytes.Equal(types.EncodePayload(p), types.EncodePayload(b.(types.Payload))) {
		return false
	}
	if w, ok := a.(types.Witness); ok && !bytes.Equal(types.EncodeWitness(w), types.EncodeWitness(b.(types.Witness))) {
		return false
	}
	return bytes.Equal(x, y) && reflect.TypeOf(a) == reflect.TypeOf(b)
}

func TestJSONForms(t *testing.T) {
	point := strings.Repeat("ab", 64)
	for _, c := range []struct{ name, text, want string }{
		{"a large number is a string", `{"number":"18446744073709551615","owner":{"threshold":1,"signers":[]},"recovery":null}`, ""},
		{"a number as a string", `{"number":"7","owner":{"threshold":"1","signers":[]},"recovery":null}`,
			`{"number":7,"owner":{"threshold":1,"signers":[]},"recovery":null}`},
		{"upper case", `{"number":0,"owner":{"threshold":1,"signers":[{"type":"p256","point":"` + strings.ToUpper(point) + `"}]},` +
			`"recovery":null}`, `{"number":0,"owner":{"threshold":1,"signers":[{"type":"p256","point":"0x` + point + `"}]},"recovery":null}`},
	} {
		policy, err := unmarshal[types.Policy]([]byte(c.text))
		if err != nil {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		want := c.want
		if want == "" {
			want = c.text
		}
		if got, err := json.Marshal(policy); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, want)
		}
	}
}

// Values that the encoding cannot hold are invalid in JSON too.
func TestJSONLimits(t *testing.T) {
	signature, key := strings.Repeat("0", 128), strings.Repeat("0", 64)
	list := func(element string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	signer := `{"type":"key","key":"` + key + `"}`
	policy := func(signers int) string {
		return `{"number":0,"owner":{"threshold":1,"signers":` + list(signer, signers) + `},"recovery":null}`
	}
	proof := `{"signer":0,"evidence":{"type":"key","signature":"` + signature + `"}}`
	step := func(action string) string { return `{"target":"` + key + `","value":1,"action":` + action + `}` }
	transfer := `{"type":"transfer","memo":null}`
	batch := func(action string, n int) string { return `{"type":"batch","steps":` + list(step(action), n) + `}` }
	configure := func(version string) string {
		return `{"type":"configure","parameters":{"version":` + version + `,"gas_limit":1,"block_bytes":1,"target_bps":1,` +
			`"min_base_fee":1,"max_base_fee":1,"producer":"` + key + `","fee_recipient":"` + key + `","admin":"` + key +
			`","notice":1,"upgrade":null}}`
	}
	sibling := `"` + key + `"`
	inclusion := func(n int) string {
		return `{"number":0,"n":1,"leaf":"` + key + `","siblings":` + list(sibling, n) + `}`
	}
	passkey := func(authenticator, client int) string {
		return `{"type":"passkey","authenticator":"` + strings.Repeat("00", authenticator) + `","client":"` +
			strings.Repeat("00", client) + `","signature":"` + signature + `"}`
	}
	for _, c := range []struct {
		name      string
		parse     func([]byte) (any, error)
		good, bad string
	}{
		{"signers", parser(unmarshal[types.Policy]), policy(16), policy(17)},
		{"proofs", parser(types.ParseWitnessJSON), `{"type":"policy","policy":` + policy(0) + `,"proofs":` + list(proof, 16) + `}`,
			`{"type":"policy","policy":` + policy(0) + `,"proofs":` + list(proof, 17) + `}`},
		{"sighash", parser(types.ParseWitnessJSON), `{"type":"text","signature":"` + signature + `","sighash":1}`,
			`{"type":"text","signature":"` + signature + `","sighash":2}`},
		{"sighash of evidence", parser(types.ParseEvidenceJSON), `{"type":"text","signature":"` + signature + `","sighash":0}`,
			`{"type":"text","signature":"` + signature + `","sighash":256}`},
		{"signature", parser(types.ParseWitnessJSON), `{"type":"key","signature":"` + signature + `"}`,
			`{"type":"key","signature":"` + signature + `00"}`},
		{"half a byte", parser(types.ParseSignerJSON), signer, `{"type":"key","key":"` + key[1:] + `"}`},
		{"client", parser(types.ParseEvidenceJSON), passkey(37, 1024), passkey(37, 1025)},
		{"authenticator", parser(types.ParseEvidenceJSON), passkey(37, 0), passkey(38, 0)},
		{"steps", parser(types.ParsePayloadJSON), batch(transfer, 256), batch(transfer, 257)},
		{"no steps", parser(types.ParsePayloadJSON), batch(transfer, 1), batch(transfer, 0)},
		{"a batch in a batch", parser(types.ParsePayloadJSON), batch(`{"type":"call","function":"f","args":""}`, 1),
			batch(batch(transfer, 1), 1)},
		{"version of parameters", parser(types.ParsePayloadJSON), configure("2"), configure("3")},
		{"siblings", parser(unmarshal[types.InclusionProof]), inclusion(18), inclusion(19)},
		{"variant", parser(types.ParsePayloadJSON), transfer, `{"type":"transfers","memo":null}`},
		{"not Unicode", parser(types.ParsePayloadJSON), `{"type":"call","function":"\ud83d\ude00","args":""}`,
			`{"type":"call","function":"\ud83d","args":""}`},
		{"the replacement character", parser(types.ParsePayloadJSON), `{"type":"call","function":"\uFFFD","args":""}`,
			"{\"type\":\"call\",\"function\":\"\xff\",\"args\":\"\"}"},
		{"a member twice", parser(types.ParsePayloadJSON), transfer, `{"type":"transfer","type":"transfer","memo":null}`},
	} {
		if _, err := c.parse([]byte(c.good)); err != nil {
			t.Errorf("%s: error %v", c.name, err)
		}
		if v, err := c.parse([]byte(c.bad)); err == nil {
			t.Errorf("%s: %s reads as %+v", c.name, c.bad, v)
		}
	}
}

// A batch that claims deep nesting is refused at the first step, whatever its depth.
func TestJSONDepth(t *testing.T) {
	const depth = 3_000
	text := strings.Repeat(`{"type":"batch","steps":[{"target":"`+strings.Repeat("0", 64)+`","value":1,"action":`, depth)
	text += `{"type":"transfer","memo":null}` + strings.Repeat(`}]}`, depth)
	if _, err := types.ParsePayloadJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), `"batch" is unknown`) {
		t.Errorf("got %v", err)
	}
}

// TestJSONVectors checks the JSON of docs/vectors.json, whose hex has no 0x.
func TestJSONVectors(t *testing.T) {
	file, err := os.ReadFile("../docs/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Policies []struct {
			Policy  json.RawMessage
			Encoded string
		}
		Transactions []struct {
			Name         string
			Transaction  struct{ Payload json.RawMessage }
			Witness      json.RawMessage
			PayerWitness json.RawMessage `json:"payer_witness"`
			Signed       string
		}
		Parameters []struct {
			Parameters json.RawMessage
			Encoded    string
		}
		Proofs struct {
			Lists []struct {
				Name    string
				Proof   json.RawMessage
				Encoded string
			}
		}
		Chain, Changing struct {
			Genesis        json.RawMessage
			GenesisEncoded string `json:"genesis_encoded"`
		}
	}
	if err := json.Unmarshal(file, &v); err != nil {
		t.Fatal(err)
	}
	compare := func(name string, got []byte, err error, want []byte) {
		t.Helper()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, want)
		}
	}
	for _, c := range v.Policies {
		policy, err := unmarshal[types.Policy](c.Policy)
		compare("policy", policy.Encode(), err, unhex(t, c.Encoded))
	}
	for _, c := range v.Transactions {
		tx, err := types.DecodeSignedTransaction(unhex(t, c.Signed))
		if err != nil {
			t.Fatal(err)
		}
		payload, err := types.ParsePayloadJSON(c.Transaction.Payload)
		if err != nil {
			t.Fatalf("%s: error %v", c.Name, err)
		}
		compare(c.Name, types.EncodePayload(payload), err, types.EncodePayload(tx.Payload))
		witness, err := types.ParseWitnessJSON(c.Witness)
		if err != nil {
			t.Fatalf("%s: error %v", c.Name, err)
		}
		compare(c.Name, types.EncodeWitness(witness), err, types.EncodeWitness(tx.Witness))
		if tx.PayerWitness != nil {
			witness, err := types.ParseWitnessJSON(c.PayerWitness)
			if err != nil {
				t.Fatalf("%s: error %v", c.Name, err)
			}
			compare(c.Name, types.EncodeWitness(witness), err, types.EncodeWitness(tx.PayerWitness))
		}
	}
	for _, c := range v.Parameters {
		parameters, err := unmarshal[types.Parameters](c.Parameters)
		compare("parameters", parameters.Encode(), err, unhex(t, c.Encoded))
	}
	for _, c := range v.Proofs.Lists {
		proof, err := unmarshal[types.InclusionProof](c.Proof)
		if err != nil { // as its bytes: more than 18 siblings
			if _, err := types.DecodeInclusionProof(unhex(t, c.Encoded)); err == nil {
				t.Errorf("%s: error %v, want an error", c.Name, err)
			}
			continue
		}
		compare(c.Name, proof.Encode(), err, unhex(t, c.Encoded))
	}
	for _, c := range []struct {
		genesis json.RawMessage
		encoded string
	}{{v.Chain.Genesis, v.Chain.GenesisEncoded}, {v.Changing.Genesis, v.Changing.GenesisEncoded}} {
		genesis, err := types.ParseGenesisJSON(c.genesis)
		compare("genesis", genesis.Encode(), err, unhex(t, c.encoded))
	}
	if len(v.Policies) < 4 || len(v.Transactions) < 16 || len(v.Parameters) == 0 || len(v.Proofs.Lists) < 60 {
		t.Error("there are fewer vectors than there were")
	}
}

// Numbers of any size are read back, as numbers up to 2^53 − 1 and as strings above.
func TestJSONNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(1<<53-3, 1<<53+3)).Draw(t, "number")
		step := types.Step{Value: types.Amount(v), Action: types.Transfer{}}
		text, err := json.Marshal(step)
		if err != nil {
			t.Fatal(err)
		}
		if quoted := strings.Contains(string(text), `"value":"`); quoted != (v >= 1<<53) {
			t.Fatalf("%d is written as %s", v, text)
		}
		if again, err := unmarshal[types.Step](text); err != nil || again.Value != step.Value {
			t.Fatalf("%s reads as %+v, error %v, want Value %v", text, again, err, step.Value)
		}
	})
}

// fuzzJSON checks that a value that was read is written and read back unchanged.
func fuzzJSON(f *testing.F, kind int) {
	e := enums()[kind]
	for _, sample := range e.samples {
		text, err := json.Marshal(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := e.parse(b)
		if err != nil {
			return
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := e.parse(text); err != nil || !sameJSON(t, again, v) {
			t.Fatalf("%s is written as %s and reads as %+v, error %v", b, text, again, err)
		}
	})
}

func FuzzParsePayloadJSON(f *testing.F) { fuzzJSON(f, 0) }
func FuzzParseWitnessJSON(f *testing.F) { fuzzJSON(f, 2) }
