// Names that whoever uses this browser gives to accounts. The chain knows nothing of them, and no node is told.
import { computed, signal } from "@preact/signals";
import { keep, readKept } from "./kept";
import { info } from "./node";

export const MAX_LABEL = 40;
export const MAX_LABELS = 1000;

export type Labels = Readonly<Record<string, string>>;

const changed = signal(0);

/** readLabels takes what is JSON of labels, an object of names by account, and refuses all else with words for people. */
export function readLabels(value: unknown): Labels | string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "It is no object of names by account.";
  const found: Record<string, string> = {};
  const entries = Object.entries(value);
  if (entries.length > MAX_LABELS) return `There are more than ${MAX_LABELS}.`;
  for (const [id, name] of entries) {
    if (!/^0x[0-9a-f]{64}$/.test(id)) return `“${id.slice(0, 80)}” is no account: 0x and 64 digits.`;
    if (typeof name !== "string" || name.trim() === "" || [...name].length > MAX_LABEL) {
      return `The name of ${id} is no text of 1 to ${MAX_LABEL} characters.`;
    }
    found[id] = name.trim();
  }
  return found;
}

/** labels are those of this chain. */
export const labels = computed<Labels>(() => {
  void changed.value;
  if (!info.value) return {};
  const found = readLabels(readKept("labels") ?? {});
  return typeof found === "string" ? {} : found;
});

function store(all: Labels): void {
  keep("labels", all);
  changed.value++;
}

/** label names an account; an empty name takes the label away. */
export function label(id: string, name: string): void {
  const { [id]: _, ...rest } = labels.value;
  const text = [...name.trim()].slice(0, MAX_LABEL).join("");
  store(text === "" || Object.keys(rest).length >= MAX_LABELS ? rest : { ...rest, [id]: text });
}

/** addLabels takes in labels from elsewhere; those that are here already have the new names then. */
export function addLabels(text: string): string | number {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "It is no JSON.";
  }
  const found = readLabels(value);
  if (typeof found === "string") return found;
  const all = { ...labels.value, ...found };
  if (Object.keys(all).length > MAX_LABELS) return `There would be more than ${MAX_LABELS}.`;
  store(all);
  return Object.keys(found).length;
}
