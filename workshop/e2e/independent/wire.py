"""The binary encoding (docs/protocol.md, "Encoding").

A type has encode(value) -> bytes and read(reader) -> value. Structs and variants of an enum are dicts. Decoding is
strict: for every accepted input b, encode(decode(b)) == b.
"""


class DecodeError(ValueError):
    """The bytes are no encoding of the type."""


class Reader:
    """Takes bytes from the front and never more than there are."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise DecodeError("ends early: %d bytes wanted at offset %d, %d left" % (size, self.at, self.left()))
        self.at += size
        return self.data[self.at - size:self.at]


def decode(kind, data):
    """Decode all of data."""
    reader = Reader(data)
    value = kind.read(reader)
    if reader.left():
        raise DecodeError("%d bytes left over" % reader.left())
    return value


class Uint:
    """An unsigned integer of a fixed width, little-endian."""

    def __init__(self, size, most=None):
        self.size, self.most = size, most

    def encode(self, value):
        return value.to_bytes(self.size, "little")

    def read(self, reader):
        value = int.from_bytes(reader.take(self.size), "little")
        if self.most is not None and value > self.most:
            raise DecodeError("%d is over %d" % (value, self.most))
        return value


U8, U16, U32, U64 = Uint(1), Uint(2), Uint(4), Uint(8)


class Fixed:
    """A number of bytes that the type fixes."""

    def __init__(self, size):
        self.size = size

    def encode(self, value):
        assert len(value) == self.size
        return value

    def read(self, reader):
        return reader.take(self.size)


class Bytes:
    """Vec<u8>: the length as u64, then the bytes."""

    def __init__(self, limit=None):
        self.limit = limit

    def encode(self, value):
        return U64.encode(len(value)) + value

    def read(self, reader):
        size = U64.read(reader)
        if self.limit is not None and size > self.limit:
            raise DecodeError("length %d is over %d" % (size, self.limit))
        return reader.take(size)


class Text(Bytes):
    """String: Vec<u8> in UTF-8. The limit counts bytes."""

    def encode(self, value):
        return super().encode(value.encode("utf-8"))

    def read(self, reader):
        try:
            return super().read(reader).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DecodeError("not UTF-8") from error


class List:
    """Vec<T>: the number of elements as u64, then the elements."""

    def __init__(self, item, limit=None):
        self.item, self.limit = item, limit

    def encode(self, values):
        return U64.encode(len(values)) + b"".join(map(self.item.encode, values))

    def read(self, reader):
        count = U64.read(reader)
        # No element is empty, so more elements than bytes cannot follow.
        if count > reader.left() or self.limit is not None and count > self.limit:
            raise DecodeError("%d elements are too many" % count)
        return [self.item.read(reader) for _ in range(count)]


class Option:
    """Option<T>: 0 and nothing (None), or 1 and the value."""

    def __init__(self, item):
        self.item = item

    def encode(self, value):
        return b"\0" if value is None else b"\1" + self.item.encode(value)

    def read(self, reader):
        return self.item.read(reader) if Uint(1, most=1).read(reader) else None


class Struct:
    """Fields in their order, nothing between; a value is a dict by name."""

    def __init__(self, **fields):
        self.fields = fields

    def encode(self, value):
        return b"".join(kind.encode(value[name]) for name, kind in self.fields.items())

    def read(self, reader):
        return {name: kind.read(reader) for name, kind in self.fields.items()}


class Enum:
    """The variant as u32, then its fields; a value is a dict of these and "variant"."""

    def __init__(self, *variants):
        self.variants = variants

    def encode(self, value):
        return U32.encode(value["variant"]) + self.variants[value["variant"]].encode(value)

    def read(self, reader):
        variant = U32.read(reader)
        if variant >= len(self.variants):
            raise DecodeError("variant %d is unknown" % variant)
        return dict(self.variants[variant].read(reader), variant=variant)
