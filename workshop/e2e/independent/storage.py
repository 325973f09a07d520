"""What is in a contract's storage, by its ABI (docs/protocol.md, "Storage in the ABI")."""

import abi
from wire import U16, decode

LONGEST_KEY, LONGEST_VALUE = 256, 16 << 10


class Short:
    """A string or bytes with the length as a u16 before it."""

    def __init__(self, kind):
        self.kind = kind

    def read(self, reader):
        data = reader.take(U16.read(reader))
        return data.decode() if isinstance(self.kind, abi.String) else data


def is_text(kind):
    return isinstance(kind, abi.String) or isinstance(kind, abi.Hex) and kind.size is None


def prefixed(kind):
    """The type as it is in storage, where it is no part of a record or an enum."""
    if isinstance(kind, abi.Optional):
        return abi.Optional(prefixed(kind.item))
    if isinstance(kind, abi.Tuple):
        return abi.Tuple([prefixed(item) for item in kind.items])
    abi.require(not isinstance(kind, abi.List), "a list")
    return Short(kind) if is_text(kind) else kind


class Storage:
    def __init__(self, types, member):
        self.types, self.bare = types, member["encoding"] == "bare"
        self.cells = {cell["name"].encode(): cell for cell in member["cells"]}

    def value(self, text, data):
        """A value of a type as JSON."""
        abi.require(len(data) <= LONGEST_VALUE, "too long")
        return self.whole(self.types.of(text), data)

    def whole(self, kind, data):
        if not self.bare:
            return kind.to_json(decode(prefixed(kind), data))
        abi.require(not isinstance(kind, (abi.List, abi.Optional)), "a list or an optional")
        if is_text(kind):
            return kind.to_json(data.decode() if isinstance(kind, abi.String) else data)
        return kind.to_json(decode(kind, data))

    def map_key(self, text, data):
        kind = self.types.of(text)
        if self.bare:
            abi.require(not isinstance(kind, abi.Enum), "an enum")
            if isinstance(kind, abi.Integer) and kind.size <= 8:
                data = data[::-1]
        return self.whole(kind, data)

    def cut(self, key):
        """The name, and what is behind it; None if that is nothing."""
        if self.bare:
            name, zero, rest = key.partition(b"\0")
            return name, rest if zero else None
        end = 1 + key[0]
        abi.require(len(key) >= end, "a name that ends early")
        return key[1:end], key[end:] or None

    def slot(self, key):
        """What a key stands for."""
        abi.require(0 < len(key) <= LONGEST_KEY, "no key")
        name, rest = self.cut(key)
        cell = self.cells[name]
        kind, slot = cell["kind"], {"cell": cell["name"], "value": cell["value"]}
        if rest is None:
            abi.require(kind != "map", "a map without a key")
            return {**slot, "value": "u32"} if kind == "list" else slot
        abi.require(kind != "cell", "a cell with a key")
        if kind == "map":
            return {**slot, "key": self.map_key(cell["key"], rest)}
        abi.require(len(rest) == 4, "no index")
        return {**slot, "key": int.from_bytes(rest, "big" if self.bare else "little")}
