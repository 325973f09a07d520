//! The types of arguments, results and fields of events, and their JSON.

use crate::abi::Type;
use crate::{json, Buffer, Parser};

/// Text.
pub type Str = &'static str;

/// An account: a user's (its public key) or a contract's (its ID).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Account(pub &'static [u8; 32]);

impl Account {
    /// The account that nobody has: where tokens are minted from and burned to.
    pub const ZERO: Account = Account(&[0; 32]);
}

impl Default for Account {
    fn default() -> Self {
        Self::ZERO
    }
}

/// A hash, or any other 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hash(pub &'static [u8; 32]);

impl Default for Hash {
    fn default() -> Self {
        Hash(&[0; 32])
    }
}

/// Bytes of any number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bytes(pub &'static [u8]);

/// What arguments, results and fields of events may be: bool, u8, u32, u64, i64, [`Str`], [`Bytes`], [`Account`],
/// [`Hash`], and lists (`&'static [T]`) and options (`Option<T>`) of such.
pub trait Value: Sized {
    /// The name of the type in the ABI.
    #[doc(hidden)]
    const TYPE: Type;

    /// Reads the value; what is not one reverts. The text is well-formed JSON there.
    fn parse(from: &mut Parser) -> Self;

    /// Appends the value's JSON.
    fn write(&self, out: &mut Buffer);

    /// What stands for an argument that was not given.
    fn missing(from: &Parser) -> Self {
        from.fail("missing")
    }

    /// Sets the value as a topic of an event; true for integers, accounts and hashes only.
    fn topic(&self, _to: &mut [u8; 32]) -> bool {
        false
    }
}

impl Value for bool {
    const TYPE: Type = Type::of("bool");

    fn parse(from: &mut Parser) -> Self {
        let is_true = from.word(b"true");
        if !is_true && !from.word(b"false") {
            from.fail_type(&Self::TYPE)
        }
        is_true
    }

    fn write(&self, out: &mut Buffer) {
        out.push(if *self { b"true" } else { b"false" })
    }
}

fn topic_of(number: u64, sign: u8, to: &mut [u8; 32]) -> bool {
    *to = [sign; 32];
    to[24..].copy_from_slice(&number.to_be_bytes());
    true
}

macro_rules! unsigned {
    ($($t:ident)*) => { $(
        impl Value for $t {
            const TYPE: Type = Type::of(stringify!($t));

            fn parse(from: &mut Parser) -> Self {
                match from.integer() {
                    Some((false, number)) if number <= $t::MAX as u64 => number as $t,
                    _ => from.fail_type(&Self::TYPE),
                }
            }

            fn write(&self, out: &mut Buffer) {
                json::write_integer(false, *self as u64, out)
            }

            fn topic(&self, to: &mut [u8; 32]) -> bool {
                topic_of(*self as u64, 0, to)
            }
        }
    )* };
}
unsigned!(u8 u32 u64);

impl Value for i64 {
    const TYPE: Type = Type::of("i64");

    fn parse(from: &mut Parser) -> Self {
        match from.integer() {
            Some((false, number)) if number <= i64::MAX as u64 => number as i64,
            Some((true, number)) if number <= 1 << 63 => (number as i64).wrapping_neg(),
            _ => from.fail_type(&Self::TYPE),
        }
    }

    fn write(&self, out: &mut Buffer) {
        json::write_integer(*self < 0, self.unsigned_abs(), out)
    }

    fn topic(&self, to: &mut [u8; 32]) -> bool {
        topic_of(*self as u64, if *self < 0 { 0xff } else { 0 }, to)
    }
}

impl Value for Str {
    const TYPE: Type = Type::of("string");

    fn parse(from: &mut Parser) -> Self {
        match from.string() {
            Some(bytes) => match json::utf8(bytes) {
                Some(text) => text,
                None => from.fail("not UTF-8"),
            },
            None => from.fail_type(&Self::TYPE),
        }
    }

    fn write(&self, out: &mut Buffer) {
        json::write_string(self, out)
    }
}

impl Value for Bytes {
    const TYPE: Type = Type::of("bytes");

    fn parse(from: &mut Parser) -> Self {
        match from.hex() {
            Some(bytes) => Bytes(bytes),
            None => from.fail_type(&Self::TYPE),
        }
    }

    fn write(&self, out: &mut Buffer) {
        json::write_hex(self.0, out)
    }
}

macro_rules! digests {
    ($($t:ident $name:literal)*) => { $(
        impl Value for $t {
            const TYPE: Type = Type::of($name);

            fn parse(from: &mut Parser) -> Self {
                match from.hex().map(<&[u8; 32]>::try_from) {
                    Some(Ok(bytes)) => $t(bytes),
                    _ => from.fail_type(&Self::TYPE),
                }
            }

            fn write(&self, out: &mut Buffer) {
                json::write_hex(self.0, out)
            }

            fn topic(&self, to: &mut [u8; 32]) -> bool {
                *to = *self.0;
                true
            }
        }
    )* };
}
digests!(Account "account" Hash "hash");

impl<T: Value + 'static> Value for &'static [T] {
    const TYPE: Type = T::TYPE.then("[]");

    fn parse(from: &mut Parser) -> Self {
        match from.list() {
            Some(items) => items,
            None => from.fail_type(&Self::TYPE),
        }
    }

    fn write(&self, out: &mut Buffer) {
        out.push(b"[");
        for (i, item) in self.iter().enumerate() {
            if i > 0 {
                out.push(b",")
            }
            item.write(out);
        }
        out.push(b"]");
    }
}

impl<T: Value> Value for Option<T> {
    const TYPE: Type = T::TYPE.then("?");

    fn parse(from: &mut Parser) -> Self {
        if from.word(b"null") {
            return None;
        }
        Some(T::parse(from))
    }

    fn write(&self, out: &mut Buffer) {
        match self {
            Some(value) => value.write(out),
            None => out.push(b"null"),
        }
    }

    fn missing(_: &Parser) -> Self {
        None
    }
}
