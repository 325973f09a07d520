// A state tree by docs/protocol.md, from the entries in the vectors.
import { toHex, type Hash } from "@cairn-chain/sdk";
import type { MerkleProof } from "@cairn-chain/sdk/verify";
import { TAG_PATH, TAG_VALUE, bit, bytesOf, hashBytes, leaf, node, type Digest } from "../dist/poseidon.js";
import { bytes, hex } from "./vectors.js";

/** State is a state's entries, by key in hex without 0x. */
export type State = ReadonlyMap<string, Uint8Array>;

interface Entry {
  path: Digest;
  hash: Digest;
}

export const stateOf = (block: any): State => new Map(block.state.map(([key, value]: [string, string]) => [key, bytes(value)]));

const entriesOf = (state: State): Entry[] => [...state].map(([key, value]) => ({ path: hashBytes(TAG_PATH, bytes(key)), hash: hashBytes(TAG_VALUE, value) }));

/** root returns the root of a part of the tree. */
function root(entries: Entry[], depth: number): Digest {
  if (entries.length === 0) return new Uint32Array(8);
  if (entries.length === 1) return leaf(entries[0]!.path, entries[0]!.hash);
  const [left, right] = [0, 1].map((side) => entries.filter(({ path }) => bit(path, depth) === side));
  return node(root(left!, depth + 1), root(right!, depth + 1));
}

export const stateRoot = (state: State): Hash => toHex(bytesOf(root(entriesOf(state), 0)));

/** proveKey makes the Merkle proof of a key that has a value. */
export function proveKey(state: State, key: string): MerkleProof {
  const path = hashBytes(TAG_PATH, bytes(key));
  const siblings: Hash[] = [];
  let entries = entriesOf(state);
  for (let depth = 0; entries.length > 1; depth++) {
    const beside = entries.filter((entry) => bit(entry.path, depth) !== bit(path, depth));
    siblings.push(toHex(bytesOf(root(beside, depth + 1))));
    entries = entries.filter((entry) => bit(entry.path, depth) === bit(path, depth));
  }
  return { key: hex(key), value: toHex(state.get(key)!), siblings, end: { type: "leaf" } };
}
