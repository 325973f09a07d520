package api

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/cairn-chain/cairn/types"
)

// Witness is a [types.Witness] in its JSON form (docs/protocol.md, "JSON").
type Witness struct{ types.Witness }

// MarshalJSON encodes the witness as the object of its variant.
func (w Witness) MarshalJSON() ([]byte, error) { return json.Marshal(w.Witness) }

// UnmarshalJSON decodes the encoding of [Witness.MarshalJSON].
func (w *Witness) UnmarshalJSON(text []byte) (err error) {
	w.Witness, err = types.ParseWitnessJSON(text)
	return err
}

// form is the schema of a type of docs/protocol.md whose JSON does not follow from Go's: it has an object for each of
// its variants, which the member type names, or it contains such a type.
type form struct {
	name        string
	description string
	variants    []variant
}

// variant is the object of one variant, or the only object of a type without variants.
type variant struct {
	kind    string // value of the member type; empty for a type without variants
	members []member
}

type member struct {
	name, description string
	schema            Schema
}

var forms = []form{
	{"Number", "an integer, or a decimal string if it is over 2^53 − 1", nil},
	{"Witness", "the proof that an account signed", []variant{
		{"key", []member{{"signature", "the account's BIP-340 signature", data(64)}}},
		{"text", []member{
			{"signature", "the account's BIP-340 signature of the text by BIP-322", data(64)},
			{"sighash", "the wallet's sighash type: 0 default, 1 all", integer(8)},
		}},
		{"policy", []member{
			{"policy", "the policy", refTo("Policy")},
			{"proofs", "the proof of each signer who signed, in the policy's order", list("PolicyProof")},
		}},
	}},
	{"Policy", "the rule for signing for an account", []variant{{"", []member{
		{"number", "any number, which gives the same signers several accounts", refTo("Number")},
		{"owner", "the signers and how many must sign", refTo("Rule")},
		{"recovery", "the rule for beginning a recovery; null if there is none", orNull(refTo("Recovery"))},
	}}}},
	{"Recovery", "the rule for replacing an account's policy", []variant{{"", []member{
		{"rule", "the signers and how many must sign", refTo("Rule")},
		{"delay", "the delay before it takes effect, in milliseconds", refTo("Number")},
	}}}},
	{"Rule", "signers, and how many of them must sign", []variant{{"", []member{
		{"threshold", "how many must sign", integer(8)},
		{"signers", "the signers, ascending by their encoding", list("Signer")},
	}}}},
	{"Signer", "a signer of a policy", []variant{
		{"key", []member{{"key", "an x-only public key of secp256k1", data(32)}}},
		{"p256", []member{{"point", "a public key of P-256: x and y", data(64)}}},
		{"passkey", []member{
			{"point", "the passkey's public key of P-256: x and y", data(64)},
			{"verified", "whether its user must be verified, such as by a fingerprint", Schema{"type": "boolean"}},
		}},
	}},
	{"PolicyProof", "the proof that a signer of a policy signed", []variant{{"", []member{
		{"signer", "the signer's place in the rule, from 0", integer(8)},
		{"evidence", "the signature", refTo("Evidence")},
	}}}},
	{"Evidence", "a signature by a signer of a policy", []variant{
		{"key", []member{{"signature", "a BIP-340 signature", data(64)}}},
		{"text", []member{
			{"signature", "a BIP-340 signature of the text by BIP-322", data(64)},
			{"sighash", "the wallet's sighash type: 0 default, 1 all", integer(8)},
		}},
		{"p256", []member{{"signature", "an ECDSA signature by P-256: r and s", data(64)}}},
		{"passkey", []member{
			{"authenticator", "the authenticator's data about itself", data(37)},
			{"client", "the part of clientDataJSON after the challenge", refTo("Data")},
			{"signature", "an ECDSA signature by P-256: r and s", data(64)},
		}},
	}},
	{"Parameters", "the rules of the chain that its admin may change", []variant{{"", []member{
		{"version", "of protocol rules and gas schedule", integer(32)},
		{"gas_limit", "of a block", amount()},
		{"block_bytes", "the most bytes that a block's transactions may have together", integer(32)},
		{"target_bps", "the share of gas_limit at which the base fee stays, in 1/10000", integer(16)},
		{"min_base_fee", "the base fee's lower bound", amount()},
		{"max_base_fee", "the base fee's upper bound", amount()},
		{"producer", "the key that seals blocks", refTo("Hash")},
		{"fee_recipient", "the account that receives priority fees", refTo("Hash")},
		{"admin", "the account that may change the parameters", refTo("Hash")},
		{"notice", "how long ahead an upgrade must be announced, in milliseconds", integer(64)},
		{"upgrade", "the announced upgrade; null if there is none", orNull(refTo("Upgrade"))},
	}}}},
	{"InclusionProof", "the proof that a list of a block has a leaf", []variant{{"", []member{
		{"number", "the leaf's place in the list, from 0", integer(32)},
		{"n", "the number of leaves", integer(32)},
		{"leaf", "the leaf, which a client must also compute itself", refTo("Hash")},
		{"siblings", "the sibling digests, from the leaf up", list("Hash")},
	}}}},
	{"Genesis", "the initial state of a chain", []variant{{"", []member{
		{"chain_id", "the chain id", refTo("Number")},
		{"network", "mainnet, testnet or regtest", choice(types.Networks()...).schema},
		{"time", "the time of block 0, in milliseconds of Unix time", integer(64)},
		{"base_fee", "the base fee of block 0", amount()},
		{"parameters", "the parameters", refTo("Parameters")},
		{"allocations", "the accounts with coins, ascending", list("Allocation")},
	}}}},
	{"Allocation", "the coins of an account at the beginning", []variant{{"", []member{
		{"account", "the account", refTo("Hash")},
		{"balance", "its balance in smallest units", refTo("Number")},
	}}}},
	{"Step", "a step of a batch", []variant{{"", []member{
		{"target", "the recipient, or the called contract", refTo("Hash")},
		{"value", "the amount that it receives, in smallest units", refTo("Number")},
		{"action", "the action", refTo("Action")},
	}}}},
	{"Action", "the action of a step of a batch", []variant{
		{"transfer", []member{{"memo", "a memo of 32 bytes; null for none", orNull(data(32))}}},
		{"call", []member{
			{"function", "the function's name", Schema{"type": "string"}},
			{"args", "the arguments", refTo("Data")},
		}},
	}},
}

// formOf names the forms of Go types.
var formOf = map[reflect.Type]string{
	reflect.TypeFor[Witness]():          "Witness",
	reflect.TypeFor[types.Policy]():     "Policy",
	reflect.TypeFor[types.Step]():       "Step",
	reflect.TypeFor[types.Parameters](): "Parameters",
	reflect.TypeFor[types.Genesis]():    "Genesis",

	reflect.TypeFor[types.InclusionProof](): "InclusionProof",
}

// data returns the schema of the given size.
func data(bytes int) Schema {
	return Schema{"type": "string", "pattern": fmt.Sprintf("^0x[0-9a-fA-F]{%d}$", 2*bytes)}
}

func list(name string) Schema { return Schema{"type": "array", "items": refTo(name)} }

// addForms adds the schemas of all forms, which refer to one another.
func (s schemas) addForms() {
	s.of(reflect.TypeFor[Data]())
	s.of(reflect.TypeFor[types.Digest]())
	s.of(reflect.TypeFor[Upgrade]())
	for _, f := range forms {
		s.named[f.name] = f.schema()
	}
}

func (f form) schema() Schema {
	if f.variants == nil { // Number
		return Schema{"description": f.description, "oneOf": []Schema{
			integer(53), {"type": "string", "pattern": `^(0|[1-9][0-9]*)$`},
		}}
	}
	if len(f.variants) == 1 {
		object := f.variants[0].schema()
		object["description"] = f.description
		return object
	}
	objects := make([]Schema, len(f.variants))
	for i, v := range f.variants {
		objects[i] = v.schema()
	}
	return Schema{"description": f.description, "oneOf": objects}
}

func (v variant) schema() Schema {
	properties, required := map[string]Schema{}, []string{}
	if v.kind != "" {
		properties["type"] = Schema{"type": "string", "enum": []string{v.kind}, "description": "the variant"}
		required = append(required, "type")
	}
	for _, m := range v.members {
		properties[m.name], required = described(m.schema, m.description), append(required, m.name)
	}
	return Schema{"type": "object", "properties": properties, "required": required}
}
