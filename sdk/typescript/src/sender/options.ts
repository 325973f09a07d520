import type { Receipt } from "../generated.js";
import type { Hash } from "../hex.js";
import type { Signer } from "../transaction.js";
import type { Store } from "./store.js";

/** Sent is the handle of one job. */
export interface Sent {
  readonly id: string;
  /** the transaction's hash, once a node has accepted it; a replacement has another hash */
  readonly accepted: Promise<Hash>;
  /** the receipt, once it is in a block; its status shows whether it succeeded */
  readonly receipt: Promise<Receipt>;
  /** final waits for the receipt, or until its block is proven too */
  final(level?: "included" | "proven"): Promise<Receipt>;
  /**
   * cancel cancels the job. It resolves once no block can include it any more: its id is free again, and its receipt
   * rejects with the reason "cancelled", or "expired" if its validity ended first. If a node may have the transaction,
   * an empty transfer to oneself takes its nonce, with fees at least a tenth higher, and costs its fee. It rejects with
   * {@link TooLate} if a block had the job first, otherwise like the receipt.
   */
  cancel(): Promise<void>;
}

/** SenderStatus tells whether the node answers and, if not, since when, in milliseconds of the clock. */
export type SenderStatus = { state: "open" } | { state: "reconnecting"; since: number; cause: unknown };

/** Time is the clock of a sender, which tests replace. */
export interface Time {
  now(): number;
  /** sleep resolves after the given milliseconds, or when woken resolves */
  sleep(milliseconds: number, woken: Promise<void>): Promise<void>;
}

export interface SenderOptions {
  /** the store of the journal. By default it is in memory, so ids are remembered only until the process ends */
  store?: Store;
  /** the interval of checks for inclusion while something is open, in milliseconds: by default 500 */
  poll?: number;
  /**
   * the most that any transaction may pay per gas, replacements included. A cancelling transaction may pay a tenth more
   * than its job, so that a job stuck at the cap can be cancelled.
   */
  maxFeeCap?: bigint;
  /**
   * how long transactions are valid after the first of a job is signed, in milliseconds: by default for ever, or 5
   * minutes with a payer, who allows at most 10 minutes. A job that no block has included by then fails with the reason
   * `expired`. That is final, and its id is free again.
   */
  validFor?: number;
  /**
   * pays the fees of all transactions in the account's place; for a sponsor elsewhere, a signer that asks it for its
   * witness
   */
  payer?: Signer;
  /**
   * the action for a job whose nonce was used by a transaction of another program: by default it is sent at a new nonce
   */
  onDisplaced?: "resend" | "reject";
  /** called for each empty transfer to oneself that fills a nonce gap before others */
  onFiller?: (hash: Hash) => void;
  /**
   * called for a job whose nonce is used, without a receipt or a proof that another transaction used it. The job waits
   * until one appears
   */
  onUndecided?: (id: string) => void;
  time?: Time;
}

/** realTime is the default clock of a sender. */
export const realTime: Time = {
  now: () => Date.now(),
  sleep: (milliseconds, woken) => new Promise((resolve) => {
    const timer = milliseconds === Infinity ? undefined : setTimeout(resolve, milliseconds);
    void woken.then(() => {
      clearTimeout(timer);
      resolve();
    });
  }),
};
