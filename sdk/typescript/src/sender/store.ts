import type { Account, Hash, Hex } from "../hex.js";

/**
 * Entry is an entry of a sender's journal. Later entries of an id override earlier ones. `signed` begins a job,
 * `version` adds a replacement at the same nonce, and `cancel` adds an empty transfer to oneself there. `refused` means
 * that no node has the job or no block can include it any more, and `done` that a block has it. Nonces are decimal.
 */
export type Entry =
  | { type: "signed"; id: string; digest: Hex; nonce: string; raw: Hex; hash: Hash }
  | { type: "version" | "cancel"; id: string; nonce: string; raw: Hex; hash: Hash }
  | { type: "refused"; id: string; reason: string }
  | { type: "done"; id: string; digest: Hex; hash: Hash; height: number; status: 0 | 1 };

/** Scope identifies the owner of a journal: one account of one chain. */
export interface Scope {
  genesis: Hash;
  account: Account;
}

/** Store keeps a sender's journal. */
export interface Store {
  /** open returns the entries of the scope in order, and excludes others until close. */
  open(scope: Scope): Promise<Entry[]>;
  /** append adds all entries or none. When it resolves they are durable, as far as the store is. */
  append(entries: Entry[]): Promise<void>;
  /** replace replaces all entries atomically: after a crash at any time, either the old or the new ones are there. */
  replace(entries: Entry[]): Promise<void>;
  close(): Promise<void>;
}

/** MemoryStore keeps the journal in memory, so ids are remembered only until the process ends. */
export class MemoryStore implements Store {
  entries: Entry[] = [];
  async open(): Promise<Entry[]> {
    return [...this.entries];
  }
  async append(entries: Entry[]): Promise<void> {
    this.entries.push(...entries);
  }
  async replace(entries: Entry[]): Promise<void> {
    this.entries = [...entries];
  }
  async close(): Promise<void> {}
}
