// The authority for headers: the key that signs this chain's blocks, and the source from which the page knows it.
import { computed, signal } from "@preact/signals";
import type { Account } from "@cairn-chain/sdk";
import { keep, readKept } from "./kept";
import { info } from "./node";

/** Authority is the key that the page believes to be the producer's. */
export interface Authority {
  producer: Account;
  /** whether a person entered it, or a node gave it at this browser's first visit to the chain */
  by: "person" | "node";
  /** Unix seconds */
  since: number;
}

const changed = signal(0);
const begun = Math.floor(Date.now() / 1000);

const isKey = (text: unknown): text is Account => typeof text === "string" && /^0x[0-9a-f]{64}$/.test(text);

/**
 * authority returns the key that this browser remembers for the chain. The first time it believes the node, and
 * remembers its key.
 */
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

/** trustProducer stores a producer's key that a person entered; it returns false for text that is not a key. */
export function trustProducer(text: string): boolean {
  const hex = text.trim().toLowerCase().replace(/^(0x)?/, "0x");
  if (!isKey(hex)) return false;
  keep("producer", { producer: hex, by: "person", since: Math.floor(Date.now() / 1000) });
  changed.value++;
  return true;
}
