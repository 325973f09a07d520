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

/**
 * Reverts with a message if something is longer than the protocol allows. Without it the host would just end the call.
 */
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

/** Ends the call because a result does not have the expected type. */
export function overflow(): void {
  revert("arithmetic overflow");
}

/** Reverts with bytes. */
export function revertWith(reason: Writer): void {
  host.revert(reason.start, reason.length);
  unreachable();
}

/** Called by the compiler for `throw` and for errors in its library, such as an index out of range. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  revert(message === null ? "aborted" : message);
}
