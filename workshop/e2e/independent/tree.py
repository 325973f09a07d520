"""Poseidon1 over KoalaBear, the state tree and a block's lists (docs/protocol.md, "Hashes of state and lists").

A digest is a tuple of 8 field elements; a path is a digest as a number of 248 bits, the first bit on top.
"""

import struct
from functools import lru_cache

P = 2 ** 31 - 2 ** 24 + 1
WIDTH, FULL, PARTIAL = 16, 8, 20
PATH_BITS = 248
ZEROS = (0,) * 8


def grain():
    """The outputs of the Grain LFSR of the Poseidon paper, its first 160 discarded."""
    bits = "".join(format(value, "0%db" % width) for value, width in (
        (1, 2), (0, 4), (31, 12), (WIDTH, 12), (FULL, 10), (PARTIAL, 10), (2 ** 30 - 1, 30)))
    bits = [int(bit) for bit in bits]  # the last 80 bits are the state; s0 is the first of them
    while True:
        bits.append(bits[-80] ^ bits[-67] ^ bits[-57] ^ bits[-42] ^ bits[-29] ^ bits[-18])
        if len(bits) > 80 + 160:
            yield bits[-1]


def round_constants():
    """The constants of all rounds, each of 31 bits of the self-shrunk stream."""
    outputs = grain()
    stream = (bit for keep, bit in zip(outputs, outputs) if keep)
    constants = []
    while len(constants) < WIDTH * (FULL + PARTIAL):
        element = 0
        for _ in range(31):
            element = element << 1 | next(stream)
        if element < P:
            constants.append(element)
    return constants


CONSTANTS = round_constants()
FIRST_COLUMN = (1, 3, 13, 22, 67, 2, 15, 63, 101, 1, 2, 17, 11, 1, 51, 1)


def to_number(lanes):
    """The polynomial with these coefficients at x = 2^64."""
    return int.from_bytes(struct.pack("<%dQ" % WIDTH, *lanes), "little")


def to_lanes(number):
    return struct.unpack("<%dQ" % WIDTH, number.to_bytes(8 * WIDTH, "little"))


MATRIX = to_number(FIRST_COLUMN)
ROUNDS = [to_number(CONSTANTS[i:i + WIDTH]) for i in range(0, len(CONSTANTS), WIDTH)]
LANE, WHOLE = 2 ** 64 - 1, 2 ** (64 * WIDTH) - 1


def multiply(number):
    """The circulant matrix times the lanes: a product of polynomials modulo x^16 - 1."""
    product = number * MATRIX
    return (product >> 64 * WIDTH) + (product & WHOLE)


@lru_cache(maxsize=1 << 20)
def permute(state):
    """The permutation of 16 elements. The matrix enlarges a lane at most 371 times, so three partial rounds stay below
    2^64."""
    number = to_number(state)
    for r, constants in enumerate(ROUNDS):
        number += constants
        partial = FULL // 2 <= r < FULL // 2 + PARTIAL
        if partial:
            first = number & LANE
            number += first * first * first % P - first
        else:
            number = to_number([x * x * x % P for x in to_lanes(number)])
        number = multiply(number)
        if not partial or r % 3 == 0:
            number = to_number([x % P for x in to_lanes(number)])
    return to_lanes(number)


def sponge(tag, length, elements):
    """S(tag, n, e): a sponge of rate 8 with the tag and the length in its capacity."""
    state = ZEROS + (tag, length) + (0,) * 6
    for start in range(0, max(len(elements), 1), 8):
        block = list(elements[start:start + 8])
        block += [0] * (8 - len(block))
        state = permute(tuple((x + y) % P for x, y in zip(state, block)) + state[8:])
    return state[:8]


def pack(data):
    return [int.from_bytes(data[i:i + 3], "little") for i in range(0, len(data), 3)]


def path_digest(key):
    return sponge(1, len(key), pack(key))


def value_hash(value):
    return sponge(2, len(value), pack(value))


def leaf(path, value):
    return sponge(3, 16, path + value)


def node(left, right):
    return tuple((x + y) % P for x, y in zip(permute(left + right), left))


def digest_bytes(digest):
    return b"".join(x.to_bytes(4, "big") for x in digest)


def parse_digest(data):
    """The digest of 32 bytes, or None where they are none."""
    digest = tuple(int.from_bytes(data[i:i + 4], "big") for i in range(0, len(data), 4))
    return digest if len(data) == 32 and max(digest) < P else None


def bit(path, i):
    """Bit i of a path digest: 31 bits an element, the most significant first."""
    return path[i // 31] >> 30 - i % 31 & 1


def state_root(state):
    """The 32 bytes of the root of {key: value}."""
    return digest_bytes(_root([(path_digest(key), value_hash(value)) for key, value in state.items()], 0))


def _root(entries, depth):
    if not entries:
        return ZEROS
    if len(entries) == 1:
        return leaf(*entries[0])
    if depth == PATH_BITS:
        raise ValueError("two keys have the same path")
    sides = [], []
    for entry in entries:
        sides[bit(entry[0], depth)].append(entry)
    return node(_root(sides[0], depth + 1), _root(sides[1], depth + 1))


def bit_agrees(path, other, bits):
    return all(bit(path, i) == bit(other, i) for i in range(bits))


def proof_holds(root, proof):
    """Whether a decoded MerkleProof holds under the state root."""
    siblings, end, value = [parse_digest(sibling) for sibling in proof["siblings"]], proof["end"], proof["value"]
    if None in siblings or len(siblings) > PATH_BITS or (end["type"] == "leaf") != (value != b""):
        return False
    path = path_digest(proof["key"])
    if end["type"] == "leaf":
        digest = leaf(path, value_hash(value))
    elif end["type"] == "empty":
        digest = ZEROS
    else:
        there, held = parse_digest(end["path"]), parse_digest(end["value_hash"])
        if there is None or held is None or there == path or not bit_agrees(there, path, len(siblings)):
            return False
        digest = leaf(there, held)
    for depth in reversed(range(len(siblings))):
        digest = node(siblings[depth], digest) if bit(path, depth) else node(digest, siblings[depth])
    return digest_bytes(digest) == root


TRANSACTIONS, RECEIPTS = 5, 7  # tags of the lists of a block
MOST_LEAVES = 2 ** 18 - 1


def pair(data):
    return [int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2)]


def transaction_leaf(transaction_id, signature=None, witness_digest=None):
    """The leaf of a transaction with the witness Key and no payer, which has a signature, or of another one."""
    covered = transaction_id + (signature or witness_digest)
    return sponge(4, len(covered), pair(covered))


def receipt_leaf(details, status, gas_used):
    parts = [gas_used >> shift & 0xFFFF for shift in (0, 16, 32)]
    return sponge(6, 20, pair(details) + [status] + parts)


def list_digest(leaves):
    """T of the leaves: a tree filled up with zero digests."""
    level = list(leaves) or [ZEROS]
    level += [ZEROS] * ((1 << (len(level) - 1).bit_length()) - len(level))
    while len(level) > 1:
        level = [node(left, right) for left, right in zip(level[::2], level[1::2])]
    return level[0]


def list_root(tag, leaves):
    """transactions_root or receipts_root."""
    return digest_bytes(sponge(tag, len(leaves), list_digest(leaves)))


def inclusion(leaves, number):
    """The inclusion proof of a leaf."""
    level, at, siblings = list(leaves), number, []
    level += [ZEROS] * ((1 << (len(level) - 1).bit_length()) - len(level))
    while len(level) > 1:
        siblings.append(digest_bytes(level[at ^ 1]))
        level, at = [node(left, right) for left, right in zip(level[::2], level[1::2])], at >> 1
    return {"number": number, "n": len(leaves), "leaf": digest_bytes(leaves[number]), "siblings": siblings}


def inclusion_holds(tag, root, proof):
    """Whether a decoded InclusionProof holds under the root of the list with the tag."""
    number, n, siblings = proof["number"], proof["n"], [parse_digest(sibling) for sibling in proof["siblings"]]
    digest = parse_digest(proof["leaf"])
    if digest is None or None in siblings or not number < n or not 1 <= n <= MOST_LEAVES:
        return False
    if len(siblings) != (n - 1).bit_length():
        return False
    for height, sibling in enumerate(siblings):
        digest = node(sibling, digest) if number >> height & 1 else node(digest, sibling)
    return digest_bytes(sponge(tag, n, digest)) == root


EMPTY, OWN, OTHER, BRANCH, DIGEST = range(5)


class WitnessError(ValueError):
    """The witness is none of the keys'."""


class _Witness:
    """Shapes and digests, taken in their order."""

    def __init__(self, shapes, digests):
        self.shapes, self.digests = iter(shapes), iter(digests)

    def shape(self):
        return self._next(self.shapes)

    def digest(self):
        return self._next(self.digests)

    @staticmethod
    def _next(items):
        for item in items:
            return item
        raise WitnessError("it ends early")

    def touched(self, entries, depth):
        """The digest where keys of the answer lie: entries are (path, leaf or None)."""
        shape, present = self.shape(), [held for _, held in entries if held is not None]
        if shape == BRANCH:
            return self.branch(entries, depth)
        if shape == EMPTY and not present:
            return ZEROS
        if shape == OWN and len(present) == 1:
            return present[0]
        if shape != OTHER or present:
            raise WitnessError("shape %d where %d keys have values" % (shape, len(present)))
        there, held = self.digest(), self.digest()
        for path, _ in entries:
            if path == there or not bit_agrees(path, there, depth):
                raise WitnessError("the other entry does not lie here")
        return leaf(there, held)

    def untouched(self):
        """The digest of a half without keys."""
        shape = self.shape()
        if shape == EMPTY:
            return ZEROS
        digest = self.digest()
        if shape != DIGEST or digest == ZEROS:
            raise WitnessError("shape %d at a half without keys" % shape)
        return digest

    def branch(self, entries, depth):
        if depth >= PATH_BITS:
            raise WitnessError("deeper than a path")
        halves = [[entry for entry in entries if bit(entry[0], depth) == side] for side in (0, 1)]
        digests = [self.touched(half, depth + 1) if half else None for half in halves]
        return node(*(self.untouched() if digest is None else digest for digest in digests))


def verify_witness(root, values, shapes, digests):
    """Whether {key: value, or None for absent} is what the witness shows under root."""
    parsed = [parse_digest(digest) for digest in digests]
    if None in parsed or not values:
        return False
    entries = []
    for key, value in values.items():
        path = path_digest(key)
        entries.append((path, None if value is None else leaf(path, value_hash(value))))
    witness = _Witness(shapes, parsed)
    try:
        found = witness.touched(entries, 0)
    except WitnessError:
        return False
    left_over = list(witness.shapes) + list(witness.digests)
    return not left_over and digest_bytes(found) == root
