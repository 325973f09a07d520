// The visible part of a page. It is in the address, so that a shared link shows the same part.
import { signal } from "@preact/signals";

const query = signal(location.search);

/** moved makes the pages read their address again. */
export function moved(): void {
  query.value = location.search;
}

/** asked returns a parameter of the address, or "" if it is absent. */
export const asked = (what: string): string => new URLSearchParams(query.value).get(what) ?? "";

/** useTab returns the part in the address, or else the first part, and a function that opens another. */
export function useTab<T extends string>(names: readonly T[]): [T, (name: T) => void] {
  const said = asked("tab");
  const at = names.find((name) => name.toLowerCase() === said) ?? names[0]!;
  const go = (name: T): void => {
    history.replaceState(null, "", `${location.pathname}?tab=${name.toLowerCase()}`);
    moved();
  };
  return [at, go];
}
