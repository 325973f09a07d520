export { createSender, Sender, type Sent, type SenderOptions, type Time } from "./sender.js";
export { InsufficientForFee, SenderError, type SendOptions } from "./job.js";
export { MemoryStore, type Entry, type Scope, type Store } from "./store.js";
