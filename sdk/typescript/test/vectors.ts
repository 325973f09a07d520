import { readFileSync } from "node:fs";

/** docs/vectors.json of the repository: this file lies in build/ once compiled. */
export const vectors = JSON.parse(readFileSync(new URL("../../../docs/vectors.json", import.meta.url), "utf8"));

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
