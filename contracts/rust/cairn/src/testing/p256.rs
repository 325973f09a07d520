//! Verification of ECDSA over P-256 (FIPS 186-5), for the chain in memory.

use super::numbers::{less, minus, read, zero, Modulus, Number};

const P: Modulus = Modulus {
    m: [!0, 0xffffffff, 0, 0xffffffff00000001],
    fold: [1, 0xffffffff00000000, !0, 0xfffffffe],
};
const N: Modulus = Modulus {
    m: [0xf3b9cac2fc632551, 0xbce6faada7179e84, !0, 0xffffffff00000000],
    fold: [0x0c46353d039cdaaf, 0x4319055258e8617b, 0, 0xffffffff],
};
const HALF_N: Number = [0x79dce5617e3192a8, 0xde737d56d38bcf42, 0x7fffffffffffffff, 0x7fffffff80000000];
const B: Number = [0x3bce3c3e27d2604b, 0x651d06b0cc53b0f6, 0xb3ebbd55769886bc, 0x5ac635d8aa3a93e7];
const G: Point = Point {
    x: [0xf4a13945d898c296, 0x77037d812deb33a0, 0xf8bce6e563a440f2, 0x6b17d1f2e12c4247],
    y: [0xcbb6406837bf51f5, 0x2bce33576b315ece, 0x8ee7eb4a7c0f9e16, 0x4fe342e2fe1a7f9b],
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

fn is_on_curve(x: &Number, y: &Number) -> bool {
    let cube = P.mul(&P.mul(x, x), x);
    P.mul(y, y) == P.add(&P.sub(&cube, &P.mul(x, &[3, 0, 0, 0])), &B)
}

impl Point {
    fn double(&self) -> Point {
        if zero(&self.z) {
            return *self;
        }
        let zz = P.mul(&self.z, &self.z);
        let yy = P.mul(&self.y, &self.y);
        let s = P.mul(&P.mul(&self.x, &yy), &[4, 0, 0, 0]);
        let m = P.mul(&P.mul(&P.sub(&self.x, &zz), &P.add(&self.x, &zz)), &[3, 0, 0, 0]);
        let x = P.sub(&P.mul(&m, &m), &P.add(&s, &s));
        let y = P.sub(&P.mul(&m, &P.sub(&s, &x)), &P.mul(&P.mul(&yy, &yy), &[8, 0, 0, 0]));
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
}

/// Whether a signature r ‖ s of a digest is by a point x ‖ y. With low, s must also be at most half of the order.
pub(super) fn verify(point: &[u8], digest: &[u8], signature: &[u8], low: bool) -> bool {
    let (x, y) = (read(&point[..32]), read(&point[32..]));
    let (r, s) = (read(&signature[..32]), read(&signature[32..]));
    if !less(&x, &P.m) || !less(&y, &P.m) || !is_on_curve(&x, &y) {
        return false;
    }
    if zero(&r) || !less(&r, &N.m) || zero(&s) || !less(&s, &N.m) || low && less(&HALF_N, &s) {
        return false;
    }
    let inverse = N.pow(&s, &minus(&N.m, &[2, 0, 0, 0]).0);
    let e = N.below(read(digest));
    let public = Point { x, y, z: [1, 0, 0, 0] };
    let sum = G.times(&N.mul(&e, &inverse)).add(&public.times(&N.mul(&r, &inverse)));
    if zero(&sum.z) {
        return false;
    }
    let inverse = P.inverse(&sum.z);
    N.below(P.mul(&sum.x, &P.mul(&inverse, &inverse))) == r
}
