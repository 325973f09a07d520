package api

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Schema is a JSON Schema (draft 7, as in OpenRPC).
type Schema map[string]any

// schemas derives schemas from Go types. It collects the schemas of named types in named, and refers to them. With
// taken, schemas describe accepted parameters: objects have no other members, optional members may be null, and hashes
// may lack 0x. No schema contains itself, as tools that resolve references would not terminate: a recursive occurrence
// of a type is an object whose member [SchemaWithin] names the component.
type schemas struct {
	named  map[string]Schema
	taken  bool
	within map[reflect.Type]bool // types being described
}

// SchemaWithin is the member of a schema that names its component, in place of a recursive reference.
const SchemaWithin = "x-cairn-ref"

// encoded lists the types whose JSON form does not follow from their Go kind.
var encoded = map[reflect.Type]encoding{
	reflect.TypeFor[Quantity](): {
		"Quantity", text("an integer in hex without leading zeros", `^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})$`),
	},
	reflect.TypeFor[LooseQuantity](): {
		"LooseQuantity", text("an integer in hex; zeros may lead", `^0x0*[0-9a-fA-F]{1,16}$`),
	},
	reflect.TypeFor[Data]():      {"Data", text("bytes in hex", `^0x([0-9a-fA-F]{2})*$`)},
	reflect.TypeFor[LooseData](): {"LooseData", text("bytes in hex, with or without 0x", `^(0x)?([0-9a-fA-F]{2})*$`)},
	reflect.TypeFor[Fraction]():  {"Fraction", decimal},
	reflect.TypeFor[Decimal]():   {"Decimal", Schema{"type": "number", "minimum": 0, "description": "an exact decimal number"}},
	reflect.TypeFor[jsonrpc.Error](): {"Error", Schema{
		"type": "object", "description": "an error of JSON-RPC 2.0", "required": []string{"code", "message"},
		"properties": map[string]Schema{
			"code": {"type": "integer"}, "message": {"type": "string"}, "data": {"type": "object", "additionalProperties": true},
		}}},
	reflect.TypeFor[types.Amount](): {"", amount()},
	reflect.TypeFor[types.Gas]():    {"", amount()},
	reflect.TypeFor[BlockRef]():     {"BlockRef", reference(`^(latest|earliest|0x0*[0-9a-fA-F]{1,16})$`)},
	reflect.TypeFor[NonceRef](): {
		"NonceRef", reference(`^(latest|earliest|pending|0x0*[0-9a-fA-F]{1,16})$`),
	},
	reflect.TypeFor[types.Account]():    hash,
	reflect.TypeFor[types.PublicKey]():  hash,
	reflect.TypeFor[types.ContractID](): hash,
	reflect.TypeFor[types.CodeHash]():   hash,
	reflect.TypeFor[types.TxID]():       hash,
	reflect.TypeFor[types.BlockHash]():  hash,
	reflect.TypeFor[types.StateRoot]():  hash,
	reflect.TypeFor[types.MerkleRoot](): hash,
	reflect.TypeFor[types.Digest]():     hash,
	reflect.TypeFor[Mode]():             choice(ModePrimary, ModeReplica, ModeArchive),
	reflect.TypeFor[types.Network]():    choice(types.Networks()...),
	reflect.TypeFor[SyncState]():        choice(StateProducing, StateSyncing, StateFollowing, StateHolding, StateHalted),
	reflect.TypeFor[Status]():           choice(StatusPending, StatusSuccess, StatusFailed, StatusDropped, StatusUnknown),
	reflect.TypeFor[abi.Mode]():         choice(abi.Read, abi.Write, abi.Init),
	reflect.TypeFor[abi.Kind]():         choice(abi.Record, abi.Enum),
	reflect.TypeFor[abi.Type]():         {"", Schema{"type": "string"}},
	reflect.TypeFor[ProofEndType]():     choice(EndLeaf, EndEmpty, EndOther),
	reflect.TypeFor[SealType]():         choice(SealSignature),
	reflect.TypeFor[Role]():             choice(RoleSender, RolePayer),
	reflect.TypeFor[Topic]():            choice(Topics()...),
	reflect.TypeFor[PaymentKind]():      choice(PaymentKinds()...),
	reflect.TypeFor[Direction]():        choice(DirectionIn, DirectionOut, DirectionBoth),
	reflect.TypeFor[Order]():            choice(OrderAscending, OrderDescending),
	reflect.TypeFor[Document](): {"", Schema{
		"type": "object", "additionalProperties": true, "description": "an OpenRPC document (https://spec.open-rpc.org)"}},
}

var decimal = Schema{"type": "number", "minimum": 0, "description": "a number of at most 6 decimals"}

type encoding struct {
	name   string // in the components; empty for an inline schema
	schema Schema
}

var (
	hash      = encoding{"Hash", text("32 bytes in hex: an account, key, contract, hash or root", `^0x[0-9a-fA-F]{64}$`)}
	looseHash = encoding{
		"LooseHash", text("32 bytes in hex, with or without 0x: a contract, hash or topic", `^(0x)?[0-9a-fA-F]{64}$`),
	}
)

func text(description, pattern string) Schema {
	return Schema{"type": "string", "pattern": pattern, "description": description}
}

func reference(pattern string) Schema {
	return Schema{
		"description": "a block: a name, a height in hex, or a height as an integer",
		"oneOf":       []Schema{{"type": "string", "pattern": pattern}, integer(64)},
	}
}

func integer(bits int) Schema {
	return Schema{"type": "integer", "minimum": 0, "maximum": ^uint64(0) >> (64 - bits)}
}

// amount returns the schema of an integer that may exceed 2^53, beyond which many JSON parsers lose precision. Its
// format marks it.
func amount() Schema {
	schema := integer(64)
	schema["format"] = "amount"
	return schema
}

func choice[T ~string](values ...T) encoding {
	return encoding{"", Schema{"type": "string", "enum": values}}
}

func refTo(name string) Schema { return Schema{"$ref": "#/components/schemas/" + name} }

// of returns the schema of a Go type's JSON form. It panics for a kind that this interface does not use.
func (s schemas) of(t reflect.Type) Schema {
	if e, ok := encoded[t]; ok {
		if e.name == "" {
			return e.schema
		}
		if s.taken && e.name == hash.name {
			e = looseHash
		}
		s.named[e.name] = e.schema
		return refTo(e.name)
	}
	if name, ok := formOf[t]; ok {
		s.addForms()
		return refTo(name)
	}
	if t == reflect.TypeFor[BlockTransactions]() {
		item := []Schema{s.of(reflect.TypeFor[types.TxID]()), s.of(reflect.TypeFor[Transaction]())}
		return Schema{"type": "array", "items": Schema{"oneOf": item}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Int64:
		return Schema{"type": "integer"}
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return integer(t.Bits())
	case reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case reflect.Slice:
		return Schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	}
	panic(fmt.Sprintf("api: no JSON schema for %v", t))
}

// object collects the schema of a struct under its name.
func (s schemas) object(t reflect.Type) Schema {
	title := t.Name()
	if t.PkgPath() == reflect.TypeFor[abi.ABI]().PkgPath() && t != reflect.TypeFor[abi.ABI]() {
		title = "ABI" + title // an event of an ABI is a declaration, not an emitted event
	}
	if s.within[t] {
		return Schema{"type": "object", "title": title, SchemaWithin: title}
	}
	if known, ok := s.named[title]; ok {
		if _, taken := known["additionalProperties"]; taken != s.taken {
			panic(fmt.Sprintf("api: %v is both a parameter and a result", t))
		}
		return refTo(title)
	}
	object := Schema{"type": "object"}
	if s.taken {
		object["additionalProperties"] = false
	}
	s.within[t] = true
	defer delete(s.within, t)
	properties, required := map[string]Schema{}, []string{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		fieldType := field.Type
		if option == "omitempty" && fieldType.Kind() == reflect.Pointer {
			fieldType = fieldType.Elem() // in a result it may be absent, but is never null
		}
		schema := s.of(fieldType)
		if field.Tag.Get("null") == "true" || option != "" && s.taken {
			schema = orNull(schema)
		}
		if option == "" {
			required = append(required, name)
		}
		properties[name] = described(schema, field.Tag.Get("doc"))
	}
	object["properties"], object["required"] = properties, required
	s.named[title] = object
	return refTo(title)
}

// orNull returns a schema that also allows null.
func orNull(schema Schema) Schema { return Schema{"oneOf": []Schema{schema, {"type": "null"}}} }

// described adds a description. It wraps a reference, as draft 7 ignores the siblings of $ref.
func described(schema Schema, description string) Schema {
	if description == "" {
		return schema
	}
	if _, isRef := schema["$ref"]; isRef {
		return Schema{"allOf": []Schema{schema}, "description": description}
	}
	with := Schema{"description": description}
	for key, value := range schema {
		with[key] = value
	}
	return with
}
