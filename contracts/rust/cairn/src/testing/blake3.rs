//! BLAKE3 with an output of 32 bytes and without a key (the BLAKE3 specification), for the chain in memory.

const IV: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const CHUNK: usize = 1024; // bytes
const BLOCK: usize = 64;
const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;

pub(super) fn sum(message: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (bytes, word) in out.chunks_mut(4).zip(node(message, 0, ROOT)) {
        bytes.copy_from_slice(&word.to_le_bytes())
    }
    out
}

/// The chaining value of data that follows the given number of chunks.
fn node(bytes: &[u8], before: u64, root: u32) -> [u32; 8] {
    if bytes.len() <= CHUNK {
        return chunk(bytes, before, root);
    }
    let mut left = CHUNK; // the largest power of two of whole chunks that leaves something to the right
    while left * 2 < bytes.len() {
        left *= 2
    }
    let mut block = [0; 16];
    block[..8].copy_from_slice(&node(&bytes[..left], before, 0));
    block[8..].copy_from_slice(&node(&bytes[left..], before + (left / CHUNK) as u64, 0));
    compress(IV, block, 0, BLOCK, PARENT | root)
}

fn chunk(bytes: &[u8], position: u64, root: u32) -> [u32; 8] {
    let mut value = IV;
    let blocks = bytes.len().max(1) / BLOCK + (bytes.len().max(1) % BLOCK != 0) as usize;
    for i in 0..blocks {
        let part = &bytes[i * BLOCK..bytes.len().min((i + 1) * BLOCK)];
        let mut padded = [0; BLOCK];
        padded[..part.len()].copy_from_slice(part);
        let mut block = [0; 16];
        for (word, four) in block.iter_mut().zip(padded.chunks(4)) {
            *word = u32::from_le_bytes(four.try_into().expect("four bytes"))
        }
        let mut flags = if i == 0 { CHUNK_START } else { 0 };
        if i + 1 == blocks {
            flags |= CHUNK_END | root
        }
        value = compress(value, block, position, part.len(), flags)
    }
    value
}

fn compress(value: [u32; 8], mut block: [u32; 16], counter: u64, len: usize, flags: u32) -> [u32; 8] {
    let mut v = [0; 16];
    v[..8].copy_from_slice(&value);
    v[8..12].copy_from_slice(&IV[..4]);
    v[12..].copy_from_slice(&[counter as u32, (counter >> 32) as u32, len as u32, flags]);
    for _ in 0..7 {
        for i in 0..4 {
            mix(&mut v, [i, i + 4, i + 8, i + 12], block[2 * i], block[2 * i + 1])
        }
        for i in 0..4 {
            let across = [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4];
            mix(&mut v, across, block[8 + 2 * i], block[9 + 2 * i])
        }
        block = PERMUTATION.map(|i| block[i])
    }
    let mut out = [0; 8];
    for (i, word) in out.iter_mut().enumerate() {
        *word = v[i] ^ v[i + 8]
    }
    out
}

fn mix(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    for (word, by_d, by_b) in [(x, 16, 12), (y, 8, 7)] {
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(word);
        v[d] = (v[d] ^ v[a]).rotate_right(by_d);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(by_b)
    }
}
