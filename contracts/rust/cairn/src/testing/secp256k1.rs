//! Signatures on secp256k1 (SEC 2), checked: BIP-340 and recovery of ECDSA keys, for the chain in memory. Its time
//! depends on what it computes, as there are no secrets in it.

use super::sha256;

/// 256 bits, the lowest first.
type Number = [u64; 4];

/// Numbers below a modulus that is 2^256 − fold.
struct Modulus {
    m: Number,
    fold: Number,
}

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

fn read(bytes: &[u8]) -> Number {
    let mut n = [0; 4];
    for (limb, eight) in n.iter_mut().zip(bytes.rchunks(8)) {
        *limb = u64::from_be_bytes(eight.try_into().expect("eight bytes"))
    }
    n
}

fn write(n: &Number, out: &mut [u8]) {
    for (eight, limb) in out.rchunks_mut(8).zip(n) {
        eight.copy_from_slice(&limb.to_be_bytes())
    }
}

fn less(a: &Number, b: &Number) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

fn zero(a: &Number) -> bool {
    *a == [0; 4]
}

fn odd(a: &Number) -> bool {
    a[0] & 1 == 1
}

fn plus(a: &Number, b: &Number) -> (Number, bool) {
    let (mut sum, mut carry) = ([0; 4], 0);
    for i in 0..4 {
        let s = a[i] as u128 + b[i] as u128 + carry;
        sum[i] = s as u64;
        carry = s >> 64
    }
    (sum, carry > 0)
}

fn minus(a: &Number, b: &Number) -> (Number, bool) {
    let (mut rest, mut borrow) = ([0; 4], false);
    for i in 0..4 {
        let (d, first) = a[i].overflowing_sub(b[i]);
        let (d, second) = d.overflowing_sub(borrow as u64);
        rest[i] = d;
        borrow = first || second
    }
    (rest, borrow)
}

impl Modulus {
    fn below(&self, a: Number) -> Number {
        if less(&a, &self.m) { a } else { minus(&a, &self.m).0 }
    }

    fn add(&self, a: &Number, b: &Number) -> Number {
        let (sum, over) = plus(a, b);
        if over || !less(&sum, &self.m) { minus(&sum, &self.m).0 } else { sum }
    }

    fn sub(&self, a: &Number, b: &Number) -> Number {
        let (rest, under) = minus(a, b);
        if under { plus(&rest, &self.m).0 } else { rest }
    }

    fn mul(&self, a: &Number, b: &Number) -> Number {
        let mut wide = product(a, b);
        while wide[4..] != [0; 4] {
            let high = [wide[4], wide[5], wide[6], wide[7]];
            let mut folded = product(&high, &self.fold);
            let mut carry = 0;
            for (i, limb) in folded.iter_mut().enumerate() {
                let s = *limb as u128 + if i < 4 { wide[i] as u128 } else { 0 } + carry;
                *limb = s as u64;
                carry = s >> 64
            }
            wide = folded
        }
        self.below([wide[0], wide[1], wide[2], wide[3]])
    }

    fn pow(&self, a: &Number, e: &Number) -> Number {
        let mut power = [1, 0, 0, 0];
        for i in (0..256).rev() {
            power = self.mul(&power, &power);
            if e[i / 64] >> (i % 64) & 1 == 1 {
                power = self.mul(&power, a)
            }
        }
        power
    }

    /// The inverse, by Fermat.
    fn inverse(&self, a: &Number) -> Number {
        self.pow(a, &minus(&self.m, &[2, 0, 0, 0]).0)
    }
}

fn product(a: &Number, b: &Number) -> [u64; 8] {
    let mut wide = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            let s = wide[i + j] as u128 + a[i] as u128 * b[j] as u128 + carry;
            wide[i + j] = s as u64;
            carry = s >> 64
        }
        wide[i + 4] = carry as u64
    }
    wide
}

/// A point in Jacobian coordinates; z is 0 at infinity.
#[derive(Clone, Copy)]
struct Point {
    x: Number,
    y: Number,
    z: Number,
}

const INFINITY: Point = Point { x: [1, 0, 0, 0], y: [1, 0, 0, 0], z: [0; 4] };

impl Point {
    /// The point of an x whose y is odd or not; none if the x is of no point.
    fn lift(x: Number, odd_y: bool) -> Option<Point> {
        if !less(&x, &P.m) {
            return None;
        }
        let square = P.add(&P.mul(&P.mul(&x, &x), &x), &[7, 0, 0, 0]);
        // (p + 1) / 4, as p is 3 modulo 4.
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

    /// x and y; none at infinity.
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
    let tag = sha256::sum(b"BIP0340/challenge");
    let challenge = sha256::sum(&[&tag[..], &tag, &signature[..32], key, message].concat());
    let e = N.below(read(&challenge));
    let nonce = G.times(&s).add(&public.times(&N.sub(&[0; 4], &e)));
    matches!(nonce.affine(), Some((x, y)) if x == r && !odd(&y))
}

/// The key (x ‖ y) whose ECDSA signature r ‖ s ‖ v of a hash this is (SEC 1, 4.1.6), as docs/protocol.md has it.
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
