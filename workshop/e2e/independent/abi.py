"""The ABI of a contract: values, as JSON and in binary, and reverts (docs/protocol.md, "ABI")."""

import json
import re

from wire import U32, U64, U8, Bytes, Reader, decode

UNSIGNED = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "u128": 16}
SIGNED = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "i128": 16}
LARGEST_NUMBER = 2**53 - 1
BYTES, BINARY, PASSED_ON = Bytes(), 1, 2


class Refused(ValueError):
    """The JSON is no value of the type."""


def require(holds, detail):
    if not holds:
        raise Refused(detail)


class Number(str):
    """A number of the JSON, as it was written."""


def parse(text):
    """JSON in which numbers stay text and no member is there twice."""
    def members(pairs):
        require(len(dict(pairs)) == len(pairs), "a member twice")
        return dict(pairs)

    return json.loads(text, parse_int=Number, parse_float=Number, object_pairs_hook=members)


class Integer:
    def __init__(self, size, signed):
        self.size, self.signed = size, signed
        self.least = -(1 << (8 * size - 1)) if signed else 0
        self.most = (1 << (8 * size - signed)) - 1

    def from_json(self, value):
        require(isinstance(value, str) and re.fullmatch("0|-?[1-9][0-9]*", value), "no integer: %r" % (value,))
        require(self.least <= int(value) <= self.most, "out of range: " + value)
        return int(value)

    def to_json(self, value):
        return value if self.size <= 8 and abs(value) <= LARGEST_NUMBER else str(value)

    def encode(self, value):
        return value.to_bytes(self.size, "little", signed=self.signed)

    def read(self, reader):
        return int.from_bytes(reader.take(self.size), "little", signed=self.signed)


class Bool:
    def from_json(self, value):
        require(isinstance(value, bool), "no bool")
        return value

    def to_json(self, value):
        return value

    def encode(self, value):
        return U8.encode(value)

    def read(self, reader):
        value = U8.read(reader)
        require(value <= 1, "a bool of %d" % value)
        return value == 1


class String:
    def from_json(self, value):
        require(isinstance(value, str) and not isinstance(value, Number), "no string")
        require(not re.search("[\ud800-\udfff]", value), "half of a surrogate pair")
        return value

    def to_json(self, value):
        return value

    def encode(self, value):
        return BYTES.encode(value.encode())

    def read(self, reader):
        return BYTES.read(reader).decode()


class Hex:
    """bytes, or as many as the type says."""

    def __init__(self, size=None):
        self.size = size

    def from_json(self, value):
        require(isinstance(value, str) and re.fullmatch("0x([0-9a-fA-F]{2})*", value), "no bytes in hex")
        require(self.size in (None, len(value) // 2 - 1), "another length")
        return bytes.fromhex(value[2:])

    def to_json(self, value):
        return "0x" + value.hex()

    def encode(self, value):
        return BYTES.encode(value) if self.size is None else value

    def read(self, reader):
        return BYTES.read(reader) if self.size is None else reader.take(self.size)


class List:
    def __init__(self, item):
        self.item = item

    def from_json(self, value):
        require(isinstance(value, list), "no array")
        return [self.item.from_json(v) for v in value]

    def to_json(self, value):
        return [self.item.to_json(v) for v in value]

    def encode(self, value):
        return U64.encode(len(value)) + b"".join(self.item.encode(v) for v in value)

    def read(self, reader):
        count = U64.read(reader)
        require(count <= reader.left(), "more items than bytes")
        return [self.item.read(reader) for _ in range(count)]


class Optional:
    def __init__(self, item):
        self.item = item

    def from_json(self, value):
        return None if value is None else self.item.from_json(value)

    def to_json(self, value):
        return None if value is None else self.item.to_json(value)

    def encode(self, value):
        return U8.encode(0) if value is None else U8.encode(1) + self.item.encode(value)

    def read(self, reader):
        return self.item.read(reader) if Bool().read(reader) else None


class Tuple:
    def __init__(self, items):
        self.items = items

    def from_json(self, value):
        require(isinstance(value, list) and len(value) == len(self.items), "no array of as many")
        return [item.from_json(v) for item, v in zip(self.items, value)]

    def to_json(self, value):
        return [item.to_json(v) for item, v in zip(self.items, value)]

    def encode(self, value):
        return b"".join(item.encode(v) for item, v in zip(self.items, value))

    def read(self, reader):
        return [item.read(reader) for item in self.items]


class Record:
    def __init__(self, fields):
        self.fields = fields  # name: type

    def from_json(self, value):
        require(isinstance(value, dict) and set(value) <= set(self.fields), "no object of the fields")
        for name, kind in self.fields.items():
            require(name in value or isinstance(kind, Optional), "without " + name)
        return {name: kind.from_json(value.get(name)) for name, kind in self.fields.items()}

    def to_json(self, value):
        return {name: kind.to_json(value[name]) for name, kind in self.fields.items()}

    def encode(self, value):
        return b"".join(kind.encode(value[name]) for name, kind in self.fields.items())

    def read(self, reader):
        return {name: kind.read(reader) for name, kind in self.fields.items()}


class Enum:
    """A value is the variant's position and its fields."""

    def __init__(self, variants):
        self.variants = variants  # name, record

    def from_json(self, value):
        name, fields = (value, {}) if isinstance(value, str) else next(iter(value.items()), ("", {}))
        require(isinstance(value, str) or len(value) == 1, "no variant")
        for position, (variant, record) in enumerate(self.variants):
            if variant == name:
                require(isinstance(value, str) == (not record.fields), "fields where there are none, or none")
                return position, record.from_json(fields)
        raise Refused("no variant " + name)

    def to_json(self, value):
        name, record = self.variants[value[0]]
        return {name: record.to_json(value[1])} if record.fields else name

    def encode(self, value):
        return U32.encode(value[0]) + self.variants[value[0]][1].encode(value[1])

    def read(self, reader):
        position = U32.read(reader)
        require(position < len(self.variants), "no variant %d" % position)
        return position, self.variants[position][1].read(reader)


class Types:
    """The types of an ABI by what its fields say of them."""

    def __init__(self, abi):
        self.named = {t["name"]: t for t in abi.get("types", [])}
        self.errors = {e["code"]: (e["name"], self.record(e)) for e in abi.get("errors", [])}

    def record(self, member):
        return Record({f["name"]: self.of(f["type"]) for f in member.get("fields", [])})

    def of(self, text):
        if text.endswith("[]"):
            return List(self.of(text[:-2]))
        if text.endswith("?"):
            return Optional(self.of(text[:-1]))
        if text.startswith("("):
            return Tuple([self.of(item) for item in split(text[1:-1])])
        if text in self.named:
            named = self.named[text]
            if named["kind"] == "record":
                return self.record(named)
            return Enum([(v["name"], self.record(v)) for v in named["variants"]])
        if text in UNSIGNED or text in SIGNED:
            return Integer(UNSIGNED.get(text) or SIGNED[text], text in SIGNED)
        if text in ("account", "hash"):
            return Hex(32)
        if text.startswith("bytes"):
            return Hex(int(text[5:]) if text != "bytes" else None)
        return {"bool": Bool(), "string": String()}[text]

    def revert(self, data):
        """What a revert says: a typed error, whose it is if it was passed on, or text."""
        if data[:1] == bytes([PASSED_ON]) and len(data) >= 33:  # encoded with the ABI of another contract
            return {"text": text_of(data[33:]), "by": "0x" + data[1:33].hex()}
        try:
            if data[:1] == bytes([BINARY]):
                reader = Reader(data[1:])
                code = U32.read(reader)
                name, record = self.errors[code]
                fields = record.to_json(decode(record, data[5:]))
            else:
                said = parse(data.decode())
                code = int(said["code"])
                name, record = self.errors[code]
                require(said["error"] == name, "another name")
                fields = record.to_json(record.from_json(said.get("data", {})))
        except (ValueError, KeyError, TypeError):
            return {"text": text_of(data)}
        return {"error": name, "code": code, **({"data": fields} if record.fields else {})}


def text_of(data):
    """Text, or hex of what is none that can be shown."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and text else "0x" + data.hex()


def split(text):
    """The items of a tuple: commas inside of inner tuples separate nothing."""
    items, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            items.append("")
        else:
            items[-1] += c
    return items
