// Hashes and signatures, equal to the host functions of the same names (docs/protocol.md, "Host functions").
import { createHash } from "node:crypto";
import { blake3 as blake } from "@noble/hashes/blake3.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { p256 } from "@noble/curves/nist.js";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";

export const sha256 = (data) => createHash("sha256").update(data).digest();
export const keccak256 = (data) => Buffer.from(keccak_256(data));
export const blake3 = (data) => Buffer.from(blake(data));
export const schnorrVerify = (key, message, signature) => schnorr.verify(signature, message, key);

/** Recovers the key x ‖ y from a signature r ‖ s ‖ v of a hash; undefined if there is none. */
export function ecdsaRecover(hash, signature) {
  const v = signature[64];
  try {
    const parsed = secp256k1.Signature.fromBytes(signature.subarray(0, 64), "compact").addRecoveryBit(v);
    if (v > 1 || parsed.hasHighS()) return undefined;
    return Buffer.from(parsed.recoverPublicKey(hash).toBytes(false).subarray(1));
  } catch {
    return undefined;
  }
}

/** Whether r ‖ s is an ECDSA signature over P-256 of a digest by a point x ‖ y; with low only if s is at most n / 2. */
export function p256Verify(point, digest, signature, low = false) {
  try {
    return p256.verify(signature, digest, Buffer.concat([Buffer.of(4), point]), { lowS: low, prehash: false });
  } catch {
    return false;
  }
}

/** BIP-340's tagged hash. */
export function tagged(tag, ...parts) {
  const hash = sha256(tag);
  return sha256(Buffer.concat([hash, hash, ...parts]));
}
