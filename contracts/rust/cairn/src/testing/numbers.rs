//! Arithmetic modulo primes of 256 bits, for the chain in memory. Its running time depends on the data, as none of it
//! is secret.

/// A number of 256 bits, lowest limb first.
pub(super) type Number = [u64; 4];

/// Numbers below a modulus that is 2^256 − fold.
pub(super) struct Modulus {
    pub(super) m: Number,
    pub(super) fold: Number,
}

pub(super) fn read(bytes: &[u8]) -> Number {
    let mut n = [0; 4];
    for (limb, eight) in n.iter_mut().zip(bytes.rchunks(8)) {
        *limb = u64::from_be_bytes(eight.try_into().expect("eight bytes"))
    }
    n
}

pub(super) fn write(n: &Number, out: &mut [u8]) {
    for (eight, limb) in out.rchunks_mut(8).zip(n) {
        eight.copy_from_slice(&limb.to_be_bytes())
    }
}

pub(super) fn less(a: &Number, b: &Number) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

pub(super) fn zero(a: &Number) -> bool {
    *a == [0; 4]
}

pub(super) fn odd(a: &Number) -> bool {
    a[0] & 1 == 1
}

pub(super) fn plus(a: &Number, b: &Number) -> (Number, bool) {
    let (mut sum, mut carry) = ([0; 4], 0);
    for i in 0..4 {
        let s = a[i] as u128 + b[i] as u128 + carry;
        sum[i] = s as u64;
        carry = s >> 64
    }
    (sum, carry > 0)
}

pub(super) fn minus(a: &Number, b: &Number) -> (Number, bool) {
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
    pub(super) fn below(&self, a: Number) -> Number {
        if less(&a, &self.m) { a } else { minus(&a, &self.m).0 }
    }

    pub(super) fn add(&self, a: &Number, b: &Number) -> Number {
        let (sum, over) = plus(a, b);
        if over || !less(&sum, &self.m) { minus(&sum, &self.m).0 } else { sum }
    }

    pub(super) fn sub(&self, a: &Number, b: &Number) -> Number {
        let (rest, under) = minus(a, b);
        if under { plus(&rest, &self.m).0 } else { rest }
    }

    pub(super) fn mul(&self, a: &Number, b: &Number) -> Number {
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

    pub(super) fn pow(&self, a: &Number, e: &Number) -> Number {
        let mut power = [1, 0, 0, 0];
        for i in (0..256).rev() {
            power = self.mul(&power, &power);
            if e[i / 64] >> (i % 64) & 1 == 1 {
                power = self.mul(&power, a)
            }
        }
        power
    }

    /// The inverse, by Fermat's little theorem.
    pub(super) fn inverse(&self, a: &Number) -> Number {
        self.pow(a, &minus(&self.m, &[2, 0, 0, 0]).0)
    }
}

pub(super) fn product(a: &Number, b: &Number) -> [u64; 8] {
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
