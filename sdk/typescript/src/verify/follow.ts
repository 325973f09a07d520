import { blockHash, type Header, type SignedHeader } from "../block.js";
import { CodecError } from "../codec.js";
import { CairnError } from "../errors.js";
import { fromHex, toHex, type Hash } from "../hex.js";
import { merkleFault, type MerkleProof } from "../merkle.js";
import { MAX_TIME, VERSION, decodeParameters, versionAt, type Parameters } from "../parameters.js";
import { PARAMETERS_KEY } from "../record.js";
import { verifySeal } from "./signatures.js";

/** HeaderError: a header is not the next one of its chain. */
export class HeaderError extends CairnError {
  override name = "HeaderError";
  constructor(
    /** `version`: the chain has a version that this package does not know, or the header has a wrong one */
    readonly reason: "chain" | "height" | "parent" | "time" | "seal" | "producer" | "version" | "proof",
    message: string,
  ) {
    super(message);
  }
}

/** An emergency override of the parameters, agreed on outside of the chain, from a block on. */
export interface Override {
  height: bigint;
  parameters: Parameters;
}

/**
 * HeaderFollower follows a chain by its headers alone (docs/protocol.md, "Blocks"). Between two proofs of the parameters it trusts the
 * producer that the last one showed: give a proof with each header if a replaced key must not be able to mislead it.
 */
export class HeaderFollower {
  #head: Header;
  #hash: Hash;

  /** It starts at a trusted header, such as the header of block 0, whose hash identifies the chain. */
  constructor(
    trusted: Header,
    readonly overrides: readonly Override[] = [],
  ) {
    this.#head = trusted;
    this.#hash = blockHash(trusted);
  }

  get head(): Header {
    return this.#head;
  }
  get hash(): Hash {
    return this.#hash;
  }

  /**
   * take accepts the next header. `proof` proves the parameters under the state root of the previous header; it is
   * needed if the producer or the version changes. It throws a {@link HeaderError} without moving.
   */
  take(next: SignedHeader, proof?: MerkleProof): void {
    const head = this.#head;
    const refuse = (reason: HeaderError["reason"], message: string): never => {
      throw new HeaderError(reason, `header ${next.height}: ${message}`);
    };
    if (next.chainId !== head.chainId) refuse("chain", `it is for chain ${next.chainId}`);
    if (next.height !== head.height + 1n) refuse("height", `it does not follow ${head.height}`);
    if (next.parent !== this.#hash) refuse("parent", "its parent is another block");
    if (next.timestamp < head.timestamp || next.timestamp > MAX_TIME) refuse("time", "its time is before its parent's, or after the year 9999");
    const override = this.overrides.find(({ height }) => height === next.height);
    const parameters = override?.parameters ?? (proof && this.#shown(proof));
    const { producer, version } = parameters ? { producer: parameters.producer, version: versionAt(parameters, next.timestamp) } : head;
    if (version !== VERSION) refuse("version", `the chain goes on with version ${version}, which this program does not know`);
    if (next.producer !== producer) refuse("producer", `${next.producer} made it, not ${producer}`);
    if (next.version !== version) refuse("version", `it has version ${next.version}, not ${version}`);
    if (!verifySeal(next)) refuse("seal", "the producer's seal is invalid");
    this.#head = next;
    this.#hash = blockHash(next);
  }

  #shown(proof: MerkleProof): Parameters {
    const refuse = (message: string): never => {
      throw new HeaderError("proof", `the proof of the parameters: ${message}`);
    };
    if (proof.key.toLowerCase() !== toHex(PARAMETERS_KEY)) return refuse("it is of another key");
    const fault = merkleFault(this.#head.stateRoot, proof);
    if (fault !== undefined) return refuse(fault);
    if (proof.value === null) return refuse("the state has none");
    try {
      return decodeParameters(fromHex(proof.value));
    } catch (error) {
      if (error instanceof CodecError) return refuse(error.message);
      throw error;
    }
  }
}

/**
 * convicts reports whether two headers prove a producer's fault: they differ, have the same height and producer, and
 * both seals are valid. If you find two such headers of a chain, stop and publish both.
 */
export function convicts(a: SignedHeader, b: SignedHeader): boolean {
  const same = a.chainId === b.chainId && a.height === b.height && a.producer === b.producer;
  return same && a.height > 0n && blockHash(a) !== blockHash(b) && verifySeal(a) && verifySeal(b);
}
