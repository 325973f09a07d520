// Poseidon1 over KoalaBear (docs/protocol.md, "Hashes of state and lists"), one state at a time, in plain numbers.
import { CodecError } from "./codec.js";

/** The field's modulus. */
export const P = 2130706433;

const WIDTH = 16;
const RATE = 8;
const ROUNDS = 28;

/** A digest: 8 elements below P. */
export type Digest = Uint32Array;

export const [TAG_PATH, TAG_VALUE, TAG_LEAF, TAG_TRANSACTION, TAG_TRANSACTIONS, TAG_RECEIPT, TAG_RECEIPTS] = [1, 2, 3, 4, 5, 6, 7];

/** grain returns the round constants, from the LFSR of the Poseidon paper. */
function grain(): Uint32Array {
  const state: number[] = [];
  for (const [value, bits] of [[1, 2], [0, 4], [31, 12], [16, 12], [8, 10], [20, 10], [2 ** 30 - 1, 30]] as const) {
    for (let i = bits - 1; i >= 0; i--) state.push(Math.floor(value / 2 ** i) % 2);
  }
  const step = (): number => {
    const bit = [13, 23, 38, 51, 62].reduce((sum, i) => sum ^ state[i]!, state[0]!);
    state.shift();
    state.push(bit);
    return bit;
  };
  for (let i = 0; i < 160; i++) step();
  const bit = (): number => {
    for (;;) {
      const [first, second] = [step(), step()];
      if (first === 1) return second;
    }
  };
  const constants = new Uint32Array(ROUNDS * WIDTH);
  for (let i = 0; i < constants.length; ) {
    let element = 0;
    for (let k = 0; k < 31; k++) element = element * 2 + bit();
    if (element < P) constants[i++] = element;
  }
  return constants;
}

let made: Uint32Array | undefined;
/** roundConstants are computed at their first use. */
export function roundConstants(): Uint32Array {
  return (made ??= grain());
}

const row = [1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3];
/** The matrix, row after row. */
const MATRIX = Float64Array.from({ length: WIDTH * WIDTH }, (_, k) => row[((k % WIDTH) - Math.floor(k / WIDTH) + WIDTH) % WIDTH]!);
const INVERSE = 1 / P;

/** reduce returns x mod P, for x from 0 to 2^53. It is several times as fast as the operator %. */
function reduce(x: number): number {
  const rest = x - Math.floor(x * INVERSE) * P; // the quotient may be one too large or too small
  return rest < 0 ? rest + P : rest >= P ? rest - P : rest;
}

/** multiply returns a · b mod P, for a and b below P. No intermediate number exceeds 2^53. */
function multiply(a: number, b: number): number {
  const low = b & 0xffff;
  return reduce(reduce(a * ((b - low) / 65536)) * 65536 + a * low);
}

/** permute applies the permutation in place. */
export function permute(state: Uint32Array): void {
  const constants = roundConstants();
  const here = new Float64Array(WIDTH);
  const next = new Float64Array(WIDTH);
  here.set(state);
  for (let r = 0; r < ROUNDS; r++) {
    const full = r < 4 || r >= 24;
    for (let i = 0; i < WIDTH; i++) {
      let x = here[i]! + constants[WIDTH * r + i]!;
      if (x >= P) x -= P;
      here[i] = full || i === 0 ? multiply(multiply(x, x), x) : x;
    }
    for (let i = 0; i < WIDTH; i++) {
      let sum = 0; // below 16 · 101 · 2^31
      for (let j = 0; j < WIDTH; j++) sum += MATRIX[WIDTH * i + j]! * here[j]!;
      next[i] = reduce(sum);
    }
    here.set(next);
  }
  state.set(here);
}

/** sponge returns S(tag, n, e), the hash of elements under a tag and a length. */
export function sponge(tag: number, length: number, elements: ArrayLike<number>): Digest {
  const state = new Uint32Array(WIDTH);
  state[RATE] = tag;
  state[RATE + 1] = length;
  let at = 0;
  do {
    for (let i = 0; i < RATE && at < elements.length; i++, at++) state[i] = (state[i]! + elements[at]!) % P;
    permute(state);
  } while (at < elements.length);
  return state.slice(0, RATE);
}

/** hashBytes returns the hash of bytes under a tag, for a key's path or a value's hash. */
export function hashBytes(tag: number, bytes: Uint8Array): Digest {
  const elements = new Uint32Array(Math.ceil(bytes.length / 3));
  for (let i = 0; i < bytes.length; i++) elements[Math.floor(i / 3)]! += bytes[i]! << (8 * (i % 3));
  return sponge(tag, bytes.length, elements);
}

/** leaf returns the digest of an entry of the tree. */
export function leaf(path: Digest, valueHash: Digest): Digest {
  return sponge(TAG_LEAF, 2 * RATE, [...path, ...valueHash]);
}

/** node returns the digest of two child digests. */
export function node(left: Digest, right: Digest): Digest {
  const state = new Uint32Array(WIDTH);
  state.set(left);
  state.set(right, RATE);
  permute(state);
  return state.slice(0, RATE).map((e, i) => (e + left[i]!) % P);
}

/** pair converts every 2 bytes, big-endian, to an element. */
export function pair(bytes: Uint8Array): number[] {
  return Array.from({ length: bytes.length / 2 }, (_, i) => 256 * bytes[2 * i]! + bytes[2 * i + 1]!);
}

/** bytesOf returns a digest as bytes: 8 big-endian integers. */
export function bytesOf(digest: Digest): Uint8Array {
  const bytes = new Uint8Array(32);
  digest.forEach((e, i) => new DataView(bytes.buffer).setUint32(4 * i, e));
  return bytes;
}

/** digestOf reads the result of bytesOf. It throws a {@link CodecError} if an element is not below the modulus. */
export function digestOf(bytes: Uint8Array): Digest {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const digest = new Uint32Array(8).map((_, i) => view.getUint32(4 * i));
  if (digest.some((e) => e >= P)) throw new CodecError("a digest has an element that is not below the modulus");
  return digest;
}

/** The number of bits of a path in the state tree. */
export const PATH_BITS = 248;

/** bit returns the bit of a path at a depth. */
export const bit = (path: Digest, i: number): number => (path[Math.floor(i / 31)]! >>> (30 - (i % 31))) & 1;
