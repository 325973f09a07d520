import * as host from "./host";
import { Reader } from "./reader";
import { require, revertWith } from "./revert";
import { Unpacker } from "./unpacker";
import { Writer } from "./writer";

/** The first byte of arguments, results and typed errors in the binary form (docs/protocol.md, "ABI"). */
export const BINARY: u8 = 1;

let start: usize = 0;
let length: u32 = 0;
let binary: bool = false;

/** Reads the arguments. Returns whether they are in the binary form; result and errors then have this form too. */
export function receive(): bool {
  length = host.args_len();
  start = heap.alloc(length);
  host.args_read(start);
  binary = length > 0 && load<u8>(start) == BINARY;
  return binary;
}

/** The arguments in the binary form. */
export function packedArguments(): Unpacker {
  return new Unpacker(start + 1, length - 1, "arguments: not of their types");
}

/** The arguments as JSON. An empty text means the empty object. */
export function jsonArguments(): Reader {
  if (!length) return new Reader(memory.data<u8>([0x7b, 0x7d]), 2, "arguments");
  return new Reader(start, length, "arguments");
}

/** Reverts if a call brings coins to a function that takes none. */
export function refuseCoins(): void {
  require(host.value() == 0, "the function takes no coins");
}

/** Ends a function: its result is the call's return data. */
export function answer(result: Writer): void {
  host.return_data(result.start, result.length);
}

/** Whether the call's result must be in the binary form. */
export function isBinary(): bool {
  return binary;
}

/** Ends the call with a typed error, an instance of a class with the decorator @error: its effects are undone. */
export function fail<T>(error: T): void {
  const reason = new Writer();
  // @ts-ignore: added by @error
  error.__fail(reason, binary);
  revertWith(reason);
}
