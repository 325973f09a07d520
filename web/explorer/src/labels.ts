// Names that the user of this browser gives to accounts. They are sent to no node.
import { computed, signal } from "@preact/signals";
import { keep, readKept } from "./kept";
import { info } from "./node";

export const MAX_LABEL = 40;
export const MAX_LABELS = 1000;

export type Labels = Readonly<Record<string, string>>;

const changed = signal(0);

/**
 * readLabels reads labels from JSON, an object of names by account, and refuses anything else with a readable message.
 */
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

/** labels returns the labels for this chain. */
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

/** label names an account; an empty name removes the label. */
export function label(id: string, name: string): void {
  const { [id]: _, ...rest } = labels.value;
  const text = [...name.trim()].slice(0, MAX_LABEL).join("");
  store(text === "" || Object.keys(rest).length >= MAX_LABELS ? rest : { ...rest, [id]: text });
}

/** addLabels imports labels; they replace existing names of the same accounts. */
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
