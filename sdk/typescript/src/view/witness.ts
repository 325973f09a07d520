import { CodecError, Reader } from "../codec.js";
import { PATH_BITS, TAG_PATH, TAG_VALUE, bit, bytesOf, digestOf, hashBytes, leaf, node, type Digest } from "../poseidon.js";

const [EMPTY, OWN, OTHER, BRANCH, DIGEST] = [0, 1, 2, 3, 4];

interface Reading {
  path: Digest;
  /** hash of the value; undefined for none */
  leaf: Digest | undefined;
}

const isZero = (digest: Digest): boolean => digest.every((e) => e === 0);

/**
 * witnessRoot returns the state root under which the keys, at least one, have exactly these values (docs/protocol.md,
 * "Proofs of views"). It throws a {@link CodecError} for a witness that does not belong to them.
 */
export function witnessRoot(witness: Uint8Array, values: { key: Uint8Array; value: Uint8Array | undefined }[]): Uint8Array {
  const r = new Reader(witness);
  const shapes = r.fixed(r.count(r.left));
  const digests: Digest[] = [];
  for (let count = r.count(Math.floor(r.left / 32)); count > 0; count--) {
    digests.push(digestOf(r.fixed(32)));
  }
  r.end();
  if (values.length === 0) throw new CodecError("a witness of no key");
  const readings = values.map(({ key, value }): Reading => {
    const path = hashBytes(TAG_PATH, key);
    return { path, leaf: value && leaf(path, hashBytes(TAG_VALUE, value)) };
  });
  let [shapeAt, digestAt] = [0, 0];
  const shape = (): number => {
    const s = shapes[shapeAt++];
    if (s === undefined) throw new CodecError("the witness lacks a shape");
    return s;
  };
  const digest = (): Digest => {
    const d = digests[digestAt++];
    if (!d) throw new CodecError("the witness lacks a digest");
    return d;
  };
  const touched = (here: Reading[], depth: number): Digest => {
    const s = shape();
    if (s === BRANCH) return branch(here, depth);
    const present = here.filter((reading) => reading.leaf);
    if (s === EMPTY && present.length === 0) return new Uint32Array(8);
    if (s === OWN && present.length === 1) return present[0]!.leaf!;
    if (s !== OTHER || present.length > 0) throw new CodecError(`the witness has shape ${s} where ${present.length} keys have values`);
    const [path, hash] = [digest(), digest()];
    for (const reading of here) {
      let common = 0;
      while (common < PATH_BITS && bit(path, common) === bit(reading.path, common)) common++;
      if (common < depth || common === PATH_BITS) throw new CodecError("a leaf of the witness does not show a key's absence");
    }
    return leaf(path, hash);
  };
  const untouched = (): Digest => {
    const s = shape();
    if (s === EMPTY) return new Uint32Array(8);
    const d = digest();
    if (s !== DIGEST || isZero(d)) throw new CodecError(`the witness has shape ${s} beside what was read`);
    return d;
  };
  const branch = (here: Reading[], depth: number): Digest => {
    if (depth === PATH_BITS) throw new CodecError("the witness is deeper than a path");
    const halves = [0, 1].map((side) => here.filter((reading) => bit(reading.path, depth) === side));
    const children = halves.map((half) => (half.length > 0 ? touched(half, depth + 1) : undefined));
    return node(children[0] ?? untouched(), children[1] ?? untouched());
  };
  const root = touched(readings, 0);
  if (shapeAt !== shapes.length || digestAt !== digests.length) throw new CodecError("parts of the witness are left over");
  return bytesOf(root);
}
