import type { SignedHeader } from "../block.js";
import type { Client } from "../client.js";
import type { AccountProof, BlockRef } from "../generated.js";
import { fromHex, toHex, type Account } from "../hex.js";
import { merkleFault, type MerkleProof } from "../merkle.js";
import { accountKey, decodeRecord, type AccountRecord } from "../record.js";
import { VerifyError, verifyHeader, type Trust } from "./trust.js";

/** A query of the state after block `height`, or after any block from `atLeast` on. */
export interface StateQuestion {
  key: Uint8Array;
  height?: bigint;
  atLeast?: bigint;
}

/** The statement of a Merkle proof: the value of a key after the block of `header`, or null. */
export interface StateValue {
  header: SignedHeader;
  value: Uint8Array | null;
}

/**
 * verifyState checks a Merkle proof of a state key, or of its absence, under an encoded header that the producer sealed
 * (docs/protocol.md, "State tree and proofs"). It throws a {@link VerifyError}.
 */
export function verifyState(trust: Trust, question: StateQuestion, encodedHeader: Uint8Array, proof: AccountProof): StateValue {
  const header = verifyHeader(trust, question, encodedHeader);
  const { value, siblings, end } = proof;
  const fault = merkleFault(header.stateRoot, { key: toHex(question.key), value, siblings, end: end as MerkleProof["end"] });
  if (fault !== undefined) throw new VerifyError("witness", fault);
  return { header, value: value === null ? null : fromHex(value) };
}

/**
 * readState reads a state key without trusting the node, by default after the latest block. It throws a {@link
 * VerifyError}, or an error of the client.
 */
export async function readState(client: Client, trust: Trust, question: StateQuestion): Promise<StateValue> {
  const block: BlockRef = question.height === undefined ? "latest" : Number(question.height);
  const proof = await client.call("svc_getStateProof", toHex(question.key), block);
  const range = { from_height: proof.height, to_height: proof.height, raw_only: true };
  const [item] = await client.call("svc_getBlocks", range);
  if (!item) throw new VerifyError("header", `the node has no header of block ${proof.height}`);
  return verifyState(trust, question, fromHex(item.raw), proof);
}

/**
 * ShownAccount is the state's record of an account after the block of `header`; for an account without an entry, it is
 * the default of decodeRecord.
 */
export interface ShownAccount extends AccountRecord {
  header: SignedHeader;
}

/** readAccount reads an account's balance, nonce, authority and pending recovery, like {@link readState}. */
export async function readAccount(
  client: Client, trust: Trust, account: Account, at: { height?: bigint; atLeast?: bigint } = {},
): Promise<ShownAccount> {
  const { header, value } = await readState(client, trust, { ...at, key: accountKey(account) });
  return { header, ...decodeRecord(account, value) };
}
