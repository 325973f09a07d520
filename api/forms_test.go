package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// The forms describe exactly the members that the types write.
func TestFormsAreWhatTypesWrite(t *testing.T) {
	policy := types.Policy{
		Number: 1 << 60,
		Owner: types.Rule{Threshold: 1, Signers: []types.Signer{
			types.SignerKey{}, types.SignerP256{}, types.SignerPasskey{Verified: true},
		}},
		Recovery: &types.Recovery{Rule: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{}}}, Delay: 5},
	}
	for _, value := range []any{
		Witness{types.WitnessKey{}}, Witness{types.WitnessText{Sighash: 1}},
		Witness{types.WitnessPolicy{Policy: policy, Proofs: []types.Proof{
			{Signer: 0, Evidence: types.EvidenceKey{}}, {Signer: 1, Evidence: types.EvidenceText{}},
			{Signer: 2, Evidence: types.EvidenceP256{}}, {Signer: 3, Evidence: types.EvidencePasskey{Client: []byte("x")}},
		}}},
		policy,
		types.Step{Value: 1 << 60, Action: types.Transfer{Memo: new([32]byte)}},
		types.Step{Action: types.Transfer{}}, types.Step{Action: types.Call{Function: "f", Args: []byte{1}}},
		types.Parameters{}, types.Parameters{Upgrade: &types.Upgrade{Version: 3, From: 9}},
		types.Genesis{Network: types.Regtest, Allocations: []types.Allocation{{Balance: 1 << 60}}},
		types.InclusionProof{Siblings: [][32]byte{{1}}},
	} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		components := schemas{map[string]Schema{}, false, map[reflect.Type]bool{}}
		schema := components.of(reflect.TypeOf(value))
		var decoded any
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}
		if err := fits(components.named, schema, decoded); err != "" {
			t.Errorf("%s: %s, want none", text, err)
		}
		again := reflect.New(reflect.TypeOf(value))
		if err := json.Unmarshal(text, again.Interface()); err != nil || !reflect.DeepEqual(again.Elem().Interface(), value) {
			t.Errorf("%s became %+v, error %v", text, again.Elem(), err)
		}
	}
}

// fits returns how a value violates a form's schema, or "" if it matches.
func fits(named map[string]Schema, s Schema, value any) string {
	if ref, ok := s["$ref"].(string); ok {
		return fits(named, named[strings.TrimPrefix(ref, "#/components/schemas/")], value)
	}
	if all, ok := s["allOf"].([]Schema); ok {
		return fits(named, all[0], value)
	}
	if one, ok := s["oneOf"].([]Schema); ok {
		var why []string
		for _, schema := range one {
			not := fits(named, schema, value)
			if not == "" {
				return ""
			}
			why = append(why, not)
		}
		return strings.Join(why, " and ")
	}
	kinds := map[string]bool{}
	switch v := value.(type) {
	case nil:
		kinds["null"] = true
	case bool:
		kinds["boolean"] = true
	case float64:
		kinds["integer"] = true
	case string:
		kinds["string"] = true
		if allowed, ok := s["enum"].([]string); ok && !slices.Contains(allowed, v) {
			return v + " is none of " + strings.Join(allowed, " ")
		}
	case []any:
		kinds["array"] = true
		for _, item := range v {
			if not := fits(named, s["items"].(Schema), item); not != "" {
				return "item: " + not
			}
		}
	case map[string]any:
		kinds["object"] = true
		properties, _ := s["properties"].(map[string]Schema)
		for name, member := range v {
			schema, ok := properties[name]
			if !ok {
				return "no member " + name
			}
			if not := fits(named, schema, member); not != "" {
				return name + ": " + not
			}
		}
		for _, name := range s["required"].([]string) {
			if _, ok := v[name]; !ok {
				return "member " + name + " is required"
			}
		}
	}
	if kind, _ := s["type"].(string); !kinds[kind] {
		return "it is no " + kind
	}
	return ""
}

func TestAFormThatLacksAMember(t *testing.T) {
	components := schemas{map[string]Schema{}, false, map[reflect.Type]bool{}}
	schema := components.of(reflect.TypeFor[Witness]())
	for _, text := range []string{
		`{"type":"key"}`, `{"type":"other","signature":"0x"}`, `{"type":"key","signature":"0x","more":1}`,
		`{"type":"text","signature":"0x"}`, `null`,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if fits(components.named, schema, value) == "" {
			t.Errorf("%s is of the form", text)
		}
	}
}
