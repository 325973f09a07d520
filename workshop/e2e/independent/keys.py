"""secp256k1, BIP-340 signatures, and the wallet's way from a mnemonic to a signing key and an address."""

import hashlib
import hmac
import unicodedata

from messages import tagged

# SEC 2, section 2.4.1: y² = x³ + 7 over the field of P elements, group order N. A point is (x, y), infinity is None.
P = 2 ** 256 - 2 ** 32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if a[1] != b[1]:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def double(X, Y, Z):
    """2·(X : Y : Z) in Jacobian coordinates, x = X/Z² and y = Y/Z³, which need no division."""
    squared = Y * Y % P
    S, M = 4 * X * squared % P, 3 * X * X % P
    doubled = (M * M - 2 * S) % P
    return doubled, (M * (S - doubled) - 8 * squared * squared) % P, 2 * Y * Z % P


def multiply(scalar, point):
    """Double and add, from the top bit. The scalar is below N, so that an addition never meets the same x."""
    if point is None or scalar == 0:
        return None
    x, y = point
    X, Y, Z = x, y, 1
    for digit in bin(scalar)[3:]:
        X, Y, Z = double(X, Y, Z)
        if digit == "1":  # add (x, y)
            H, R = (x * Z * Z - X) % P, (y * Z * Z * Z - Y) % P
            cube, V = H * H * H % P, X * H * H % P
            sum_x = (R * R - cube - 2 * V) % P
            X, Y, Z = sum_x, (R * (V - sum_x) - Y * cube) % P, Z * H % P
    inverse = pow(Z, -1, P)
    return X * inverse * inverse % P, Y * inverse * inverse * inverse % P


def lift_x(x):
    """The point with this x and an even y, or None (BIP-340)."""
    if x >= P:
        return None
    square = (pow(x, 3, P) + 7) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        return None
    return x, y if y % 2 == 0 else P - y


def to_bytes(number):
    return number.to_bytes(32, "big")


def to_int(data):
    return int.from_bytes(data, "big")


def even_y(private):
    """The private key of the point with the same x and an even y, and that x."""
    point = multiply(private, G)
    return (private if point[1] % 2 == 0 else N - private), to_bytes(point[0])


def challenge(nonce_x, public, message):
    return to_int(tagged("BIP0340/challenge", nonce_x + public + message)) % N


def sign(private, message, auxiliary):
    """BIP-340 signature; private is an integer, auxiliary 32 bytes."""
    d, public = even_y(private)
    masked = to_bytes(d ^ to_int(tagged("BIP0340/aux", auxiliary)))
    k, nonce_x = even_y(to_int(tagged("BIP0340/nonce", masked + public + message)) % N)
    return nonce_x + to_bytes((k + challenge(nonce_x, public, message) * d) % N)


def verify(public, message, signature):
    """Whether it is a BIP-340 signature of message by the 32 bytes public."""
    point, r, s = lift_x(to_int(public)), to_int(signature[:32]), to_int(signature[32:])
    if point is None or r >= P or s >= N:
        return False
    e = challenge(signature[:32], public, message)
    found = add(multiply(s, G), multiply((N - e) % N, point))
    return found is not None and found[1] % 2 == 0 and found[0] == r


def seed(mnemonic, passphrase=""):
    """BIP-39."""
    words, salt = (unicodedata.normalize("NFKD", text).encode() for text in (mnemonic, "mnemonic" + passphrase))
    return hashlib.pbkdf2_hmac("sha512", words, salt, 2048)


HARDENED = 2 ** 31


def master(seed_bytes):
    """BIP-32: the private key and the chain code at m."""
    digest = hmac.new(b"Bitcoin seed", seed_bytes, hashlib.sha512).digest()
    return to_int(digest[:32]), digest[32:]


def child(private, chain_code, index):
    """BIP-32: CKDpriv. A digest over the order has a chance of 2^-127 and is an error."""
    if index >= HARDENED:
        data = b"\0" + to_bytes(private)
    else:
        x, y = multiply(private, G)
        data = bytes([2 + y % 2]) + to_bytes(x)
    digest = hmac.new(chain_code, data + index.to_bytes(4, "big"), hashlib.sha512).digest()
    derived = (to_int(digest[:32]) + private) % N
    if to_int(digest[:32]) >= N or derived == 0:
        raise ValueError("no key at this index")
    return derived, digest[32:]


def derive(seed_bytes, path):
    """The key and chain code at a path like m/86'/1'/0'/0/0."""
    node = master(seed_bytes)
    for part in path.split("/")[1:]:
        node = child(*node, index=int(part.rstrip("'")) + (HARDENED if part.endswith("'") else 0))
    return node


def tweak(private):
    """BIP-341 without a script tree: internal public key, tweak, output private key, output public key."""
    d, internal = even_y(private)
    t = to_int(tagged("TapTweak", internal))
    if t >= N:
        raise ValueError("the tweak is over the group's order")
    output = (d + t) % N
    return internal, to_bytes(t), output, even_y(output)[1]


class Account:
    """Account i of a mnemonic: `private` (an integer) signs for `public` (32 bytes, the account)."""

    def __init__(self, seed_bytes, index, coin=1):
        self.path = "m/86'/%d'/0'/0/%d" % (coin, index)
        _, _, self.private, self.public = tweak(derive(seed_bytes, self.path)[0])


PREFIXES = {"mainnet": "bc", "testnet": "tb", "regtest": "bcrt"}
ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def polymod(values):
    """The checksum of BIP-173."""
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= generator if top >> bit & 1 else 0
    return check


def address(public, network):
    """BIP-350: bech32m of the network's prefix, the witness version 1 and the account."""
    prefix = PREFIXES[network]
    bits = to_int(public) << 4  # 256 bits, filled up to 52 groups of 5
    data = [1] + [bits >> 5 * i & 31 for i in reversed(range(52))]
    expanded = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    check = polymod(expanded + data + [0] * 6) ^ 0x2BC830A3
    data += [check >> 5 * i & 31 for i in reversed(range(6))]
    return prefix + "1" + "".join(ALPHABET[value] for value in data)
