import type { Receipt } from "../generated.js";
import type { Hash } from "../hex.js";
import type { Signer } from "../transaction.js";
import type { Store } from "./store.js";

/** Sent is one job on its way. */
export interface Sent {
  readonly id: string;
  /** the transaction's hash, once a node has taken it; a replacement has another */
  readonly accepted: Promise<Hash>;
  /** the receipt, once it is in a block; whether it succeeded is in its status */
  readonly receipt: Promise<Receipt>;
  /** final waits for the receipt, or until its block is proven too */
  final(level?: "included" | "proven"): Promise<Receipt>;
  /**
   * cancel takes the job back. It resolves once no block can have it any more: its id is free again, and its receipt rejects with the
   * reason "cancelled", or "expired" if its time was over before. If a node may have the transaction, a transfer of nothing to oneself takes its nonce, with fees that are higher
   * by a tenth at least, and that costs its fee. It rejects with {@link TooLate} if a block had the job first, else as the receipt does.
   */
  cancel(): Promise<void>;
}

/** SenderStatus is whether the node answers, and since when not, in milliseconds of the clock. */
export type SenderStatus = { state: "open" } | { state: "reconnecting"; since: number; cause: unknown };

/** Time is the clock of a sender; tests have their own. */
export interface Time {
  now(): number;
  /** sleep resolves after milliseconds, or when woken resolves */
  sleep(milliseconds: number, woken: Promise<void>): Promise<void>;
}

export interface SenderOptions {
  /** where the journal is: within the process unless given, and then ids are good until it ends */
  store?: Store;
  /** how often to look for inclusion while something is open, in milliseconds: 500 unless given */
  poll?: number;
  /**
   * the most that any transaction may pay per gas, replacements included. What cancels a job may pay a tenth more than the job did, else
   * the job could not be cancelled that is stuck at the cap.
   */
  maxFeeCap?: bigint;
  /**
   * how long transactions are valid from when the first of a job is signed, in milliseconds: for ever unless said, or 5 minutes with a payer,
   * and then 10 minutes at most. A job that no block has by then fails with the reason `expired`, for certain: its id is free again.
   */
  validFor?: number;
  /** pays the fees of all transactions in the account's place; for a sponsor elsewhere, a signer that asks it for its witness */
  payer?: Signer;
  /** what to do with a job whose nonce was used by a transaction that is not the sender's: send it at a new one unless given */
  onDisplaced?: "resend" | "reject";
  /** told of the transfers of nothing to oneself that fill nonces which would stop others */
  onFiller?: (hash: Hash) => void;
  /** told of a job whose nonce is used, without a receipt or a proof that something else used it: it waits until one is there */
  onUndecided?: (id: string) => void;
  time?: Time;
}

/** realTime is the clock of a sender that has none given. */
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
