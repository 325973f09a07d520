import type { Hash } from "../hex.js";
import { SenderError, type Job } from "./job.js";

/** Slots are an account's nonces beyond those in blocks, with the jobs and the foreign transactions at them. */
export class Slots {
  /** the number of the account's transactions in blocks */
  base = 0n;
  readonly jobs = new Map<bigint, Job>();
  /** the pool's foreign transactions, by nonce */
  readonly foreign = new Map<bigint, Hash>();

  constructor(open: readonly Job[]) {
    for (const job of open) {
      const other = this.jobs.get(job.nonce!);
      if (other) throw new SenderError("bad_journal", `the journal has ${other.id} and ${job.id} at nonce ${job.nonce}`);
      this.jobs.set(job.nonce!, job);
    }
  }

  /** free returns the lowest unused nonce from a given one on. */
  free(from: bigint): bigint {
    let nonce = from;
    while (this.jobs.has(nonce) || this.foreign.has(nonce)) nonce++;
    return nonce;
  }

  /** hasGap reports whether an unused nonce delays later ones. */
  hasGap(): boolean {
    const gap = this.free(this.base);
    return [...this.jobs].some(([nonce, job]) => nonce > gap && job.out);
  }

  /** those returns the jobs for which is holds, in the order of their nonces. */
  #those(is: (job: Job) => boolean): Job[] {
    return [...this.jobs.values()].filter(is).sort((a, b) => (a.nonce! < b.nonce! ? -1 : 1));
  }

  /** used returns the jobs at nonces that blocks have used. */
  used(): Job[] {
    return this.#those((job) => job.nonce! < this.base);
  }

  /** due returns the jobs whose transactions must be sent. */
  due(now: number): Job[] {
    return this.#those((job) => job.due <= now);
  }

  /** waiting returns the jobs that the pool has had since a height or longer, and that no block has included. */
  waiting(since: bigint): Job[] {
    return this.#those((job) => job.pooled && job.nonce! >= this.base && job.since <= since);
  }

  /** expired returns the jobs at unused nonces that no block after the given time can include. */
  expired(head: bigint): Job[] {
    return this.#those((job) => job.nonce! >= this.base && job.expired(head));
  }

  /** moveTo sets the number of transactions in blocks, and removes foreign transactions below it. */
  moveTo(base: bigint): void {
    this.base = base;
    for (const nonce of this.foreign.keys()) if (nonce < base) this.foreign.delete(nonce);
  }

  /**
   * meet updates the slots by the pool's content, and returns the jobs that are there. Jobs that are neither there nor
   * in a block become due.
   */
  meet(pool: ReadonlyMap<bigint, Hash>, now: number): [Job, Hash][] {
    const there: [Job, Hash][] = [];
    for (const [nonce, job] of this.jobs) {
      const hash = pool.get(nonce);
      job.pooled = hash !== undefined && job.has(hash, job.cancelled);
      if (job.pooled) there.push([job, hash!]);
      else if (nonce >= this.base && job.due === Infinity) job.due = now;
    }
    this.foreign.clear();
    for (const [nonce, hash] of pool) if (!this.jobs.has(nonce)) this.foreign.set(nonce, hash);
    return there;
  }
}
