// Package codec reads and writes Cairn's only canonical binary encoding, the layout of Rust's bincode 1.3 `serialize`.
// Integers are little-endian with fixed width. Byte vectors, strings and sequences are preceded by a u64 length, enum
// variants by a u32, and Options by a byte 0 or 1. Arrays and structs have no prefix.
//
// Decoding is strict: for every input b that a decoder accepts, encoding the result gives b again. Rust's own
// `deserialize` ignores trailing bytes; [Decoder.Finish] refuses them.
package codec
