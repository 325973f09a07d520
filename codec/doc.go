// Package codec reads and writes Cairn's one canonical binary encoding, the layout of Rust's bincode 1.3 `serialize`.
// Integers are little-endian of fixed width, and byte vectors, strings and sequences have a u64 length before them. An
// enum variant has a u32 before it, an Option one byte 0 or 1, and arrays and structs have no length.
//
// Decoding is strict: for every input b that a decoder accepts, encoding the result gives b again. Rust's own
// `deserialize` ignores trailing bytes; [Decoder.Finish] refuses them.
package codec
