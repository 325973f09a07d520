"""The binary encoding and the JSON of its types (docs/protocol.md, "Encoding", "JSON").

A type has encode(value) -> bytes, read(reader) -> value, from_json and to_json. Structs and variants of an enum are
dicts; a variant's dict has its name under "type". Decoding is strict: for every accepted input b, encode(decode(b)) ==
b.
"""

import re


class DecodeError(ValueError):
    """The bytes, or the JSON, are no encoding of the type."""


class Reader:
    """Takes bytes from the front and never more than there are."""

    __slots__ = ("data", "at")

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        start = self.at
        if size > len(self.data) - start:
            raise DecodeError("ends early: %d bytes wanted at offset %d, %d left" % (size, start, self.left()))
        self.at = start + size
        return self.data[start:self.at]


def decode(kind, data, limit=None):
    """Decode all of data, which has at most limit bytes."""
    if limit is not None and len(data) > limit:
        raise DecodeError("%d bytes are over %d" % (len(data), limit))
    reader = Reader(data)
    value = kind.read(reader)
    if reader.left():
        raise DecodeError("%d bytes left over" % reader.left())
    return value


def unhex(text):
    """The bytes of hex, with or without 0x."""
    if not isinstance(text, str) or not re.fullmatch("(0x)?([0-9a-fA-F]{2})*", text):
        raise DecodeError("no hex: %r" % (text,))
    return bytes.fromhex(text[2:] if text[:2] == "0x" else text)


class Uint:
    """An unsigned integer of a fixed width, little-endian; perhaps only some of its values."""

    def __init__(self, size, most=None, only=None):
        self.size, self.most, self.only = size, (1 << 8 * size) - 1 if most is None else most, only

    def checked(self, value):
        if value > self.most:
            raise DecodeError("%d is over %d" % (value, self.most))
        if self.only is not None and value != self.only:
            raise DecodeError("%d is not %d" % (value, self.only))
        return value

    def encode(self, value):
        return value.to_bytes(self.size, "little")

    def read(self, reader):
        return self.checked(int.from_bytes(reader.take(self.size), "little"))

    def from_json(self, value):
        if isinstance(value, str) and re.fullmatch("0|[1-9][0-9]*", value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise DecodeError("no number: %r" % (value,))
        return self.checked(value)

    def to_json(self, value):
        return value


U8, U16, U32, U64 = Uint(1), Uint(2), Uint(4), Uint(8)


class Bool:
    """One byte, 0 or 1."""

    def encode(self, value):
        return b"\1" if value else b"\0"

    def read(self, reader):
        byte = reader.take(1)
        if byte > b"\1":
            raise DecodeError("a bool over 1")
        return byte == b"\1"

    def from_json(self, value):
        if not isinstance(value, bool):
            raise DecodeError("no bool: %r" % (value,))
        return value

    def to_json(self, value):
        return value


class Fixed:
    """A number of bytes that the type fixes."""

    def __init__(self, size):
        self.size = size

    def encode(self, value):
        assert len(value) == self.size
        return value

    def read(self, reader):
        return reader.take(self.size)

    def from_json(self, value):
        data = unhex(value)
        if len(data) != self.size:
            raise DecodeError("%d bytes, not %d" % (len(data), self.size))
        return data

    def to_json(self, value):
        return value.hex()


class Bytes:
    """Vec<u8>: the length as u64, then the bytes."""

    def __init__(self, limit=None):
        self.limit = limit

    def checked(self, size):
        if self.limit is not None and size > self.limit:
            raise DecodeError("length %d is over %d" % (size, self.limit))
        return size

    def encode(self, value):
        return U64.encode(len(value)) + value

    def read(self, reader):
        return reader.take(self.checked(U64.read(reader)))

    def from_json(self, value):
        data = unhex(value)
        self.checked(len(data))
        return data

    def to_json(self, value):
        return value.hex()


class Text(Bytes):
    """String: Vec<u8> in UTF-8. The limit counts bytes."""

    def encode(self, value):
        return super().encode(value.encode("utf-8"))

    def read(self, reader):
        try:
            return super().read(reader).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DecodeError("not UTF-8") from error

    def from_json(self, value):
        if not isinstance(value, str):
            raise DecodeError("no string: %r" % (value,))
        self.checked(len(value.encode("utf-8")))
        return value

    def to_json(self, value):
        return value


class List:
    """Vec<T>: the number of elements as u64, then the elements."""

    def __init__(self, item, limit=None, least=0):
        self.item, self.limit, self.least = item, limit, least

    def checked(self, count):
        if count < self.least or self.limit is not None and count > self.limit:
            raise DecodeError("%d elements are too many, or too few" % count)
        return count

    def encode(self, values):
        return U64.encode(len(values)) + b"".join(map(self.item.encode, values))

    def read(self, reader):
        count = self.checked(U64.read(reader))
        if count > reader.left():  # no element is empty, so more elements than bytes cannot follow
            raise DecodeError("ends early: %d elements" % count)
        return [self.item.read(reader) for _ in range(count)]

    def from_json(self, values):
        if not isinstance(values, list):
            raise DecodeError("no array: %r" % (values,))
        self.checked(len(values))
        return [self.item.from_json(value) for value in values]

    def to_json(self, values):
        return [self.item.to_json(value) for value in values]


class Option:
    """Option<T>: 0 and nothing (None), or 1 and the value."""

    def __init__(self, item):
        self.item = item

    def encode(self, value):
        return b"\0" if value is None else b"\1" + self.item.encode(value)

    def read(self, reader):
        byte = reader.take(1)
        if byte > b"\1":
            raise DecodeError("an Option byte over 1")
        return self.item.read(reader) if byte == b"\1" else None

    def from_json(self, value):
        return None if value is None else self.item.from_json(value)

    def to_json(self, value):
        return None if value is None else self.item.to_json(value)


class Struct:
    """Fields in their order, nothing between; a value is a dict by name."""

    def __init__(self, **fields):
        self.fields = fields

    def encode(self, value):
        return b"".join([kind.encode(value[name]) for name, kind in self.fields.items()])

    def read(self, reader):
        return {name: kind.read(reader) for name, kind in self.fields.items()}

    def from_json(self, value):
        if not isinstance(value, dict) or set(value) != set(self.fields):
            raise DecodeError("members %r, not %r" % (value, list(self.fields)))
        return {name: kind.from_json(value[name]) for name, kind in self.fields.items()}

    def to_json(self, value):
        return {name: kind.to_json(value[name]) for name, kind in self.fields.items()}


class Enum:
    """The variant as u32, then its fields; a value is a dict of these and its name under "type"."""

    def __init__(self, variants):
        """variants are {number: (name, struct)}."""
        self.variants = variants
        self.numbers = {name: number for number, (name, _) in variants.items()}

    def encode(self, value):
        number = self.numbers[value["type"]]
        return U32.encode(number) + self.variants[number][1].encode(value)

    def read(self, reader):
        number = U32.read(reader)
        if number not in self.variants:
            raise DecodeError("variant %d is unknown" % number)
        name, fields = self.variants[number]
        value = fields.read(reader)
        value["type"] = name
        return value

    def from_json(self, value):
        if not isinstance(value, dict) or value.get("type") not in self.numbers:
            raise DecodeError("no variant: %r" % (value,))
        _, fields = self.variants[self.numbers[value["type"]]]
        return dict(fields.from_json({k: v for k, v in value.items() if k != "type"}), type=value["type"])

    def to_json(self, value):
        _, fields = self.variants[self.numbers[value["type"]]]
        return dict({"type": value["type"]}, **fields.to_json(value))
