import { contentOf } from "../action.js";
import { encodePayload } from "../transaction.js";
import type { Job } from "./job.js";
import type { Slots } from "./slots.js";

/** Bounds for sending: the transactions in one request, their bytes, and the nonces beyond those in blocks. */
export const MAX_BATCH = 256;
const MAX_BATCH_BYTES = 2 << 20;
const WINDOW = 1000n;
/** The assumed size of a transaction without its payload, in bytes. */
const WITNESS_ROOM = 300;

/** fitting returns the number of jobs that fit in one request by their bytes, at least one. */
export function fitting(jobs: readonly Job[], size: (job: Job) => number): number {
  let bytes = 0;
  for (const [i, job] of jobs.entries()) {
    bytes += size(job);
    if (i === MAX_BATCH || (i > 0 && bytes > MAX_BATCH_BYTES)) return i;
  }
  return jobs.length;
}

/** Queue holds the jobs without a nonce, in order. */
export class Queue {
  jobs: Job[] = [];
  /** the time before which nothing new is sent, because a job came back */
  holdUntil = 0;

  get empty(): boolean {
    return this.jobs.length === 0;
  }

  /** mayTake reports whether the next job may go now: a sweep only when nothing is open, and nothing while one is. */
  mayTake(slots: Slots, now: number): boolean {
    const next = this.jobs[0];
    if (!next || now < this.holdUntil) return false;
    if (next.sweepTo !== undefined) return slots.jobs.size === 0;
    const sweeping = [...slots.jobs.values()].some((job) => job.sweepTo !== undefined);
    return !sweeping && slots.free(slots.base) - slots.base < WINDOW;
  }

  /** take removes the jobs that may be sent now: a sweep alone, otherwise as many as fit in one request. */
  take(slots: Slots, now: number): Job[] {
    if (!this.mayTake(slots, now)) return [];
    if (this.jobs[0]!.sweepTo !== undefined) return this.jobs.splice(0, 1);
    let [count, nonce] = [0, slots.free(slots.base)];
    for (; count < this.jobs.length && this.jobs[count]!.sweepTo === undefined && nonce - slots.base < WINDOW; count++) {
      nonce = slots.free(nonce + 1n);
    }
    return this.jobs.splice(0, fitting(this.jobs.slice(0, count), (job) => WITNESS_ROOM + encodePayload(contentOf(job.action!).payload).length));
  }
}
