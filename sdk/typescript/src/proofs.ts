import type { Client } from "./client.js";
import { CairnError } from "./errors.js";
import type { RangeProofs } from "./generated.js";
import { wait } from "./signal.js";

/** The statement of a valid proof about a range of blocks, which may be one block. */
export interface Verdict {
  fromHeight: number;
  height: number;
  blockHash: string;
  postRoot: string;
  securityBits: number;
  /** whether the lists so far show the producer in force; they do not if all blocks are empty */
  producerShown: boolean;
}

/** A chain of proofs, made by a {@link Verifier}. */
export interface Chain<V extends Verdict = Verdict> {
  readonly height: number;
  readonly hash: string;
  next(encoded: Uint8Array): V;
}

/**
 * The verifier that `loadVerifier` of the package @cairn-chain/proof returns. It runs on the calling thread: in pages,
 * use a worker.
 */
export interface Verifier<V extends Verdict = Verdict> {
  newChain(trusted: TrustedBlock, bits?: number): Chain<V>;
}

/** A block whose hash is known from a trusted source; it may be genesis. */
export interface TrustedBlock {
  height: number;
  hash: string;
}

/** MissingProofError: the node has no proof of a block, or not yet. */
export class MissingProofError extends CairnError {
  override name = "MissingProofError";
  constructor(readonly height: number) {
    super(`the node has no proof of block ${height}`);
  }
}

/** The most blocks of a range. */
const LONGEST = 4096;

/** Fetched is the proof of some blocks. */
interface Fetched {
  to: number;
  encoded: Uint8Array;
}

/**
 * verifyChain verifies the proofs of all blocks after a trusted one, up to a height or the node's newest proof. At each
 * step it takes the longest proven range, or else a block's proof, and yields the verdict with the length of the proof.
 * It fetches the next proof during a verification. It throws the verifier's error for an invalid proof, a {@link
 * MissingProofError}, and errors of the client.
 */
export async function* verifyChain<V extends Verdict>(
  client: Client, verifier: Verifier<V>, trusted: TrustedBlock, options: { to?: number; bits?: number; signal?: AbortSignal } = {},
): AsyncGenerator<V & { bytes: number }, void, void> {
  const { proofs, range_proofs: ranges } = await client.call("svc_getNodeInfo");
  const to = options.to ?? Math.max(proofs?.newest ?? 0, ...ranges.map((range) => range.newest));
  const chain = verifier.newChain(trusted, options.bits);
  const ended = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
  const ask = (from: number, longest = LONGEST): Promise<Fetched> => {
    const asked = from > to ? Promise.resolve({ to: from, encoded: new Uint8Array() }) : fetchNext(client, ranges, from, to, longest, signal);
    asked.catch(() => {}); // the error is reported when this proof is awaited
    return asked;
  };
  try {
    for (let next = ask(chain.height + 1); chain.height < to;) {
      const { to: last, encoded } = await next;
      next = ask(last + 1);
      await wait(0); // sends the request before the verifier blocks the thread
      let verdict: V;
      try {
        verdict = chain.next(encoded);
      } catch (error) {
        const blocks = last - chain.height;
        if (blocks === 1 || !(error instanceof Error && "handedOver" in error && error.handedOver === true)) throw error;
        next = ask(chain.height + 1, blocks / 2);
        continue;
      }
      yield { ...verdict, bytes: encoded.length };
    }
  } finally {
    ended.abort();
  }
}

/** fetchNext fetches the next proof from a block on: of the longest range up to a length, or of the block alone. */
async function fetchNext(
  client: Client, ranges: RangeProofs[], from: number, to: number, longest: number, signal: AbortSignal,
): Promise<Fetched> {
  for (let blocks = longest; blocks > 1; blocks /= 2) {
    const last = from + blocks - 1;
    const offered = ranges.some((range) => range.blocks === blocks && range.oldest <= from && last <= range.newest);
    if (last % blocks !== 0 || last > to || !offered) continue;
    const encoded = await client.proof(from, last, { signal });
    if (encoded) return { to: last, encoded };
  }
  const encoded = await client.proof(from, from, { signal });
  if (!encoded) throw new MissingProofError(from);
  return { to: from, encoded };
}
