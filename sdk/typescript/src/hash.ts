import { sha256 } from "@noble/hashes/sha2.js";
import { concat } from "./hex.js";

export { sha256 };

/** tagged computes BIP-340's tagged hash: SHA256(SHA256(tag) ‖ SHA256(tag) ‖ message). */
export function tagged(tag: string, ...message: Uint8Array[]): Uint8Array {
  const of = sha256(new TextEncoder().encode(tag));
  return sha256(concat(of, of, ...message));
}
