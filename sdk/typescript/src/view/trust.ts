import type { Network } from "../address.js";
import { parseHeader, type SignedHeader } from "../block.js";
import { CodecError } from "../codec.js";
import { CairnError } from "../errors.js";
import type { Account } from "../hex.js";
import { verifySeal } from "../verify/signatures.js";

/** Trust is a caller's knowledge about a chain, which replaces trust in a node. */
export interface Trust {
  chainId: bigint;
  network: Network;
  /** the key that seals its blocks */
  producer: Account;
}

/** The steps at which a proof may be refused, in order. */
export type Step = "size" | "header" | "height" | "witness" | "code" | "execute";

/** VerifyError: a proof is invalid. `step` is the step that failed. */
export class VerifyError extends CairnError {
  override name = "VerifyError";
  constructor(
    readonly step: Step,
    message: string,
  ) {
    super(`the proof is refused: ${step}: ${message}`);
  }
}

/** verifyHeader reads a header, and checks that the trusted producer sealed it and that it is the requested block's. */
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
