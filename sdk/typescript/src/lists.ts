import { decode, encode } from "./codec.js";
import { concat, equalBytes, from32, fromHex, toHex, type Hash } from "./hex.js";
import { MAX_INPUT } from "./policy.js";
import {
  TAG_RECEIPT, TAG_RECEIPTS, TAG_TRANSACTION, TAG_TRANSACTIONS, bytesOf, digestOf, node, pair, sponge, type Digest,
} from "./poseidon.js";
import { receiptDetails, type ChainReceipt } from "./receipt.js";
import { transactionHash, type SignedTransaction } from "./transaction.js";
import { witnessDigest } from "./witness.js";

const MAX_LEAVES = 2 ** 18;
const MAX_SIBLINGS = 18;

/** The list of a block to which a root or a proof belongs. */
export type List = "transactions" | "receipts";

/** transactionLeaf returns the leaf of a transaction in its block's transactions root. */
export function transactionLeaf(tx: SignedTransaction, hash: Hash = transactionHash(tx)): Hash {
  const { witness, payerWitness } = tx;
  const plain = witness.type === "key" && payerWitness === null;
  const behind = plain ? fromHex(witness.signature) : from32(witnessDigest(witness, payerWitness));
  const covered = concat(from32(hash), behind);
  return toHex(bytesOf(sponge(TAG_TRANSACTION, covered.length, pair(covered))));
}

/** receiptLeaf returns the leaf of a receipt in its block's receipts root. */
export function receiptLeaf(receipt: ChainReceipt): Hash {
  const { status, gasUsed: gas } = receipt;
  const limbs = [0n, 16n, 32n].map((shift) => Number((gas >> shift) & 0xffffn));
  if (gas >> 48n !== 0n) throw new RangeError(`no block has a receipt of ${gas} gas`);
  return toHex(bytesOf(sponge(TAG_RECEIPT, 20, [...pair(from32(receiptDetails(receipt))), status, ...limbs])));
}

/** levels returns the digests of the tree over leaves, level by level, beginning with the leaves. */
function levels(leaves: readonly Digest[]): Digest[][] {
  let level = [...leaves];
  while (level.length === 0 || (level.length & (level.length - 1)) !== 0) level.push(new Uint32Array(8));
  const all = [level];
  while (level.length > 1) {
    const below = level;
    level = Array.from({ length: below.length / 2 }, (_, i) => node(below[2 * i]!, below[2 * i + 1]!));
    all.push(level);
  }
  return all;
}

function rootOf(list: List, n: number, top: Digest): Hash {
  return toHex(bytesOf(sponge(list === "transactions" ? TAG_TRANSACTIONS : TAG_RECEIPTS, n, top)));
}

/**
 * listRoot returns the root of a block's list from all of its leaves. It throws a CodecError if a leaf is not a digest.
 */
export function listRoot(list: List, leaves: readonly Hash[]): Hash {
  return rootOf(list, leaves.length, levels(leaves.map((leaf) => digestOf(from32(leaf)))).at(-1)![0]!);
}

/** InclusionProof proves that a leaf has a position in a block's list of `n`. The siblings go from the leaf up. */
export interface InclusionProof {
  number: number;
  n: number;
  leaf: Hash;
  siblings: Hash[];
}

export function encodeInclusionProof({ number, n, leaf, siblings }: InclusionProof): Uint8Array {
  return encode((w) => w.u32(number).u32(n).fixed(from32(leaf), 32).list(siblings, (w, sibling) => w.fixed(from32(sibling), 32)));
}

/** decodeInclusionProof reads an inclusion proof, strictly. It throws a CodecError. */
export function decodeInclusionProof(bytes: Uint8Array): InclusionProof {
  return decode(bytes, MAX_INPUT, (r) => ({
    number: r.u32(), n: r.u32(), leaf: toHex(r.fixed(32)), siblings: r.list(MAX_SIBLINGS, (r) => toHex(r.fixed(32))),
  }));
}

/** proveInclusion makes the inclusion proof of the leaf at a position. */
export function proveInclusion(leaves: readonly Hash[], number: number): InclusionProof {
  const leaf = leaves[number];
  if (leaf === undefined) throw new RangeError(`there is no leaf ${number} of ${leaves.length}`);
  const tree = levels(leaves.map((leaf) => digestOf(from32(leaf)))).slice(0, -1);
  return { number, n: leaves.length, leaf, siblings: tree.map((level, height) => toHex(bytesOf(level[(number >> height) ^ 1]!))) };
}

/** inclusionHolds reports whether a proof is valid under the root of a list. */
export function inclusionHolds(list: List, root: Hash, { number, n, leaf, siblings }: InclusionProof): boolean {
  if (n < 1 || n >= MAX_LEAVES || number >= n || siblings.length !== Math.ceil(Math.log2(n))) return false;
  try {
    let here = digestOf(from32(leaf));
    for (const [height, sibling] of siblings.entries()) {
      const beside = digestOf(from32(sibling));
      here = (number >>> height) & 1 ? node(beside, here) : node(here, beside);
    }
    return equalBytes(from32(rootOf(list, n, here)), from32(root));
  } catch {
    return false; // an element is not below the modulus, or the text is not hex
  }
}
