/** What a bundle that holds says. Hashes, roots and keys are "0x" and hex. */
export interface Verdict {
  chainId: number;
  height: number;
  /** Compare it with a source that you trust: that the header is the chain's is not proven. */
  blockHash: string;
  parentHash: string;
  /** Whose signature the header carries. */
  producer: string;
  preRoot: string;
  postRoot: string;
  statement: string;
  /** Proven bits. */
  securityBits: number;
  /** Bits of the state's hash, heuristic. */
  stateHashBits: number;
  /** Keys read or written. */
  accesses: number;
  writes: number;
  circuit: string;
}

/**
 * What a range that holds says: state before, parent and accesses are those of all blocks from fromHeight on as one, and
 * the rest is of the last. Roots in between are not shown.
 */
export interface RangeVerdict extends Verdict {
  fromHeight: number;
}

/** Thrown for a bundle that does not hold, or is none. */
export class ProofRefused extends Error {}

export interface Verifier {
  /**
   * The verdict on a bundle, as GET /proof/HEIGHT of a node gives it, whose proof must have at least so many bits: 100,
   * or 128 (the default). Throws ProofRefused. It runs on the calling thread: use a worker for large blocks.
   */
  verifyProof(bundle: Uint8Array, bits?: number): Verdict;
  /** Likewise the verdict on a range of blocks, as GET /proof/FROM-TO of a node gives it. Throws ProofRefused. */
  verifyRange(range: Uint8Array, bits?: number): RangeVerdict;
}

/** Loads the verifier; source is verifier.wasm where it is not beside this file. */
export function loadVerifier(
  source?: string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module,
): Promise<Verifier>;
