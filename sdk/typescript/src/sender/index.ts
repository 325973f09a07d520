export type { Sent, SenderOptions, Time } from "./options.js";
export { createSender, Sender } from "./sender.js";
export { InsufficientForFee, SenderError, type SendOptions } from "./job.js";
export { MemoryStore, type Entry, type Scope, type Store } from "./store.js";
