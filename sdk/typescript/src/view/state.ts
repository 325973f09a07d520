import type { Client } from "../client.js";
import { Reader } from "../codec.js";
import type { SignedHeader } from "../block.js";
import { concat, equalBytes, from32, fromHex, toHex, type Account, type Hex } from "../hex.js";
import type { AccountProof, BlockRef } from "../generated.js";
import { TAG_PATH, TAG_VALUE, hashBytes, leaf, node, type Digest } from "./poseidon.js";
import { VerifyError, verifyHeader, type Trust } from "./trust.js";
import { PATH_BITS, bit, bytesOf, digestOf } from "./witness.js";

const MAX_VALUE_BYTES = 262_144; // of a code, the longest

/** What is asked of the state. `height` is the block after which; without it any block from `atLeast` on is taken. */
export interface StateQuestion {
  key: Uint8Array;
  height?: bigint;
  atLeast?: bigint;
}

/** What a Merkle proof shows: what is under a key after the block of `header`, null for nothing. */
export interface StateValue {
  header: SignedHeader;
  value: Uint8Array | null;
}

/**
 * verifyState checks a Merkle proof of a state key, or of its absence, under an encoded header that the producer signed
 * (docs/protocol.md, "State tree and proofs"). It throws a {@link VerifyError}.
 */
export function verifyState(trust: Trust, question: StateQuestion, encodedHeader: Uint8Array, proof: AccountProof): StateValue {
  try {
    if (proof.siblings.length > PATH_BITS || (proof.value?.length ?? 0) > 2 * MAX_VALUE_BYTES + 2) {
      throw new VerifyError("size", "it is longer than any true one");
    }
    const header = verifyHeader(trust, question, encodedHeader);
    const value = proof.value === null ? null : fromHex(proof.value);
    if (!equalBytes(rootOf(question.key, value, proof), from32(header.stateRoot))) {
      throw new VerifyError("witness", "it is of another root, or of another value");
    }
    return { header, value };
  } catch (error) {
    if (error instanceof VerifyError) throw error;
    throw new VerifyError("size", `it is malformed: ${error}`);
  }
}

/** rootOf is the root under which the key has the value, as far as the proof goes. */
function rootOf(key: Uint8Array, value: Uint8Array | null, { siblings, end }: AccountProof): Uint8Array {
  const path = hashBytes(TAG_PATH, key);
  let here = endOf(path, value, end, siblings.length);
  for (let depth = siblings.length - 1; depth >= 0; depth--) {
    const beside = digestOf(from32(siblings[depth]!));
    here = bit(path, depth) === 0 ? node(here, beside) : node(beside, here);
  }
  return bytesOf(here);
}

/** endOf is the digest of what stands where the way of a path ends, at a depth. */
function endOf(path: Digest, value: Uint8Array | null, end: AccountProof["end"], depth: number): Digest {
  if (end.type === "leaf") {
    if (value === null || value.length === 0) throw new VerifyError("witness", "a leaf without a value");
    return leaf(path, hashBytes(TAG_VALUE, value));
  }
  if (value !== null) throw new VerifyError("witness", "a value of a key that is absent");
  if (end.type === "empty") return new Uint32Array(8);
  const other = digestOf(from32(end.path as Hex));
  let common = 0;
  while (common < PATH_BITS && bit(path, common) === bit(other, common)) common++;
  if (common < depth || common === PATH_BITS) throw new VerifyError("witness", "the other leaf does not show the key's absence");
  return leaf(other, digestOf(from32(end.valueHash as Hex)));
}

/**
 * readState reads a state key with no node to be believed: by default after the latest block. It throws a {@link VerifyError}, or what the
 * client throws.
 */
export async function readState(client: Client, trust: Trust, question: StateQuestion): Promise<StateValue> {
  const block: BlockRef = question.height === undefined ? "latest" : Number(question.height);
  const proof = await client.call("svc_getStateProof", toHex(question.key), block);
  const range = { from_height: proof.height, to_height: proof.height, raw_only: true };
  const [item] = await client.call("svc_getBlocks", range);
  if (!item) throw new VerifyError("header", `the node gives no header of block ${proof.height}`);
  return verifyState(trust, question, fromHex(item.raw), proof);
}

/** What the state has of an account after the block of `header`. One that was never used has nothing. */
export interface AccountRecord {
  header: SignedHeader;
  balance: bigint;
  nonce: bigint;
}

/** readAccount reads an account's balance and nonce as {@link readState} does. */
export async function readAccount(
  client: Client, trust: Trust, account: Account, at: { height?: bigint; atLeast?: bigint } = {},
): Promise<AccountRecord> {
  const { header, value } = await readState(client, trust, { ...at, key: concat(Uint8Array.of(1), from32(account)) });
  if (value === null) return { header, balance: 0n, nonce: 0n };
  const r = new Reader(value);
  const record = { header, balance: r.u64(), nonce: r.u64() };
  r.end();
  return record;
}
