// Package codec reads and writes Cairn's one canonical binary encoding: the layout of Rust's bincode 1.3
// `serialize` (fixed-width little-endian integers, a u64 length before byte vectors, strings and sequences,
// a u32 before an enum variant, one byte 0 or 1 before an Option, arrays and structs without a length).
//
// Decoding is strict: for every input b that a decoder accepts, encoding the result gives b again. Rust's own
// `deserialize` ignores trailing bytes; [Decoder.Finish] refuses them.
package codec
