export * from "./hex.js";
export * from "./amounts.js";
export * from "./address.js";
export * from "./errors.js";
export { CodecError } from "./codec.js";
export * from "./transaction.js";
export * from "./gas.js";
export * from "./block.js";
export { tagged } from "./hash.js";
