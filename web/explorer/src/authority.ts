// By whose word a header counts: which key signs this chain's blocks, and how the page knows.
import { computed, signal } from "@preact/signals";
import type { Account } from "@cairn-chain/sdk";
import { keep, readKept } from "./kept";
import { info } from "./node";

/** Authority is the key that the page takes for the producer's. */
export interface Authority {
  producer: Account;
  /** a person said it, or a node did when this browser first came to the chain */
  by: "person" | "node";
  /** Unix seconds */
  since: number;
}

const changed = signal(0);
const begun = Math.floor(Date.now() / 1000);

const isKey = (text: unknown): text is Account => typeof text === "string" && /^0x[0-9a-f]{64}$/.test(text);

/** authority is what this browser remembers of the chain; the first time it takes the node's word, and remembers that. */
export const authority = computed<Authority | null>(() => {
  void changed.value;
  if (!info.value) return null;
  const kept = readKept("producer") as Partial<Authority> | undefined;
  if (isKey(kept?.producer) && typeof kept.since === "number") {
    return { producer: kept.producer, by: kept.by === "person" ? "person" : "node", since: kept.since };
  }
  const first: Authority = { producer: `0x${info.value.protocol_public_key}`, by: "node", since: begun };
  keep("producer", first);
  return first;
});

/** trustProducer takes a person's word for the producer's key; it returns false for what is no key. */
export function trustProducer(text: string): boolean {
  const hex = text.trim().toLowerCase().replace(/^(0x)?/, "0x");
  if (!isKey(hex)) return false;
  keep("producer", { producer: hex, by: "person", since: Math.floor(Date.now() / 1000) });
  changed.value++;
  return true;
}
