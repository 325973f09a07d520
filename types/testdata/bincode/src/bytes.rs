//! Byte arrays and vectors. In bincode they equal Rust's own `[u8; N]` (a tuple, without a length) and `Vec<u8>`. In
//! JSON, which only describes the values, they are hex.

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{Formatter, Result as FmtResult, Write};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string can be written");
        text
    })
}

/// An array of N bytes. serde implements arrays only up to 32 elements; this does the same for every N.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<const N: usize>(pub [u8; N]);

impl<const N: usize> Serialize for Array<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.serialize_str(&hex(&self.0));
        }
        let mut tuple = serializer.serialize_tuple(N)?;
        for byte in &self.0 {
            tuple.serialize_element(byte)?;
        }
        tuple.end()
    }
}

impl<'de, const N: usize> Deserialize<'de> for Array<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArrayVisitor<const N: usize>;
        impl<'de, const N: usize> Visitor<'de> for ArrayVisitor<N> {
            type Value = Array<N>;
            fn expecting(&self, f: &mut Formatter) -> FmtResult {
                write!(f, "{N} bytes")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut array = [0; N];
                for (i, byte) in array.iter_mut().enumerate() {
                    *byte = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(i, &self))?;
                }
                Ok(Array(array))
            }
        }
        deserializer.deserialize_tuple(N, ArrayVisitor)
    }
}

/// A byte vector: `Vec<u8>`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(transparent)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.serialize_str(&hex(&self.0));
        }
        self.0.serialize(serializer)
    }
}

pub fn to_hex<T: Serialize>(value: &T) -> String {
    hex(&bincode::serialize(value).expect("every value can be encoded"))
}
