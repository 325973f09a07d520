export type { Sent, SenderOptions, SenderStatus, Time } from "./options.js";
export { createSender, Sender } from "./sender.js";
export { InsufficientForFee, SenderError, TooLate, type SendOptions } from "./job.js";
export { IndexedDBStore } from "./indexeddb.js";
export { MemoryStore, type Entry, type Scope, type Store } from "./store.js";
