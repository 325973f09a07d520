/** The verdict on a valid bundle. Hashes, roots and keys are "0x" and hex. */
export interface Verdict {
  chainId: number;
  height: number;
  /** Compare it with a source that you trust: the proof does not show that the header belongs to the chain. */
  blockHash: string;
  parentHash: string;
  /** The key that sealed the header. */
  producer: string;
  preRoot: string;
  postRoot: string;
  statement: string;
  /** Proven bits. */
  securityBits: number;
  /** Bits of security of the state's hash, heuristic. */
  stateHashBits: number;
  /** Keys read or written. */
  accesses: number;
  writes: number;
  circuit: string;
}

/**
 * The verdict on a valid range. State before, parent and accesses treat all blocks from fromHeight on as one; the other
 * members describe the last block. Roots in between are not shown.
 */
export interface RangeVerdict extends Verdict {
  fromHeight: number;
}

/** The verdict on the next proof of a chain. A block counts as a range of one. */
export interface ChainVerdict extends RangeVerdict {
  /** whether the lists so far show the producer in force; they do not if all blocks are empty */
  producerShown: boolean;
}

/** Thrown for an invalid proof or header, and for other input. */
export class ProofRefused extends Error {
  /** whether producer or version change within the range: verify the proofs of its blocks, or of shorter ranges */
  readonly handedOver: boolean;
  /** whether the header needs a proof of the parameters after the previous block, because producer or version change */
  readonly parametersNeeded: boolean;
  /** whether the producer sealed the header on top of another block: compare the headers before it */
  readonly forked: boolean;
  /** whether the protocol has a newer version than this verifier knows */
  readonly unknownVersion: boolean;
  /** two different encoded headers that one producer sealed for one height. They prove its fault: publish both */
  readonly equivocation?: readonly [Uint8Array, Uint8Array];
}

/** Bytes, or "0x" and hex. */
export type Bytes = Uint8Array | string;

/** An inclusion proof as nodes give it, or its encoding. */
export type InclusionProof =
  | { number: number | string; n: number | string; leaf: Bytes; siblings: readonly Bytes[] }
  | Uint8Array;

/** The result of svc_getInclusionProof. The transaction may also be your own, encoded. */
export interface InclusionAnswer {
  header: Bytes;
  rawTransaction: Bytes;
  rawReceipt: Bytes;
  transaction: InclusionProof;
  receipt: InclusionProof;
}

/** A transaction and its block. */
export interface Included {
  /** Compare it with the hash of the expected transaction. */
  transactionHash: string;
  height: number;
  /** Compare it with a trusted block, such as a follower's. */
  blockHash: string;
  number: number;
  n: number;
  /** whether it succeeded; a failed transaction only paid its fee */
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
   * Checks the next block's header, an encoded SignedHeader, and moves to it. parameters is a Merkle proof of the
   * parameters after the last block, from svc_getHeaders or svc_getParameters; it is needed if the producer or the
   * version changes. Throws ProofRefused, which leaves the follower as it was; after an equivocation the follower
   * accepts no more headers.
   */
  next(header: Bytes, parameters?: MerkleProof | null): Head;
}

/** Verifies consecutive proofs. Each block must be sealed by the producer in force, which the lists show. */
export interface Chain {
  /** of the last block; at first, of the trusted block */
  readonly height: number;
  readonly hash: string;
  /**
   * Verifies a proof from GET /proof/HEIGHT or GET /proof/FROM-TO, of the next block or of a range that begins with it.
   * The chain then continues from its last block. Throws ProofRefused, which leaves the chain as it was.
   */
  next(encoded: Uint8Array): ChainVerdict;
}

export interface Verifier {
  /**
   * Verifies a bundle from GET /proof/HEIGHT of a node. Its proof must have at least the given number of bits: 100, or
   * 128 (the default). Throws ProofRefused. It runs on the calling thread: use a worker for large blocks.
   */
  verifyProof(bundle: Uint8Array, bits?: number): Verdict;
  /** Likewise verifies a range of blocks from GET /proof/FROM-TO of a node. Throws ProofRefused. */
  verifyRange(range: Uint8Array, bits?: number): RangeVerdict;
  /**
   * A chain that starts at a trusted block, which may be genesis. Each proof must have at least the given number of
   * bits.
   */
  newChain(trusted: { height: number; hash: string }, bits?: number): Chain;
  /** Verifies that a transaction is in the block of a header, and returns whether it succeeded. Throws ProofRefused. */
  verifyInclusion(answer: InclusionAnswer): Included;
  /**
   * A follower that starts at a header, an encoded SignedHeader whose hash is trusted; it may be header 0. With
   * eachProof every header must come with a proof of the parameters. Without that, somebody with a replaced key can
   * mislead the follower. override is an emergency override of the parameters, agreed on outside the chain.
   */
  newFollower(
    trusted: { header: Bytes; hash: string },
    options?: { eachProof?: boolean; override?: { height: number; parameters: Bytes } | null },
  ): Follower;
}

/** Loads the verifier. source is verifier.wasm if that is not next to this file. */
export function loadVerifier(
  source?: string | URL | Response | Promise<Response> | BufferSource | WebAssembly.Module,
): Promise<Verifier>;
