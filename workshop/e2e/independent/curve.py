"""Points of the two elliptic curves, secp256k1 and P-256: y² = x³ + ax + b over the field of p elements.

A point is (x, y) of numbers, infinity is None. Inside, points are Jacobian: x = X/Z² and y = Y/Z³ need no division.
"""

from functools import lru_cache

from messages import sha256

WINDOW = 4  # bits of a scalar per addition of a point from a table
ASKED = 3  # multiplications of a point after which it gets a table


class Curve:
    def __init__(self, p, a, b, n, g):
        self.p, self.a, self.b, self.n, self.g = p, a, b, n, g
        self.asked = {}
        self.table = lru_cache(maxsize=256)(self._table)

    def has(self, point):
        x, y = point
        return x < self.p and y < self.p and (y * y - (x * x + self.a) * x - self.b) % self.p == 0

    def double(self, point):
        X, Y, Z = point
        p = self.p
        squared = Y * Y % p
        S = 4 * X * squared % p
        M = 3 * X * X
        if self.a:
            fourth = Z * Z % p
            M += self.a * fourth * fourth
        M %= p
        doubled = (M * M - 2 * S) % p
        return doubled, (M * (S - doubled) - 8 * squared * squared) % p, 2 * Y * Z % p

    def add(self, point, other):
        """A Jacobian point and one of two coordinates. Z is 0 at infinity."""
        X, Y, Z = point
        x, y = other
        if Z == 0:
            return x, y, 1
        p = self.p
        squared = Z * Z % p
        H, R = (x * squared - X) % p, (y * squared * Z - Y) % p
        if H == 0:
            return self.double(point) if R == 0 else (1, 1, 0)
        square = H * H % p
        cube, V = H * square % p, X * square % p
        sum_x = (R * R - cube - 2 * V) % p
        return sum_x, (R * (V - sum_x) - Y * cube) % p, Z * H % p

    def flat(self, points):
        """The (x, y) of Jacobian points, none of which is at infinity, with one division."""
        p, products = self.p, [1]
        for _, _, Z in points:
            products.append(products[-1] * Z % p)
        inverse, flat = pow(products[-1], -1, p), []
        for (X, Y, Z), before in zip(reversed(points), reversed(products[:-1])):
            one = inverse * before % p
            inverse = inverse * Z % p
            square = one * one % p
            flat.append((X * square % p, Y * square * one % p))
        return flat[::-1]

    def _table(self, point):
        """Multiples of the point: 1 to 15 times 16^i, for i from 0 to 63."""
        multiples, power = [], point
        for _ in range(0, 256, WINDOW):
            row = [(power[0], power[1], 1)]
            for _ in range(1, 2 ** WINDOW):
                row.append(self.add(row[-1], power))
            power = self.flat(row[-1:])[0]
            multiples += row[:-1]
        flat = self.flat(multiples)
        return [flat[i:i + 2 ** WINDOW - 1] for i in range(0, len(flat), 2 ** WINDOW - 1)]

    def plus_product(self, start, scalar, point):
        """start + scalar × point; start and the result are Jacobian, the scalar is below n."""
        times = self.asked[point] = self.asked.get(point, 0) + 1
        if point == self.g or times > ASKED:
            if len(self.asked) > 10000:
                self.asked.clear()
            for row in self.table(point):
                digit = scalar & 2 ** WINDOW - 1
                if digit:
                    start = self.add(start, row[digit - 1])
                scalar >>= WINDOW
            return start
        product = (1, 1, 0)
        for digit in bin(scalar)[2:]:
            product = self.double(product) if product[2] else product
            if digit == "1":
                product = self.add(product, point)
        if product[2] == 0:
            return start
        return self.add(start, self.flat([product])[0])

    def combine(self, *products):
        """The sum of scalar × point over the pairs, or None if it is at infinity."""
        total = (1, 1, 0)
        for scalar, point in products:
            total = self.plus_product(total, scalar, point)
        return None if total[2] == 0 else self.flat([total])[0]

    def multiply(self, scalar, point):
        return self.combine((scalar, point))


SECP256K1 = Curve(  # SEC 2, section 2.4.1
    2 ** 256 - 2 ** 32 - 977, 0, 7, 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8))

P256_PRIME = 2 ** 256 - 2 ** 224 + 2 ** 192 + 2 ** 96 - 1
P256 = Curve(  # SEC 2, section 2.4.2
    P256_PRIME, P256_PRIME - 3, 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5))


def to_bytes(number):
    return number.to_bytes(32, "big")


def to_int(data):
    return int.from_bytes(data, "big")


@lru_cache(maxsize=1 << 16)
def ecdsa_verify(point, digest, signature, any_s=False):
    """Section "ECDSA over P-256": point is x ‖ y, signature r ‖ s, all of them bytes."""
    n, half = P256.n, P256.n // 2
    public = to_int(point[:32]), to_int(point[32:])
    r, s = to_int(signature[:32]), to_int(signature[32:])
    if not 0 < r < n or not 0 < s <= (n - 1 if any_s else half) or not P256.has(public):
        return False
    inverse = pow(s, -1, n)
    found = P256.combine((to_int(digest) * inverse % n, P256.g), (r * inverse % n, public))
    return found is not None and found[0] % n == r


def ecdsa_sign(private, digest):
    """A signature with the nonce SHA256(digest) mod n and the lower s, as the vectors have them."""
    n = P256.n
    nonce = to_int(sha256(digest)) % n
    r = P256.multiply(nonce, P256.g)[0] % n
    s = pow(nonce, -1, n) * (to_int(digest) + r * private) % n
    return to_bytes(r) + to_bytes(min(s, n - s))


def ecdsa_point(private):
    return b"".join(map(to_bytes, P256.multiply(private, P256.g)))
