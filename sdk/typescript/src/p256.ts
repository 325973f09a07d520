import { SignerError } from "./errors.js";
import { concat, toHex, type Hex } from "./hex.js";

/** The order of P-256's group. */
export const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

const number = (bytes: Uint8Array): bigint => (bytes.length === 0 ? 0n : BigInt(toHex(bytes)));
const fixed = (value: bigint): Hex => `0x${value.toString(16).padStart(64, "0")}`;

/**
 * rawSignature turns an ECDSA signature, r ‖ s of 64 bytes or DER, into r ‖ s with the lower of the two possible s, the
 * only one that the chain accepts. It throws a {@link SignerError} `not_p256`.
 */
export function rawSignature(bytes: Uint8Array): Hex {
  const [r, s] = bytes.length === 64 ? [number(bytes.subarray(0, 32)), number(bytes.subarray(32))] : fromDer(bytes);
  if (r < 1n || r >= P256_ORDER || s < 1n || s >= P256_ORDER) throw new SignerError("not_p256", "a number of the signature is out of range");
  const low = 2n * s > P256_ORDER ? P256_ORDER - s : s;
  return `${fixed(r)}${fixed(low).slice(2)}` as Hex;
}

/** fromDer reads the two numbers of a signature in DER: 30 LENGTH 02 LENGTH r 02 LENGTH s, all lengths below 128. */
function fromDer(bytes: Uint8Array): [bigint, bigint] {
  const refuse = (): never => {
    throw new SignerError("not_p256", "the signature is neither r ‖ s nor DER");
  };
  let at = 0;
  const next = (): number => bytes[at++] ?? refuse();
  const integer = (): bigint => {
    if (next() !== 0x02) return refuse();
    const length = next();
    const digits = bytes.subarray(at, at + length);
    at += length;
    const [first = 0x80, second = 0] = digits;
    if (digits.length !== length || length > 33 || first >= 0x80 || (first === 0 && length > 1 && second < 0x80)) return refuse();
    return number(digits);
  };
  if (next() !== 0x30 || next() !== bytes.length - 2) return refuse();
  const pair: [bigint, bigint] = [integer(), integer()];
  return at === bytes.length ? pair : refuse();
}

/**
 * pointOf returns the point x ‖ y of a P-256 public key in SPKI form, or uncompressed in 65 bytes. It throws a {@link
 * SignerError} `not_p256`.
 */
export function pointOf(key: Uint8Array): Hex {
  const point = key.subarray(-65);
  if (point.length !== 65 || point[0] !== 4 || (key.length !== 65 && key.length !== 91)) {
    throw new SignerError("not_p256", "the key is not an uncompressed one of P-256");
  }
  return toHex(point.subarray(1));
}

/** uncompressed returns a point in uncompressed form, with its leading byte. */
export function uncompressed(point: Uint8Array): Uint8Array {
  return concat(Uint8Array.of(4), point);
}
