import { schnorr } from "@noble/curves/secp256k1.js";
import { blockHash, parseHeader, type SignedHeader } from "../block.js";
import { CairnError } from "../errors.js";
import { from32, type Account } from "../hex.js";

/** What is known of a chain, and by whom: no node has to be believed then. */
export interface Trust {
  chainId: bigint;
  /** the key that signs its blocks */
  producer: Account;
}

/** The steps that refuse a proof, in the order in which they are taken. */
export type Step = "size" | "header" | "height" | "witness" | "code" | "execute";

/** VerifyError: a proof does not hold; `step` says where. */
export class VerifyError extends CairnError {
  override name = "VerifyError";
  constructor(
    readonly step: Step,
    message: string,
  ) {
    super(`the proof is refused: ${step}: ${message}`);
  }
}

/** verifyHeader reads a header that the trusted producer signed, of the block that was asked for. */
export function verifyHeader(trust: Trust, asked: { height?: bigint; atLeast?: bigint }, encoded: Uint8Array): SignedHeader {
  const header = parseHeader(encoded);
  const signed = (): boolean => schnorr.verify(header.signature, from32(blockHash(header)), from32(header.producer));
  if (header.chainId !== trust.chainId) throw new VerifyError("header", `it is of chain ${header.chainId}`);
  if (header.producer !== trust.producer) throw new VerifyError("header", `its producer is ${header.producer}`);
  if (!signed()) throw new VerifyError("header", "its producer did not sign it");
  if (asked.height !== undefined && header.height !== asked.height) throw new VerifyError("height", `it is of block ${header.height}`);
  if (header.height < (asked.atLeast ?? 0n)) throw new VerifyError("height", `it is of block ${header.height}`);
  return header;
}
