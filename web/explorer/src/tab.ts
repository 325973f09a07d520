// Which part of a page is shown. It is in the address, so that whoever is sent that sees the same.
import { signal } from "@preact/signals";

const query = signal(location.search);

/** moved has the pages read their address again. */
export function moved(): void {
  query.value = location.search;
}

/** asked is what the address says of something; empty where it says nothing. */
export const asked = (what: string): string => new URLSearchParams(query.value).get(what) ?? "";

/** useTab gives the part that the address names, else the first, and a function that goes to another. */
export function useTab<T extends string>(names: readonly T[]): [T, (name: T) => void] {
  const said = asked("tab");
  const at = names.find((name) => name.toLowerCase() === said) ?? names[0]!;
  const go = (name: T): void => {
    history.replaceState(null, "", `${location.pathname}?tab=${name.toLowerCase()}`);
    moved();
  };
  return [at, go];
}
