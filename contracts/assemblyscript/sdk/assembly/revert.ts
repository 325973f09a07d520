import * as host from "./host";
import { Writer } from "./writer";

/** Ends the call: its effects are undone and the caller gets the reason. `throw new Error(reason)` does the same. */
export function revert(reason: string): void {
  const text = new Writer();
  text.text(reason);
  revertWith(text);
}

/** Reverts with a reason unless a condition holds. */
export function require(condition: bool, reason: string): void {
  if (!condition) revert(reason);
}

/** Reverts where something is longer than the protocol allows, and says so: the host would only end the call. */
export function limit(what: string, length: u32, most: u32): void {
  if (length <= most) return;
  const text = new Writer();
  text.text(what);
  text.text(" of ");
  text.decimal(length);
  text.text(" bytes: at most ");
  text.decimal(most);
  revertWith(text);
}

/** Ends the call: a result is none of its type. */
export function overflow(): void {
  revert("arithmetic overflow");
}

/** Reverts with bytes. */
export function revertWith(reason: Writer): void {
  host.revert(reason.start, reason.length);
  unreachable();
}

/** What the compiler calls for `throw` and for what its library refuses, an index out of range for instance. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  revert(message === null ? "aborted" : message);
}
