import { CodecError, decode, encode } from "./codec.js";
import { equalBytes, from32, fromHex, toHex, type Hash, type Hex } from "./hex.js";
import { MAX_INPUT } from "./policy.js";
import { PATH_BITS, TAG_PATH, TAG_VALUE, bit, bytesOf, digestOf, hashBytes, leaf, node, type Digest } from "./poseidon.js";

const MAX_KEY = 289;
const MAX_VALUE = 16_384;

/** MerkleProof proves the state's value under a key, or its absence. The siblings begin with the root's child. */
export interface MerkleProof {
  key: Hex;
  /** null if absent */
  value: Hex | null;
  siblings: Hash[];
  /** the end of the path to the key: the key's leaf, nothing, or another key's leaf */
  end: { type: "leaf" } | { type: "empty" } | { type: "other"; path: Hash; valueHash: Hash };
}

const ENDS = ["leaf", "empty", "other"] as const;

export function encodeMerkleProof({ key, value, siblings, end }: MerkleProof): Uint8Array {
  return encode((w) => {
    w.bytes(fromHex(key)).bytes(fromHex(value ?? "0x")).list(siblings, (w, sibling) => w.fixed(from32(sibling), 32));
    w.u32(ENDS.indexOf(end.type));
    if (end.type === "other") w.fixed(from32(end.path), 32).fixed(from32(end.valueHash), 32);
  });
}

/** decodeMerkleProof reads a Merkle proof, strictly. It throws a CodecError. */
export function decodeMerkleProof(bytes: Uint8Array): MerkleProof {
  return decode(bytes, MAX_INPUT, (r) => {
    const [key, value] = [toHex(r.bytes(MAX_KEY)), toHex(r.bytes(MAX_VALUE))];
    const siblings = r.list(PATH_BITS, (r) => toHex(r.fixed(32)));
    const variant = r.u32();
    const type = ENDS[variant];
    if (type === undefined) throw new CodecError(`end ${variant} of a proof is unknown`);
    const end = type === "other" ? { type, path: toHex(r.fixed(32)), valueHash: toHex(r.fixed(32)) } : { type };
    return { key, value: value === "0x" ? null : value, siblings, end };
  });
}

/** merkleFault returns why a proof is invalid under a state root; undefined if it is valid. */
export function merkleFault(stateRoot: Hash, proof: MerkleProof): string | undefined {
  if (proof.siblings.length > PATH_BITS || proof.key.length > 2 * MAX_KEY + 2 || (proof.value?.length ?? 0) > 2 * MAX_VALUE + 2) {
    return "it is longer than any valid one";
  }
  try {
    const root = rootOf(proof);
    return equalBytes(root, from32(stateRoot)) ? undefined : "it is of another root, or of another value";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** rootOf returns the root that follows from the key, the value and the proof. */
function rootOf({ key, value, siblings, end }: MerkleProof): Uint8Array {
  const path = hashBytes(TAG_PATH, fromHex(key));
  let here = endOf(path, value, end, siblings.length);
  for (let depth = siblings.length - 1; depth >= 0; depth--) {
    const beside = digestOf(from32(siblings[depth]!));
    here = bit(path, depth) === 0 ? node(here, beside) : node(beside, here);
  }
  return bytesOf(here);
}

/** endOf returns the digest of the end of a path, at a depth. */
function endOf(path: Digest, value: Hex | null, end: MerkleProof["end"], depth: number): Digest {
  const bytes = value === null ? undefined : fromHex(value);
  switch (end.type) {
    case "leaf":
      if (!bytes?.length) throw new CodecError("a leaf without a value");
      return leaf(path, hashBytes(TAG_VALUE, bytes));
    case "empty":
    case "other":
      if (bytes) throw new CodecError("a value of a key that is absent");
      return end.type === "empty" ? new Uint32Array(8) : otherLeaf(path, end, depth);
  }
  throw new CodecError("the end of the proof is unknown");
}

function otherLeaf(path: Digest, end: { path: Hash; valueHash: Hash }, depth: number): Digest {
  const other = digestOf(from32(end.path));
  let common = 0;
  while (common < PATH_BITS && bit(path, common) === bit(other, common)) common++;
  if (common < depth || common === PATH_BITS) throw new CodecError("the other leaf does not show the key's absence");
  return leaf(other, digestOf(from32(end.valueHash)));
}
