import type { Hash } from "../hex.js";
import { SenderError, type Job } from "./job.js";

/** Slots are an account's nonces from those in blocks on: the jobs at them, and what others have put there. */
export class Slots {
  /** how many of the account's transactions are in blocks */
  base = 0n;
  readonly jobs = new Map<bigint, Job>();
  /** what the pool has at nonces that are not ours */
  readonly foreign = new Map<bigint, Hash>();

  constructor(open: readonly Job[]) {
    for (const job of open) {
      const other = this.jobs.get(job.nonce!);
      if (other) throw new SenderError("bad_journal", `the journal has ${other.id} and ${job.id} at nonce ${job.nonce}`);
      this.jobs.set(job.nonce!, job);
    }
  }

  /** free is the lowest nonce from one on that is neither ours nor another's. */
  free(from: bigint): bigint {
    let nonce = from;
    while (this.jobs.has(nonce) || this.foreign.has(nonce)) nonce++;
    return nonce;
  }

  /** hasGap reports whether a nonce that nobody uses holds up others behind it. */
  hasGap(): boolean {
    const gap = this.free(this.base);
    return [...this.jobs].some(([nonce, job]) => nonce > gap && job.out);
  }

  /** those are the jobs that is says, in the order of their nonces. */
  #those(is: (job: Job) => boolean): Job[] {
    return [...this.jobs.values()].filter(is).sort((a, b) => (a.nonce! < b.nonce! ? -1 : 1));
  }

  /** used are the jobs at nonces that blocks have used. */
  used(): Job[] {
    return this.#those((job) => job.nonce! < this.base);
  }

  /** due are the jobs whose bytes are to be sent. */
  due(now: number): Job[] {
    return this.#those((job) => job.due <= now);
  }

  /** waiting are the jobs that the pool has had since a height, or longer, and no block has. */
  waiting(since: bigint): Job[] {
    return this.#those((job) => job.pooled && job.nonce! >= this.base && job.since <= since);
  }

  /** expired are the jobs at nonces that no block has used, and that none can have after one of a time. */
  expired(head: bigint): Job[] {
    return this.#those((job) => job.nonce! >= this.base && job.expired(head));
  }

  /** moveTo takes in how many transactions are in blocks: what others had below is no more in the pool. */
  moveTo(base: bigint): void {
    this.base = base;
    for (const nonce of this.foreign.keys()) if (nonce < base) this.foreign.delete(nonce);
  }

  /** meet takes in what the pool has, and gives which jobs are there. Those that are not, and in no block, are due. */
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
