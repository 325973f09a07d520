import { sha256, tagged } from "./hash.js";
import { concat, from32, fromHex, toHex, type Account, type Hex } from "./hex.js";
import { LIMITS } from "./transaction.js";
import type { Sighash } from "./witness.js";

const zeros = (length: number): Uint8Array => new Uint8Array(length);
const double = (bytes: Uint8Array): Uint8Array => sha256(sha256(bytes));

/**
 * bip322Message returns the 32 bytes that a taproot key signs, by BIP-340, for a text under BIP-322 *simple*
 * (docs/protocol.md, "Text").
 */
export function bip322Message(key: Account, text: string, sighash: Sighash): Uint8Array {
  const messageHash = tagged("BIP0322-signed-message", new TextEncoder().encode(text));
  const script = concat(fromHex("0x5120"), from32(key));
  const toSpend = concat(
    fromHex("0x0000000001"), zeros(32), fromHex("0xffffffff220020"), messageHash, fromHex("0x0000000001"), zeros(8), fromHex("0x22"), script,
    zeros(4),
  );
  const previous = concat(double(toSpend), zeros(4));
  return tagged(
    "TapSighash", Uint8Array.of(0, sighash), zeros(8), sha256(previous), sha256(zeros(8)), sha256(concat(fromHex("0x22"), script)),
    sha256(zeros(4)), sha256(concat(zeros(8), fromHex("0x016a"))), zeros(5),
  );
}

/** fitsText reports whether a text is short enough to be signed: at most 4,096 bytes. */
export function fitsText(text: string): boolean {
  return new TextEncoder().encode(text).length <= LIMITS.text;
}

/**
 * parseTextSignature reads a wallet's signature of a text: base64 of a witness with one taproot signature, optionally
 * after the prefix `smp`. It throws a TypeError for anything else, such as a signature of another kind of address.
 */
export function parseTextSignature(base64: string): { signature: Hex; sighash: Sighash } {
  const text = base64.trim().replace(/^smp/, "");
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    throw new TypeError("the wallet's signature is not base64");
  }
  if (bytes.length === 66 && bytes[0] === 1 && bytes[1] === 64) return { signature: toHex(bytes.subarray(2)), sighash: 0 };
  if (bytes.length === 67 && bytes[0] === 1 && bytes[1] === 65 && bytes[66] === 1) {
    return { signature: toHex(bytes.subarray(2, 66)), sighash: 1 };
  }
  throw new TypeError("the wallet gave no BIP-322 signature by one taproot key: choose a taproot address, and BIP-322 “simple”");
}

/** formatTextSignature writes a signature of a text in the form of wallets. */
export function formatTextSignature({ signature, sighash }: { signature: Hex; sighash: Sighash }): string {
  const bytes = fromHex(signature);
  const witness = sighash === 0 ? concat(Uint8Array.of(1, 64), bytes) : concat(Uint8Array.of(1, 65), bytes, Uint8Array.of(1));
  return btoa(String.fromCharCode(...witness));
}
