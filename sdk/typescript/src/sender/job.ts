import type { Receipt } from "../generated.js";
import { sha256 } from "../hash.js";
import { concat, from32, fromHex, toHex, type Account, type Hash, type Hex } from "../hex.js";
import { actionOf, contentOf, type Action } from "../action.js";
import { encode } from "../codec.js";
import { decodeSigned, encodePayload, type SignedTransaction } from "../transaction.js";
import { CairnError } from "../errors.js";
import type { Entry } from "./store.js";

/** the prefix of ids that the sender assigns */
export const OWN_IDS = "cairn:";

/** SenderError: the sender refused or gave up a job. */
export class SenderError extends CairnError {
  override name = "SenderError";
  constructor(
    readonly reason:
      | "idempotency_conflict" | "bad_id" | "closed" | "failed" | "displaced" | "expired" | "insufficient_for_fee"
      | "cancelled" | "too_late" | "locked" | "bad_journal" | "other_scope",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** InsufficientForFee: a sweep has less than its fee, both in smallest units. */
export class InsufficientForFee extends SenderError {
  constructor(
    readonly balance: bigint,
    readonly needed: bigint,
  ) {
    super("insufficient_for_fee", `the balance of ${balance} units does not pay the fee of ${needed}`);
  }
}

/** TooLate: the job to cancel is in a block. */
export class TooLate extends SenderError {
  constructor(readonly receipt: Receipt) {
    super("too_late", `${receipt.transactionHash} is in block ${receipt.blockHeight}`);
  }
}

/** Settled is a promise that its owner resolves; nobody has to wait for it. */
export class Settled<T> {
  /** whether it was resolved or rejected */
  decided = false;
  resolve!: (value: T) => void;
  reject!: (error: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = (value) => {
      this.decided = true;
      resolve(value);
    };
    this.reject = (error) => {
      this.decided = true;
      reject(error);
    };
  });
  constructor() {
    this.promise.catch(() => {}); // anyone who waits for it still gets the rejection
  }
}

/** Options of one job. */
export interface SendOptions {
  /** the caller's name for the job, such as the number of a withdrawal. A job with the same id is never done twice */
  id?: string;
  /** instead of the node's estimate */
  gasLimit?: bigint;
  /**
   * added to the node's estimate, for a call that may need more gas by the time it is in a block; unused gas is
   * refunded
   */
  gasMargin?: bigint;
  /**
   * how long its transactions are valid after the first is signed, in milliseconds: by default as in the sender's
   * options
   */
  validFor?: number;
  /** the most that it may pay per gas, replacements included; the lower of this and maxFeeCap applies */
  maxFee?: bigint;
}

/** Version is a signed transaction of the job: the first, a replacement with higher fees, or one that cancels it. */
export interface Version {
  raw: Uint8Array;
  hash: Hash;
  tx: SignedTransaction;
  cancels: boolean;
}

/** Job is an action to send. It is queued without a nonce, then open at a nonce until a block has used that. */
export class Job {
  readonly accepted = new Settled<Hash>();
  readonly receipt = new Settled<Receipt>();
  nonce: bigint | undefined;
  /** the latest timestamp of a block that may include one of its versions, in milliseconds; null for any */
  until: bigint | null = null;
  versions: Version[] = [];
  /** whether some node may have it: it was accepted once, or an attempt had no answer */
  out = false;
  /** whether the pool has it, as far as the sender knows */
  pooled = false;
  /** when to post it (again), in milliseconds; Infinity while there is no need */
  due = Infinity;
  /** the height at which it was last posted or replaced */
  since = 0n;
  undecided = false;
  tooCheap = false;

  constructor(
    readonly id: string,
    readonly digest: Hex,
    /** undefined for a sweep until its value is known */
    public action: Action | undefined,
    public options: SendOptions,
    /** for a sweep: the recipient */
    readonly sweepTo?: Account,
  ) {}

  get latest(): Version {
    return this.versions[this.versions.length - 1]!;
  }

  /** whether a cancelling transaction may have been sent. No other version is sent after that */
  get cancelled(): boolean {
    return this.versions.length > 0 && this.latest.cancels;
  }

  /** expired reports whether no block can include it any more after a block with the given time */
  expired(head: bigint): boolean {
    return this.until !== null && this.until < head;
  }

  /** has reports whether a transaction is one of its versions or cancels it. */
  has(hash: Hash, cancels = false): boolean {
    return this.versions.some((version) => version.hash === hash && (version.cancels || !cancels));
  }

  /** whether the sender assigned the id */
  get own(): boolean {
    return this.id.startsWith(OWN_IDS);
  }

  /** entry returns the journal entry of its version with a number. */
  entry(number: number): Entry {
    const { raw, hash, cancels } = this.versions[number]!;
    const what = { id: this.id, nonce: String(this.nonce), raw: toHex(raw), hash };
    return number === 0 ? { type: "signed", digest: this.digest, ...what } : { type: cancels ? "cancel" : "version", ...what };
  }

  /** release removes the job from its nonce, because no node has it. It keeps its end of validity. */
  release(): void {
    this.nonce = undefined;
    this.versions = [];
    this.out = this.pooled = this.undecided = false;
    this.due = Infinity;
    this.since = 0n;
  }
}

/** The record of a job that is in a block. */
export type Done = Extract<Entry, { type: "done" }>;

/**
 * digestOf identifies the content of a job, to compare jobs with the same id: SHA-256 of target, value and payload, or
 * of a sweep's recipient.
 */
export function digestOf(what: { action: Action } | { sweepTo: Account }): Hex {
  if ("sweepTo" in what) return toHex(sha256(concat(new TextEncoder().encode("sweep"), fromHex(what.sweepTo))));
  const { target, value, payload } = contentOf(what.action);
  return toHex(sha256(concat(encode((w) => w.fixed(from32(target), 32).u64(value)), encodePayload(payload))));
}

/**
 * restore reads a journal: the open jobs, and the finished ones with a caller's id. It throws a SenderError:
 * bad_journal.
 */
export function restore(entries: Entry[]): { open: Job[]; done: Map<string, Done> } {
  const open = new Map<string, Job>();
  const done = new Map<string, Done>();
  for (const entry of entries) {
    switch (entry.type) {
      case "signed":
      case "version":
      case "cancel": {
        const version = versionOf(entry);
        let job = open.get(entry.id);
        if (entry.type === "signed") {
          job = new Job(entry.id, entry.digest, actionOf(version.tx), {}, sweepOf(entry.digest, version.tx));
          job.until = version.tx.validUntil;
          open.set(entry.id, job);
        }
        if (!job) throw new SenderError("bad_journal", `the journal has a version of ${entry.id}, which was not signed`);
        job.nonce ??= version.tx.nonce;
        if (job.nonce !== version.tx.nonce) throw new SenderError("bad_journal", `the journal has ${entry.id} at two nonces`);
        job.versions.push(version);
        job.out = true; // answers are not in the journal
        break;
      }
      case "refused":
        open.delete(entry.id);
        break;
      case "done":
        if (entry.status !== 0 && entry.status !== 1) throw new SenderError("bad_journal", `${entry.id} is done without a status`);
        open.delete(entry.id);
        if (!entry.id.startsWith(OWN_IDS)) done.set(entry.id, entry);
        break;
      default:
        throw new SenderError("bad_journal", `the journal has an entry of type ${String((entry as { type: unknown }).type)}`);
    }
  }
  return { open: [...open.values()], done };
}

function versionOf(entry: Extract<Entry, { raw: Hex }>): Version {
  try {
    const raw = fromHex(entry.raw);
    const { transaction: tx, hash } = decodeSigned(raw);
    if (hash === entry.hash) return { raw, hash, tx, cancels: entry.type === "cancel" };
  } catch (error) {
    throw new SenderError("bad_journal", `the journal has no transaction of ${entry.id}`, { cause: error });
  }
  throw new SenderError("bad_journal", `the journal has a transaction of ${entry.id} that is not the one it names`);
}

function sweepOf(digest: Hex, tx: SignedTransaction): Account | undefined {
  return tx.payload.type === "transfer" && digest === digestOf({ sweepTo: tx.target }) ? tx.target : undefined;
}
