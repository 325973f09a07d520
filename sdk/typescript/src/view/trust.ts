import type { Network } from "../address.js";
import { parseHeader, type SignedHeader } from "../block.js";
import { CodecError } from "../codec.js";
import { CairnError } from "../errors.js";
import type { Account } from "../hex.js";
import { verifySeal } from "../verify/signatures.js";

/** Trust is what a caller knows about a chain, so that it need not trust a node. */
export interface Trust {
  chainId: bigint;
  network: Network;
  /** the key that seals its blocks */
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

/** verifyHeader reads a header that the trusted producer sealed, of the block that was asked for. */
export function verifyHeader(trust: Trust, asked: { height?: bigint; atLeast?: bigint }, encoded: Uint8Array): SignedHeader {
  const header = readHeader(encoded);
  if (header.chainId !== trust.chainId) throw new VerifyError("header", `it is for chain ${header.chainId}`);
  if (header.producer !== trust.producer) throw new VerifyError("header", `its producer is ${header.producer}`);
  if (!verifySeal(header)) throw new VerifyError("header", "the producer's seal is invalid");
  if (asked.height !== undefined && header.height !== asked.height) throw new VerifyError("height", `it is for block ${header.height}`);
  if (header.height < (asked.atLeast ?? 0n)) throw new VerifyError("height", `it is for block ${header.height}`);
  return header;
}

function readHeader(encoded: Uint8Array): SignedHeader {
  try {
    return parseHeader(encoded);
  } catch (error) {
    if (error instanceof CodecError) throw new VerifyError("size", `it is malformed: ${error.message}`);
    throw error;
  }
}
