//! Signatures on secp256k1 (SEC 2): BIP-340 and recovery of ECDSA keys, for the chain in memory.

use super::numbers::{less, odd, read, write, zero, Modulus, Number};
use super::sha256;

const P: Modulus = Modulus { m: [0xfffffffefffffc2f, !0, !0, !0], fold: [0x1000003d1, 0, 0, 0] };
const N: Modulus = Modulus {
    m: [0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, !0],
    fold: [0x402da1732fc9bebf, 0x4551231950b75fc4, 1, 0],
};
const HALF_N: Number = [0xdfe92f46681b20a0, 0x5d576e7357a4501d, !0, 0x7fffffffffffffff];
const G: Point = Point {
    x: [0x59f2815b16f81798, 0x029bfcdb2dce28d9, 0x55a06295ce870b07, 0x79be667ef9dcbbac],
    y: [0x9c47d08ffb10d4b8, 0xfd17b448a6855419, 0x5da4fbfc0e1108a8, 0x483ada7726a3c465],
    z: [1, 0, 0, 0],
};

/// A point in Jacobian coordinates; z is 0 at infinity.
#[derive(Clone, Copy)]
struct Point {
    x: Number,
    y: Number,
    z: Number,
}

const INFINITY: Point = Point { x: [1, 0, 0, 0], y: [1, 0, 0, 0], z: [0; 4] };

impl Point {
    /// The point with the given x and an odd or even y; none if no point has this x.
    fn lift(x: Number, odd_y: bool) -> Option<Point> {
        if !less(&x, &P.m) {
            return None;
        }
        let square = P.add(&P.mul(&P.mul(&x, &x), &x), &[7, 0, 0, 0]);
        // (p + 1) / 4, the exponent for square roots as p is 3 modulo 4.
        let y = P.pow(&square, &[0xffffffffbfffff0c, !0, !0, 0x3fffffffffffffff]);
        if P.mul(&y, &y) != square {
            return None;
        }
        Some(Point { x, y: if odd(&y) == odd_y { y } else { P.sub(&[0; 4], &y) }, z: [1, 0, 0, 0] })
    }

    fn double(&self) -> Point {
        let a = P.mul(&self.x, &self.x);
        let b = P.mul(&self.y, &self.y);
        let c = P.mul(&b, &b);
        let d = P.mul(&P.mul(&self.x, &b), &[4, 0, 0, 0]);
        let e = P.mul(&a, &[3, 0, 0, 0]);
        let x = P.sub(&P.mul(&e, &e), &P.add(&d, &d));
        let y = P.sub(&P.mul(&e, &P.sub(&d, &x)), &P.mul(&c, &[8, 0, 0, 0]));
        Point { x, y, z: P.mul(&P.mul(&self.y, &self.z), &[2, 0, 0, 0]) }
    }

    fn add(&self, other: &Point) -> Point {
        if zero(&self.z) {
            return *other;
        }
        if zero(&other.z) {
            return *self;
        }
        let (zz1, zz2) = (P.mul(&self.z, &self.z), P.mul(&other.z, &other.z));
        let (u1, u2) = (P.mul(&self.x, &zz2), P.mul(&other.x, &zz1));
        let (s1, s2) = (P.mul(&P.mul(&self.y, &other.z), &zz2), P.mul(&P.mul(&other.y, &self.z), &zz1));
        let (h, r) = (P.sub(&u2, &u1), P.sub(&s2, &s1));
        if zero(&h) {
            return if zero(&r) { self.double() } else { INFINITY };
        }
        let hh = P.mul(&h, &h);
        let hhh = P.mul(&h, &hh);
        let v = P.mul(&u1, &hh);
        let x = P.sub(&P.sub(&P.mul(&r, &r), &hhh), &P.add(&v, &v));
        let y = P.sub(&P.mul(&r, &P.sub(&v, &x)), &P.mul(&s1, &hhh));
        Point { x, y, z: P.mul(&P.mul(&self.z, &other.z), &h) }
    }

    fn times(&self, k: &Number) -> Point {
        let mut sum = INFINITY;
        for i in (0..256).rev() {
            sum = sum.double();
            if k[i / 64] >> (i % 64) & 1 == 1 {
                sum = sum.add(self)
            }
        }
        sum
    }

    /// The affine x and y; none at infinity.
    fn affine(&self) -> Option<(Number, Number)> {
        if zero(&self.z) {
            return None;
        }
        let inverse = P.inverse(&self.z);
        let square = P.mul(&inverse, &inverse);
        Some((P.mul(&self.x, &square), P.mul(&P.mul(&self.y, &square), &inverse)))
    }
}

/// BIP-340, "Verification".
pub(super) fn schnorr_verify(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let public = match Point::lift(read(key), false) {
        Some(public) => public,
        None => return false,
    };
    let (r, s) = (read(&signature[..32]), read(&signature[32..]));
    if !less(&r, &P.m) || !less(&s, &N.m) {
        return false;
    }
    let challenge = sha256::tagged("BIP0340/challenge", &[&signature[..32], key, message].concat());
    let e = N.below(read(&challenge));
    let nonce = G.times(&s).add(&public.times(&N.sub(&[0; 4], &e)));
    matches!(nonce.affine(), Some((x, y)) if x == r && !odd(&y))
}

/// Recovers the key (x ‖ y) from an ECDSA signature r ‖ s ‖ v of a hash (SEC 1, 4.1.6), as docs/protocol.md specifies.
pub(super) fn ecdsa_recover(hash: &[u8], signature: &[u8]) -> Option<[u8; 64]> {
    let (r, s, v) = (read(&signature[..32]), read(&signature[32..64]), signature[64]);
    if v > 1 || zero(&r) || !less(&r, &N.m) || zero(&s) || less(&HALF_N, &s) {
        return None;
    }
    let nonce = Point::lift(r, v == 1)?;
    let inverse = N.inverse(&r);
    let z = N.below(read(hash));
    let of_g = N.sub(&[0; 4], &N.mul(&z, &inverse));
    let (x, y) = nonce.times(&N.mul(&s, &inverse)).add(&G.times(&of_g)).affine()?;
    let mut out = [0; 64];
    write(&x, &mut out[..32]);
    write(&y, &mut out[32..]);
    Some(out)
}

/// A key for tests: an x-only public key derived from a seed, and its secret.
pub(super) struct Key {
    secret: Number,
    pub(super) public: [u8; 32],
}

fn x_only(secret: &Number) -> Option<([u8; 32], bool)> {
    let (x, y) = G.times(secret).affine()?;
    let mut public = [0; 32];
    write(&x, &mut public);
    Some((public, odd(&y)))
}

impl Key {
    pub(super) fn new(seed: &[u8]) -> Self {
        let secret = N.below(read(&sha256::sum(seed)));
        let (public, odd_y) = x_only(&secret).expect("a secret that is not 0");
        Key { secret: if odd_y { N.sub(&[0; 4], &secret) } else { secret }, public }
    }

    /// BIP-340, "Default Signing", with a nonce derived from the secret and the message.
    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut bytes = [0; 32];
        write(&self.secret, &mut bytes);
        let nonce = N.below(read(&sha256::sum(&[&bytes[..], message].concat())));
        let (r, odd_y) = x_only(&nonce).expect("a nonce that is not 0");
        let nonce = if odd_y { N.sub(&[0; 4], &nonce) } else { nonce };
        let challenge = sha256::tagged("BIP0340/challenge", &[&r, &self.public, message].concat());
        let s = N.add(&nonce, &N.mul(&N.below(read(&challenge)), &self.secret));
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&r);
        write(&s, &mut signature[32..]);
        signature
    }
}
