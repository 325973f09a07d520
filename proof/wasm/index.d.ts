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

/** What the next proof of a chain says, that of a block as a range of one. */
export interface ChainVerdict extends RangeVerdict {
  /** whether the lists so far show who the producer in force is: not if all blocks are empty */
  producerShown: boolean;
}

/** Thrown for a bundle that does not hold, or is none. */
export class ProofRefused extends Error {
  /** whether it is a range in which the producer changes: its blocks' own proofs are to be verified, or shorter ranges */
  readonly handedOver: boolean;
}

/** Verifies proofs that follow each other. Each block must be signed by the producer in force, whom the lists tell of. */
export interface Chain {
  /** of the last block, at first the trusted one's */
  readonly height: number;
  readonly hash: string;
  /**
   * The verdict on what GET /proof/HEIGHT or GET /proof/FROM-TO gave, of the next block or a range that begins with it. The
   * chain goes on from its last block. Throws ProofRefused, which leaves the chain as it was.
   */
  next(encoded: Uint8Array): ChainVerdict;
}

export interface Verifier {
  /**
   * The verdict on a bundle, as GET /proof/HEIGHT of a node gives it, whose proof must have at least so many bits: 100,
   * or 128 (the default). Throws ProofRefused. It runs on the calling thread: use a worker for large blocks.
   */
  verifyProof(bundle: Uint8Array, bits?: number): Verdict;
  /** Likewise the verdict on a range of blocks, as GET /proof/FROM-TO of a node gives it. Throws ProofRefused. */
  verifyRange(range: Uint8Array, bits?: number): RangeVerdict;
  /** A chain from a block on that is trusted, which may be genesis. Each proof must have at least so many bits. */
  newChain(trusted: { height: number; hash: string }, bits?: number): Chain;
}

/** Loads the verifier; source is verifier.wasm where it is not beside this file. */
export function loadVerifier(
  source?: string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module,
): Promise<Verifier>;
