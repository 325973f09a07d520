//! The types of arguments, results and fields of events, with their JSON and binary forms.

use crate::abi::Type;
use crate::{heap, json, Buffer, Parser, Reader};

/// Text.
pub type Str = &'static str;

/// An account: a user's (its public key) or a contract's (its ID).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Account(pub &'static [u8; 32]);

impl Account {
    /// The zero account, which nobody owns. Tokens are minted from it and burned to it.
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

/// Any number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bytes(pub &'static [u8]);

/// N bytes, 1 to 256.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedBytes<const N: usize>(pub &'static [u8; N]);

/// A type of arguments, results and fields of events: bool, u8 to u128, i8 to i128, [`Str`], [`Bytes`], [`FixedBytes`],
/// [`Account`], [`Hash`], the records and enums of the contract's `types`, tuples of 2 to 4 of these, and lists
/// (`&'static [T]`) and options (`Option<T>`) of these.
pub trait Value: Sized {
    /// The name of the type in the ABI.
    #[doc(hidden)]
    const TYPE: Type;

    /// Reads the value from well-formed JSON; reverts if it has another type.
    fn parse(from: &mut Parser) -> Self;

    /// Appends the value's JSON.
    fn write(&self, out: &mut Buffer);

    /// Reads the value from its binary form; reverts if it has another type.
    fn unpack(from: &mut Reader) -> Self;

    /// Appends the value's binary form.
    fn pack(&self, out: &mut Buffer);

    /// The value of an argument that was not given.
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

    fn unpack(from: &mut Reader) -> Self {
        from.flag()
    }

    fn pack(&self, out: &mut Buffer) {
        out.push_array(&[*self as u8])
    }
}

fn topic_of(number: u64, negative: bool, to: &mut [u8; 32]) -> bool {
    wide_topic_of((number as u128) | if negative { !(u64::MAX as u128) } else { 0 }, negative, to)
}

fn wide_topic_of(number: u128, negative: bool, to: &mut [u8; 32]) -> bool {
    let fill = if negative { u64::MAX } else { 0 };
    let words = to.as_mut_ptr().cast::<u64>();
    unsafe {
        words.write_unaligned(fill);
        words.add(1).write_unaligned(fill);
        words.add(2).write_unaligned(((number >> 64) as u64).to_be());
        words.add(3).write_unaligned((number as u64).to_be());
    }
    true
}

macro_rules! unsigned {
    ($(($t:ident $wide:ident $read:ident $write:ident $topic:ident))*) => { $(
        impl Value for $t {
            const TYPE: Type = Type::of(stringify!($t));

            fn parse(from: &mut Parser) -> Self {
                match from.$read() {
                    Some((false, number)) if number <= $t::MAX as $wide => number as $t,
                    _ => from.fail_type(&Self::TYPE),
                }
            }

            fn write(&self, out: &mut Buffer) {
                json::$write(false, *self as $wide, out)
            }

            #[inline(always)]
            fn unpack(from: &mut Reader) -> Self {
                $t::from_le_bytes(*from.fixed())
            }

            #[inline]
            fn pack(&self, out: &mut Buffer) {
                out.push_array(&self.to_le_bytes())
            }

            fn topic(&self, to: &mut [u8; 32]) -> bool {
                $topic(*self as $wide, false, to)
            }
        }
    )* };
}

macro_rules! signed {
    ($(($t:ident $wide:ident $read:ident $write:ident $topic:ident))*) => { $(
        impl Value for $t {
            const TYPE: Type = Type::of(stringify!($t));

            fn parse(from: &mut Parser) -> Self {
                match from.$read() {
                    Some((false, number)) if number <= $t::MAX as $wide => number as $t,
                    Some((true, number)) if number <= $t::MAX as $wide + 1 => (number as $t).wrapping_neg(),
                    _ => from.fail_type(&Self::TYPE),
                }
            }

            fn write(&self, out: &mut Buffer) {
                json::$write(*self < 0, self.unsigned_abs() as $wide, out)
            }

            #[inline(always)]
            fn unpack(from: &mut Reader) -> Self {
                $t::from_le_bytes(*from.fixed())
            }

            #[inline]
            fn pack(&self, out: &mut Buffer) {
                out.push_array(&self.to_le_bytes())
            }

            fn topic(&self, to: &mut [u8; 32]) -> bool {
                $topic(*self as $wide, *self < 0, to)
            }
        }
    )* };
}

unsigned! {
    (u8 u64 integer write_integer topic_of) (u16 u64 integer write_integer topic_of)
    (u32 u64 integer write_integer topic_of) (u64 u64 integer write_integer topic_of)
    (u128 u128 wide_integer write_wide wide_topic_of)
}
signed! {
    (i8 u64 integer write_integer topic_of) (i16 u64 integer write_integer topic_of)
    (i32 u64 integer write_integer topic_of) (i64 u64 integer write_integer topic_of)
    (i128 u128 wide_integer write_wide wide_topic_of)
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

    fn unpack(from: &mut Reader) -> Self {
        let n = from.count();
        match json::utf8(from.take(n)) {
            Some(text) => text,
            None => from.fail(),
        }
    }

    fn pack(&self, out: &mut Buffer) {
        pack_bytes(self.as_bytes(), out)
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

    fn unpack(from: &mut Reader) -> Self {
        let n = from.count();
        Bytes(from.take(n))
    }

    fn pack(&self, out: &mut Buffer) {
        pack_bytes(self.0, out)
    }
}

fn pack_bytes(bytes: &[u8], out: &mut Buffer) {
    out.push_array(&(bytes.len() as u64).to_le_bytes());
    out.push(bytes)
}

impl<const N: usize> Value for FixedBytes<N> {
    const TYPE: Type = Type::fixed_bytes(N);

    fn parse(from: &mut Parser) -> Self {
        match from.hex().map(<&[u8; N]>::try_from) {
            Some(Ok(bytes)) => FixedBytes(bytes),
            _ => from.fail_type(&Self::TYPE),
        }
    }

    fn write(&self, out: &mut Buffer) {
        json::write_hex(self.0, out)
    }

    fn unpack(from: &mut Reader) -> Self {
        FixedBytes(from.fixed())
    }

    fn pack(&self, out: &mut Buffer) {
        out.push_array(self.0)
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

            #[inline(always)]
            fn unpack(from: &mut Reader) -> Self {
                $t(from.fixed())
            }

            #[inline]
            fn pack(&self, out: &mut Buffer) {
                out.push_array(self.0)
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

    fn unpack(from: &mut Reader) -> Self {
        let n = from.count();
        heap::list(n, |_| T::unpack(from))
    }

    fn pack(&self, out: &mut Buffer) {
        out.push_array(&(self.len() as u64).to_le_bytes());
        for item in self.iter() {
            item.pack(out)
        }
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

    fn unpack(from: &mut Reader) -> Self {
        if from.flag() { Some(T::unpack(from)) } else { None }
    }

    fn pack(&self, out: &mut Buffer) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out)
        }
    }

    fn missing(_: &Parser) -> Self {
        None
    }
}

macro_rules! tuples {
    ($(($first:ident $($t:ident $n:tt),+))*) => { $(
        impl<$first: Value, $($t: Value),+> Value for ($first, $($t,)+) {
            const TYPE: Type = Type::of("(").with(&$first::TYPE)$(.then(",").with(&$t::TYPE))+.then(")");

            fn parse(from: &mut Parser) -> Self {
                let wanted = [1, $($n),+].len();
                if !from.begins_list(wanted) {
                    from.fail_type(&Self::TYPE)
                }
                (from.item(), $(from.item::<$t>(),)+)
            }

            fn write(&self, out: &mut Buffer) {
                out.push(b"[");
                self.0.write(out);
                $(
                    out.push(b",");
                    self.$n.write(out);
                )+
                out.push(b"]");
            }

            fn unpack(from: &mut Reader) -> Self {
                ($first::unpack(from), $($t::unpack(from),)+)
            }

            fn pack(&self, out: &mut Buffer) {
                self.0.pack(out);
                $(self.$n.pack(out);)+
            }
        }
    )* };
}
tuples!((A B 1) (A B 1, C 2) (A B 1, C 2, D 3));

/// The ABI type of a value. It is a function, so that the compiler reports a wrong type at its place in the contract
/// instead of at the whole macro.
#[doc(hidden)]
pub const fn type_of<T: Value>() -> Type {
    T::TYPE
}
