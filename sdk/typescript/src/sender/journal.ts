import type { Done, Job } from "./job.js";
import type { Entry, Store } from "./store.js";

/**
 * the number of entries that a journal may have beyond twice the needed ones, so that a short one is not rewritten all
 * the time
 */
const SLACK = 4096;

/** Journal is a sender's store. It is rewritten once most of its entries are obsolete. */
export class Journal {
  #entries: number;

  constructor(
    readonly store: Store,
    entries: readonly Entry[],
  ) {
    this.#entries = entries.length;
  }

  /** append writes entries. Actions that depend on them must wait for it. */
  async append(entries: Entry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.store.append(entries);
    this.#entries += entries.length;
  }

  /**
   * compact keeps only the entries that the next sender needs: the finished jobs, and the versions of jobs at nonces.
   */
  async compact(done: ReadonlyMap<string, Done>, open: ReadonlyMap<bigint, Job>): Promise<void> {
    let live = done.size;
    for (const job of open.values()) live += job.versions.length;
    if (this.#entries <= 2 * live + SLACK) return;
    const entries = [...done.values(), ...[...open.values()].flatMap((job) => job.versions.map((_, i) => job.entry(i)))];
    await this.store.replace(entries);
    this.#entries = entries.length;
  }
}
