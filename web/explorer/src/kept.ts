// Data about a chain that only this browser stores, by the chain's genesis. Without storage, it ends with the page.
import { info } from "./node";

const forgotten = new Map<string, string>();

const nameOf = (what: string): string => `cairn.${what}.${info.value?.genesis_hash ?? ""}`;

/** readKept returns the JSON stored under a name, which the caller must check; undefined if there is none. */
export function readKept(what: string): unknown {
  const name = nameOf(what);
  let text = forgotten.get(name) ?? null;
  try {
    text ??= localStorage.getItem(name);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined; // no storage, or damaged content
  }
}

export function keep(what: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(nameOf(what), text);
  } catch {
    forgotten.set(nameOf(what), text); // the browser has no storage for pages, or it is full
  }
}
