export { Account, Bytes, Bytes32, Hash, Option } from "./assembly/types";
export { Cell, List, Map } from "./assembly/storage";
export { Call, CallStatus, Result } from "./assembly/call";
export { emit } from "./assembly/event";
export { require, revert } from "./assembly/revert";
export * from "./assembly/context";
