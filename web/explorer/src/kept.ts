// What this browser remembers of a chain: only here, by the chain's genesis. Without a storage it is forgotten with the page.
import { info } from "./node";

const forgotten = new Map<string, string>();

const nameOf = (what: string): string => `cairn.${what}.${info.value?.genesis_hash ?? ""}`;

/** readKept gives what was kept under a name, as JSON that the caller checks; undefined for nothing. */
export function readKept(what: string): unknown {
  const name = nameOf(what);
  let text = forgotten.get(name) ?? null;
  try {
    text ??= localStorage.getItem(name);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined; // no storage, or not what was kept
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
