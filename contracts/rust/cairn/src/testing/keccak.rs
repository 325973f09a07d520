//! Keccak-256 with its original padding instead of SHA-3's (FIPS 202 has the permutation), for the chain in memory.

const ROUNDS: [u64; 24] = [
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
];
/// For each step from lane 1 on: the lane's destination (pi), and the rotation of the lane that it displaces (rho).
const TO: [usize; 24] = [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1];
const BY: [u32; 24] = [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44];
const RATE: usize = 136; // bytes

pub(super) fn sum(message: &[u8]) -> [u8; 32] {
    let mut padded = message.to_vec();
    padded.push(1);
    while padded.len() % RATE != 0 {
        padded.push(0)
    }
    *padded.last_mut().expect("a block") |= 0x80;
    let mut state = [0_u64; 25];
    for block in padded.chunks(RATE) {
        for (lane, bytes) in state.iter_mut().zip(block.chunks(8)) {
            *lane ^= u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        }
        permute(&mut state)
    }
    let mut out = [0; 32];
    for (bytes, lane) in out.chunks_mut(8).zip(state) {
        bytes.copy_from_slice(&lane.to_le_bytes())
    }
    out
}

fn permute(a: &mut [u64; 25]) {
    for constant in ROUNDS {
        let column = |a: &[u64; 25], x: usize| a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        let c = [0, 1, 2, 3, 4].map(|x| column(a, x));
        for (i, lane) in a.iter_mut().enumerate() {
            *lane ^= c[(i + 4) % 5] ^ c[(i + 1) % 5].rotate_left(1)
        }
        let mut moving = a[1];
        for (to, by) in TO.into_iter().zip(BY) {
            let there = a[to];
            a[to] = moving.rotate_left(by);
            moving = there
        }
        for row in a.chunks_mut(5) {
            let r = [row[0], row[1], row[2], row[3], row[4]];
            for (x, lane) in row.iter_mut().enumerate() {
                *lane = r[x] ^ !r[(x + 1) % 5] & r[(x + 2) % 5]
            }
        }
        a[0] ^= constant
    }
}
