"""Keccak-256 and BLAKE3, which the standard library has not, and recovery of a public key."""

import struct

from curve import SECP256K1, to_bytes, to_int
from keys import lift_x

M64, M32 = 2 ** 64 - 1, 2 ** 32 - 1
ROTATIONS = ((0, 36, 3, 41, 18), (1, 44, 10, 45, 2), (62, 6, 43, 15, 61), (28, 55, 25, 21, 56), (27, 20, 39, 8, 14))


def round_constants():
    """Of Keccak-f[1600], by its linear feedback shift register."""
    bits, state, constants = [], 1, []
    for _ in range(7 * 24):
        bits.append(state & 1)
        state = state << 1 ^ (0x171 if state >> 7 else 0)
    for r in range(24):
        constants.append(sum(bits[7 * r + j] << (1 << j) - 1 for j in range(7)))
    return constants


CONSTANTS = round_constants()


def rotate64(x, n):
    return (x << n | x >> 64 - n) & M64 if n else x


def keccak_f(a):
    """a[x][y] is a lane."""
    for constant in CONSTANTS:
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[x - 1] ^ rotate64(c[(x + 1) % 5], 1) for x in range(5)]
        b = [[0] * 5 for _ in range(5)]
        for x in range(5):
            for y in range(5):
                b[y][(2 * x + 3 * y) % 5] = rotate64(a[x][y] ^ d[x], ROTATIONS[x][y])
        a = [[b[x][y] ^ ~b[(x + 1) % 5][y] & b[(x + 2) % 5][y] & M64 for y in range(5)] for x in range(5)]
        a[0][0] ^= constant
    return a


def keccak256(data):
    """With the padding 01, as Ethereum has it."""
    rate = 136
    data = bytearray(data + b"\1" + bytes(-(len(data) + 1) % rate))
    data[-1] |= 0x80
    a = [[0] * 5 for _ in range(5)]
    for start in range(0, len(data), rate):
        for i, lane in enumerate(struct.unpack("<17Q", data[start:start + rate])):
            a[i % 5][i // 5] ^= lane
        a = keccak_f(a)
    return struct.pack("<4Q", *(a[i][0] for i in range(4)))


IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def rotate32(x, n):
    return (x >> n | x << 32 - n) & M32


def compress(chaining, block, length, counter, flags):
    v = list(chaining) + list(IV[:4]) + [counter & M32, counter >> 32, length, flags]
    words = list(struct.unpack("<16I", block + bytes(64 - len(block))))
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(COLUMNS + DIAGONALS):
            for word, first, second in ((words[2 * i], 16, 12), (words[2 * i + 1], 8, 7)):
                v[a] = (v[a] + v[b] + word) & M32
                v[d] = rotate32(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & M32
                v[b] = rotate32(v[b] ^ v[c], second)
        words = [words[i] for i in PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)]


def chunk(data, counter, flags):
    """The chaining value of a chunk of at most 1,024 bytes."""
    chaining = IV
    blocks = [data[i:i + 64] for i in range(0, len(data), 64)] or [b""]
    for i, block in enumerate(blocks):
        last = i == len(blocks) - 1
        chaining = compress(chaining, block, len(block), counter, (CHUNK_START if i == 0 else 0) | (
            CHUNK_END | flags if last else 0))
    return chaining


def subtree(data, counter, flags):
    if len(data) <= 1024:
        return chunk(data, counter, flags)
    chunks = (len(data) + 1023) // 1024
    left = 1024 << (chunks - 1).bit_length() - 1
    halves = subtree(data[:left], counter, 0) + subtree(data[left:], counter + left // 1024, 0)
    return compress(IV, struct.pack("<16I", *halves), 64, 0, PARENT | flags)


def blake3(data):
    return struct.pack("<8I", *subtree(data, 0, ROOT))


def ecdsa_recover(digest, signature):
    """x ‖ y of the key that signed by ECDSA over secp256k1, or None; the signature is r ‖ s ‖ v."""
    curve, r, s, v = SECP256K1, to_int(signature[:32]), to_int(signature[32:64]), signature[64]
    if v > 1 or not 0 < r < curve.n or not 0 < s <= curve.n // 2:
        return None
    point = lift_x(r)
    if point is None:
        return None
    if v:
        point = point[0], curve.p - point[1]
    inverse = pow(r, -1, curve.n)
    found = curve.combine((-to_int(digest) * inverse % curve.n, curve.g), (s * inverse % curve.n, point))
    return None if found is None else to_bytes(found[0]) + to_bytes(found[1])
