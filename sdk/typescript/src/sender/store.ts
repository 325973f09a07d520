import type { Account, Hash, Hex } from "../hex.js";

/**
 * Entry is what the journal of a sender remembers. Of one id the last entries count: `signed` begins, `version` adds a replacement at
 * the same nonce, `cancel` a transfer of nothing to oneself there, `refused` says that its bytes are with nobody, or that
 * no block can have them any more, `done` that a block has it. Nonces are decimal.
 */
export type Entry =
  | { type: "signed"; id: string; digest: Hex; nonce: string; raw: Hex; hash: Hash }
  | { type: "version" | "cancel"; id: string; nonce: string; raw: Hex; hash: Hash }
  | { type: "refused"; id: string; reason: string }
  | { type: "done"; id: string; digest: Hex; hash: Hash; height: number; status: 0 | 1 };

/** Scope is what a journal belongs to: one account of one chain. */
export interface Scope {
  genesis: Hash;
  account: Account;
}

/** Store keeps a sender's journal. */
export interface Store {
  /** open gives the entries of the scope in their order, and keeps others out until close. */
  open(scope: Scope): Promise<Entry[]>;
  /** append adds entries, all or none; they are durable, as far as the store is, when it resolves. */
  append(entries: Entry[]): Promise<void>;
  /** replace puts entries in the place of all that there are, in one step: whenever the process dies, the old ones are there or the new. */
  replace(entries: Entry[]): Promise<void>;
  close(): Promise<void>;
}

/** MemoryStore keeps the journal within the process: ids are good until it ends. */
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
