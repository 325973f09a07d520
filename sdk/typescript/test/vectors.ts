import { readFileSync } from "node:fs";
import { parseJSON, fromHex, type Hex } from "@cairn-chain/sdk";

/** docs/vectors.json of the repository, with its large integers as bigint: this file lies in build/ once compiled. */
const text = readFileSync(new URL("../../../docs/vectors.json", import.meta.url), "utf8");
export const vectors: any = parseJSON(text);
/** numbered are the vectors with all integers as numbers, which JSON.stringify takes. */
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

/** hex is what the vectors write without 0x. */
export const hex = (digits: string): Hex => `0x${digits}`;
export const bytes = (digits: string): Uint8Array => fromHex(hex(digits));

/** bytesOf is a member that may be given in pairs of bytes and times, because it is long. */
export function bytesOf(vector: any, name: string): Uint8Array {
  if (vector[name] !== undefined) return bytes(vector[name]);
  return bytes(vector[`${name}_runs`].map(([of, times]: [string, number]) => of.repeat(times)).join(""));
}
