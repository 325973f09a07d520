"""secp256k1, BIP-340 signatures, and the wallet's way from a mnemonic to a signing key and an address."""

import hashlib
import hmac
import unicodedata
from functools import lru_cache

from curve import SECP256K1, to_bytes, to_int
from messages import tagged

P, N, G = SECP256K1.p, SECP256K1.n, SECP256K1.g


def multiply(scalar, point):
    return SECP256K1.multiply(scalar, point)


@lru_cache(maxsize=1 << 16)
def lift_x(x):
    """The point with this x and an even y, or None (BIP-340)."""
    if x >= P:
        return None
    square = (pow(x, 3, P) + 7) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        return None
    return x, y if y % 2 == 0 else P - y


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


@lru_cache(maxsize=1 << 16)
def verify(public, message, signature):
    """Whether it is a BIP-340 signature of message by the 32 bytes public."""
    r, s = to_int(signature[:32]), to_int(signature[32:])
    point = lift_x(to_int(public)) if r < P and s < N else None
    if point is None:
        return False
    e = challenge(signature[:32], public, message)
    found = SECP256K1.combine((s, G), ((N - e) % N, point))
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


@lru_cache(maxsize=1 << 12)
def address(public, network):
    """BIP-350: bech32m of the network's prefix, the witness version 1 and the account."""
    prefix = PREFIXES[network]
    bits = to_int(public) << 4  # 256 bits, padded to 52 groups of 5
    data = [1] + [bits >> 5 * i & 31 for i in reversed(range(52))]
    expanded = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    check = polymod(expanded + data + [0] * 6) ^ 0x2BC830A3
    data += [check >> 5 * i & 31 for i in reversed(range(6))]
    return prefix + "1" + "".join(ALPHABET[value] for value in data)
