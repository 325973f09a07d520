import { readFileSync } from "node:fs";
import { parseJSON, fromHex, type Hex } from "@cairn-chain/sdk";

/**
 * The repository's docs/vectors.json, with large integers as bigint. The path starts from build/, where this file is
 * compiled to.
 */
const text = readFileSync(new URL("../../../docs/vectors.json", import.meta.url), "utf8");
export const vectors: any = parseJSON(text);
/** numbered are the vectors with all integers as numbers, which JSON.stringify accepts. */
export const numbered: any = JSON.parse(text);

/** xorshift: the same pseudo-random numbers in every run, each below bound. */
export function random(seed: number): (bound: number) => number {
  let x = seed >>> 0 || 1;
  return (bound) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) % bound;
  };
}

/** hex adds 0x to the vectors' hex. */
export const hex = (digits: string): Hex => `0x${digits}`;
export const bytes = (digits: string): Uint8Array => fromHex(hex(digits));

/** bytesOf reads a member that, if long, is given as pairs of bytes and a repetition. */
export function bytesOf(vector: any, name: string): Uint8Array {
  if (vector[name] !== undefined) return bytes(vector[name]);
  return bytes(vector[`${name}_runs`].map(([of, times]: [string, number]) => of.repeat(times)).join(""));
}
