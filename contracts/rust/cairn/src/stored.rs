//! Typed storage.
//!
//! A key is the length of the name in one byte, the name, and for entries of maps and lists the bytes of the key or
//! index. So entries of different names never collide.

use core::marker::PhantomData;

use crate::abi::Type;
use crate::{host, require, Account, Buffer, Bytes, FixedBytes, Hash, OrRevert, Reader, Str, Value};

/// A type that storage can hold, as a value or in a key. The encoding is binary, without a type; integers are
/// little-endian, strings and bytes have their length before them (u16). [`record!`](crate::record) makes a struct one.
pub trait Stored: Sized {
    /// Appends the encoding.
    fn encode(&self, out: &mut Buffer);
    /// Reads the encoding back.
    fn decode(from: &mut Reader) -> Self;
}

const OTHER_TYPE: &str = "a stored value is of another type";

fn decode<T: Stored>(bytes: &'static [u8]) -> T {
    let mut reader = Reader::new(bytes, OTHER_TYPE);
    let value = T::decode(&mut reader);
    reader.end();
    value
}

macro_rules! stored_integers {
    ($($t:ty)*) => { $(
        impl Stored for $t {
            #[inline(always)]
            fn encode(&self, out: &mut Buffer) {
                out.push_array(&self.to_le_bytes())
            }
            #[inline(always)]
            fn decode(from: &mut Reader) -> Self {
                <$t>::from_le_bytes(*from.fixed())
            }
        }
    )* };
}
stored_integers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

impl Stored for bool {
    fn encode(&self, out: &mut Buffer) {
        out.push(&[*self as u8])
    }
    fn decode(from: &mut Reader) -> Self {
        from.take(1)[0] != 0
    }
}

macro_rules! stored_digests {
    ($($t:ident)*) => { $(
        impl Stored for $t {
            #[inline(always)]
            fn encode(&self, out: &mut Buffer) {
                out.push_array(self.0)
            }
            #[inline(always)]
            fn decode(from: &mut Reader) -> Self {
                $t(from.fixed())
            }
        }
    )* };
}
stored_digests!(Account Hash);

impl<const N: usize> Stored for FixedBytes<N> {
    fn encode(&self, out: &mut Buffer) {
        out.push_array(self.0)
    }
    fn decode(from: &mut Reader) -> Self {
        FixedBytes(from.fixed())
    }
}

#[inline(never)]
fn encode_bytes(bytes: &[u8], out: &mut Buffer) {
    require(bytes.len() <= u16::MAX as usize, "too long for storage");
    out.push(&(bytes.len() as u16).to_le_bytes());
    out.push(bytes);
}

#[inline(never)]
fn decode_bytes(from: &mut Reader) -> &'static [u8] {
    let n = u16::decode(from);
    from.take(n as usize)
}

impl Stored for Str {
    fn encode(&self, out: &mut Buffer) {
        encode_bytes(self.as_bytes(), out)
    }
    fn decode(from: &mut Reader) -> Self {
        crate::json::utf8(decode_bytes(from)).or_revert(OTHER_TYPE)
    }
}

impl Stored for Bytes {
    fn encode(&self, out: &mut Buffer) {
        encode_bytes(self.0, out)
    }
    fn decode(from: &mut Reader) -> Self {
        Bytes(decode_bytes(from))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn encode(&self, out: &mut Buffer) {
        self.is_some().encode(out);
        if let Some(value) = self {
            value.encode(out)
        }
    }
    fn decode(from: &mut Reader) -> Self {
        if bool::decode(from) { Some(T::decode(from)) } else { None }
    }
}

macro_rules! stored_tuples {
    ($(($($t:ident $n:tt),+))*) => { $(
        impl<$($t: Stored),+> Stored for ($($t,)+) {
            fn encode(&self, out: &mut Buffer) {
                $(self.$n.encode(out);)+
            }
            fn decode(from: &mut Reader) -> Self {
                ($($t::decode(from),)+)
            }
        }
    )* };
}
stored_tuples!((A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3));

/// Makes a struct that can be stored:
///
/// ```
/// # use cairn::*;
/// record! {
///     pub struct Offer { seller: Account, price: u64 }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$fm:meta])* $field:ident : $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        $vis struct $name { $($(#[$fm])* pub $field: $type),* }

        impl $crate::Stored for $name {
            fn encode(&self, out: &mut $crate::Buffer) {
                $($crate::Stored::encode(&self.$field, out);)*
            }
            fn decode(from: &mut $crate::Reader) -> Self {
                $(let $field = $crate::Stored::decode(from);)*
                $name { $($field),* }
            }
        }
    };
}

/// Begins a key with the name at the address `at`, the name of a value, map or list.
#[inline(always)]
fn begin_key<T>(name: &'static str, at: &T) -> Buffer {
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::used(name, at as *const T as usize);
    #[cfg(target_arch = "wasm32")]
    let _ = at;
    let mut key = Buffer::of_key();
    key.push_name(name);
    key
}

#[inline(always)]
fn key_of<K: Stored, T>(name: &'static str, at: &T, k: &K) -> Buffer {
    let mut key = begin_key(name, at);
    k.encode(&mut key);
    key
}

#[inline(never)]
fn find<T: Stored>(key: Buffer) -> Option<T> {
    host::read_at(key.written()).map(decode)
}

fn set<T: Stored>(key: Buffer, value: &T) {
    let mut bytes = Buffer::of_value();
    value.encode(&mut bytes);
    host::write_at(key.written(), bytes.written());
}

fn remove(key: Buffer) {
    host::storage_delete(key.written())
}

const fn checked(name: &'static str) -> &'static str {
    assert!(name.len() < 200, "a name of storage is too long: a key has at most 256 bytes");
    name
}

/// One stored value.
pub struct Cell<T> {
    name: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T: Stored> Cell<T> {
    /// The value of this name. No other cell, map or list of the contract may have the same name.
    pub const fn new(name: &'static str) -> Self {
        Cell { name: checked(name), of: PhantomData }
    }

    fn key(&self) -> Buffer {
        begin_key(self.name, self)
    }

    /// The value, if it was set.
    pub fn find(&self) -> Option<T> {
        find(self.key())
    }

    /// The value, or the type's default if it was not set.
    pub fn get(&self) -> T
    where
        T: Default,
    {
        self.find().unwrap_or_default()
    }

    /// Sets the value.
    pub fn set(&self, value: &T) {
        set(self.key(), value)
    }

    /// Removes the value.
    pub fn remove(&self) {
        remove(self.key())
    }
}

/// Stored values by key. The keys cannot be listed: keep a [`List`] of them if you need one.
pub struct Map<K, T> {
    name: &'static str,
    of: PhantomData<fn(K) -> T>,
}

impl<K: Stored, T: Stored> Map<K, T> {
    /// The map of this name. No other cell, map or list of the contract may have the same name.
    pub const fn new(name: &'static str) -> Self {
        Map { name: checked(name), of: PhantomData }
    }

    fn key(&self, k: &K) -> Buffer {
        key_of(self.name, self, k)
    }

    /// The value of a key, if there is one.
    pub fn find(&self, key: &K) -> Option<T> {
        find(self.key(key))
    }

    /// The value of a key, or the type's default if there is none.
    pub fn get(&self, key: &K) -> T
    where
        T: Default,
    {
        self.find(key).unwrap_or_default()
    }

    /// Sets the value of a key.
    pub fn set(&self, key: &K, value: &T) {
        set(self.key(key), value)
    }

    /// Removes a key and its value.
    pub fn remove(&self, key: &K) {
        remove(self.key(key))
    }
}

/// Stored values by index, from 0.
pub struct List<T> {
    name: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T: Stored> List<T> {
    /// The list of this name. No other cell, map or list of the contract may have the same name.
    pub const fn new(name: &'static str) -> Self {
        List { name: checked(name), of: PhantomData }
    }

    fn key(&self, index: u32) -> Buffer {
        key_of(self.name, self, &index)
    }

    fn set_len(&self, len: u32) {
        set(begin_key(self.name, self), &len)
    }

    /// The number of items.
    pub fn len(&self) -> u32 {
        find(begin_key(self.name, self)).unwrap_or(0)
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at an index, if there is one.
    pub fn get(&self, index: u32) -> Option<T> {
        find(self.key(index))
    }

    /// Sets the item at an index, which must exist.
    pub fn set(&self, index: u32, item: &T) {
        require(index < self.len(), "the list has no such item");
        set(self.key(index), item)
    }

    /// Appends an item and returns its index.
    pub fn push(&self, item: &T) -> u32 {
        let index = self.len();
        self.set_len(index.checked_add(1).or_revert("the list is full"));
        set(self.key(index), item);
        index
    }

    /// Removes the last item.
    pub fn pop(&self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        let item = self.get(last);
        remove(self.key(last));
        self.set_len(last);
        item
    }

    /// Removes the item at an index, which must exist, and puts the last item in its place.
    pub fn swap_remove(&self, index: u32) -> T {
        let removed = self.get(index).or_revert("the list has no such item");
        match self.pop() {
            Some(last) if index < self.len() => set(self.key(index), &last),
            _ => {}
        }
        removed
    }

    /// All items. The cost grows with their number, so do not let others increase it without limit.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len()).map(move |i| self.get(i).or_revert("the list has no such item"))
    }
}

/// The ABI's description of a cell, map or list that a contract's `storage` declares.
#[doc(hidden)]
pub trait Described {
    /// cell, map or list.
    const KIND: &'static str;
    /// The type of a map's keys; none otherwise.
    const KEY: Option<Type> = None;
    /// The type of the value, or of each value.
    const VALUE: Type;
}

impl<T: Stored + Value> Described for Cell<T> {
    const KIND: &'static str = "cell";
    const VALUE: Type = T::TYPE;
}

impl<K: Stored + Value, T: Stored + Value> Described for Map<K, T> {
    const KIND: &'static str = "map";
    const KEY: Option<Type> = Some(K::TYPE);
    const VALUE: Type = T::TYPE;
}

impl<T: Stored + Value> Described for List<T> {
    const KIND: &'static str = "list";
    const VALUE: Type = T::TYPE;
}
