/** What a bundle that holds says. Hashes, roots and keys are "0x" and hex. */
export interface Verdict {
  chainId: number;
  height: number;
  /** Compare it with a source that you trust: that the header is the chain's is not proven. */
  blockHash: string;
  parentHash: string;
  /** Who sealed the header. */
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

/** Thrown for a proof or header that does not hold, or is none. */
export class ProofRefused extends Error {
  /** whether it is a range in which producer or version change: its blocks' own proofs are to be verified, or shorter ranges */
  readonly handedOver: boolean;
  /** whether the header needs a proof of the parameters after the block before, since producer or version change */
  readonly parametersNeeded: boolean;
  /** whether the producer sealed the header upon another block: compare the headers before it */
  readonly forked: boolean;
  /** whether the protocol has a newer version than this verifier knows */
  readonly unknownVersion: boolean;
  /** two different headers that one producer sealed for one height, encoded: they prove its fault. Show both */
  readonly equivocation?: readonly [Uint8Array, Uint8Array];
}

/** Bytes, or "0x" and hex. */
export type Bytes = Uint8Array | string;

/** An inclusion proof as nodes give it, or its encoding. */
export type InclusionProof =
  | { number: number | string; n: number | string; leaf: Bytes; siblings: readonly Bytes[] }
  | Uint8Array;

/** What svc_getInclusionProof answers. The transaction may also be your own, encoded. */
export interface InclusionAnswer {
  header: Bytes;
  rawTransaction: Bytes;
  rawReceipt: Bytes;
  transaction: InclusionProof;
  receipt: InclusionProof;
}

/** Which transaction is in which block. */
export interface Included {
  /** Compare it with the hash of the transaction that you mean. */
  transactionHash: string;
  height: number;
  /** Compare it with a block that you trust, such as a follower's. */
  blockHash: string;
  number: number;
  n: number;
  /** whether it did what it says; a failed transaction only paid its fee */
  success: boolean;
}

/** A Merkle proof as nodes give it, or its encoding. */
export type MerkleProof =
  | {
      key: Bytes;
      value: Bytes | null;
      siblings: readonly Bytes[];
      end: { type: "leaf" } | { type: "empty" } | { type: "other"; path: Bytes; valueHash: Bytes };
    }
  | Uint8Array;

/** The last header of a follower. */
export interface Head {
  height: number;
  blockHash: string;
  producer: string;
  version: number;
  /** milliseconds since 1970 */
  timestampMs: number;
  stateRoot: string;
}

/** Follows the producer in force from header to header. */
export interface Follower {
  readonly head: Head;
  /**
   * Checks the next block's header, an encoded SignedHeader, and goes on from it. parameters is a Merkle proof of the
   * parameters after the last block (svc_getHeaders and svc_getParameters give it); it is needed if the producer or the
   * version changes. Throws ProofRefused, which leaves the follower as it was; after an equivocation it goes on no more.
   */
  next(header: Bytes, parameters?: MerkleProof | null): Head;
}

/** Verifies proofs that follow each other. Each block must be sealed by the producer in force, whom the lists tell of. */
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
  /** Says which transaction is in the block of a header, and whether it succeeded. Throws ProofRefused. */
  verifyInclusion(answer: InclusionAnswer): Included;
  /**
   * A follower from a header on, an encoded SignedHeader whose hash is trusted; it may be header 0. With eachProof every
   * header must come with a proof of the parameters: without it, somebody with a key that was replaced can mislead the
   * follower. override is an emergency override of the parameters, which was agreed on outside the chain.
   */
  newFollower(
    trusted: { header: Bytes; hash: string },
    options?: { eachProof?: boolean; override?: { height: number; parameters: Bytes } | null },
  ): Follower;
}

/** Loads the verifier; source is verifier.wasm where it is not beside this file. */
export function loadVerifier(
  source?: string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module,
): Promise<Verifier>;
