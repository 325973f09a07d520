import { SIGNED_HEADER_BYTES, type SignedHeader } from "../block.js";
import type { Client } from "../client.js";
import { equalBytes, from32, fromHex, toHex, type Account, type Hex } from "../hex.js";
import { sha256 } from "../hash.js";
import type { ViewProof } from "../generated.js";
import { IncompleteError, execute, type Outcome, type Verified } from "./execute.js";
import { UnansweredError } from "./module.js";
import { VerifyError, verifyHeader, type Trust } from "./trust.js";
import { witnessRoot } from "./witness.js";

export { IncompleteError, UnansweredError, VerifyError, execute };
export { readAccount, readState, verifyState, type ShownAccount, type StateQuestion, type StateValue } from "./state.js";
export { verified, type VerifiedContract, type VerifiedOptions } from "./contract.js";
export type { Step, Trust } from "./trust.js";
export type { Outcome, Verified };

/** A view call. It is made after the block at `height` or, without that, after any block from `atLeast` on. */
export interface Question {
  contract: Account;
  function: string;
  args: Uint8Array;
  height?: bigint;
  atLeast?: bigint;
  /** codes that the node need not send */
  codes?: Uint8Array[];
}

const [MAX_KEYS, MAX_VALUE_BYTES, MAX_WITNESS_BYTES, MAX_CODES, MAX_CODE_BYTES, MAX_KEY_BYTES] = [1024, 2 ** 20, 2 ** 20, 8, 262_144, 289];

/** length returns the number of bytes in hex. */
const length = (hex: Hex): number => (hex.length - 2) / 2;

/**
 * verifyView checks a proof except for the call itself, and returns the input for {@link execute}: values under the
 * state root of a header that the producer sealed. It throws a {@link VerifyError}.
 */
export function verifyView(trust: Trust, question: Question, proof: ViewProof): Verified {
  try {
    return verify(trust, question, proof);
  } catch (error) {
    if (error instanceof VerifyError) throw error;
    throw new VerifyError("size", `it is malformed: ${error}`);
  }
}

function verify(trust: Trust, question: Question, proof: ViewProof): Verified {
  const bytes = proof.values.reduce((sum, { value }) => sum + (value === null ? 0 : length(value)), 0);
  if (
    proof.values.length > MAX_KEYS || bytes > MAX_VALUE_BYTES || length(proof.witness) > MAX_WITNESS_BYTES || proof.codes.length > MAX_CODES ||
    length(proof.header) !== SIGNED_HEADER_BYTES || proof.codes.some((code) => length(code) > MAX_CODE_BYTES) ||
    proof.values.some(({ key }) => length(key) > MAX_KEY_BYTES)
  ) throw new VerifyError("size", "it is longer than any valid one");
  const header = verifyHeader(trust, question, fromHex(proof.header));
  const values = new Map<Hex, Uint8Array | null>();
  let before = "";
  for (const { key, value } of proof.values) {
    const hex = toHex(fromHex(key));
    if (hex <= before || value === "0x") throw new VerifyError("witness", "the keys do not ascend, or a value is empty");
    values.set(hex, value === null ? null : fromHex(value));
    before = hex;
  }
  const witness = fromHex(proof.witness);
  let root: Uint8Array;
  try {
    root = witnessRoot(witness, [...values].map(([key, value]) => ({ key: fromHex(key), value: value ?? undefined })));
  } catch (error) {
    throw new VerifyError("witness", String(error));
  }
  if (!equalBytes(root, from32(header.stateRoot))) throw new VerifyError("witness", "it is for a different root or different values");
  const codes = new Map<Hex, Uint8Array>();
  for (const code of [...(question.codes ?? []), ...proof.codes.map(fromHex)]) codes.set(toHex(sha256(code)), code);
  if (codes.size !== (question.codes?.length ?? 0) + proof.codes.length) throw new VerifyError("code", "a code occurs twice");
  return { header, network: trust.network, contract: question.contract, function: question.function, args: question.args, values, codes };
}

/** The result of a view call, computed here, after the block of `header`. */
export interface View extends Outcome {
  header: SignedHeader;
}

/** Runs {@link execute} in a worker, where it can be ended. It rejects with the error that execute throws. */
export interface Runner {
  run(verified: Verified): Promise<Outcome>;
}

/**
 * readView makes a view call without trusting the node. It throws a {@link VerifyError}, an {@link UnansweredError}, or
 * an error of the client.
 */
export async function readView(client: Client, trust: Trust, question: Question, runner: Runner): Promise<View> {
  const block = question.height === undefined ? "latest" : Number(question.height);
  const known = (question.codes ?? []).map((code) => toHex(sha256(code)));
  const proof = await client.call("svc_getViewProof", question.contract, question.function, toHex(question.args), block, known);
  const verified = verifyView(trust, question, proof);
  try {
    return { header: verified.header, ...(await runner.run(verified)) };
  } catch (error) {
    if (error instanceof IncompleteError) throw new VerifyError("execute", error.message);
    throw error;
  }
}
