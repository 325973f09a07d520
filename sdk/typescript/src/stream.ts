import type { Client } from "./client.js";
import { HttpError, RpcError, UnreachableError } from "./errors.js";
import type { Block, Event, EventFilter } from "./generated.js";
import { Signal, wait } from "./signal.js";

/** What a stream is doing; `since` is in milliseconds of the clock. */
export type StreamStatus =
  | { state: "catching-up" | "live" | "ended" }
  | { state: "reconnecting"; since: number; attempt: number; cause: unknown };

/** Stream gives items in order, each once. It goes on after a failure by itself, and ends when its signal aborts. */
export interface Stream<T> extends AsyncIterable<T> {
  readonly status: Signal<StreamStatus>;
}

export interface StreamOptions {
  /** ends the stream */
  signal?: AbortSignal;
  /** how often to ask when there is nothing new, in milliseconds: 1,000 unless given */
  poll?: number;
}

const BLOCKS_PAGE = 256;

/**
 * watchBlocks gives the blocks from a height on, with the hashes of their transactions: each height once and in order. To resume, begin
 * at the last height + 1. After dev_revert it goes on after the new head: the next block's parentHash is not the last one's hash then.
 */
export function watchBlocks(client: Client, from: number, options: StreamOptions = {}): Stream<Block> {
  let next = from;
  return stream(options, async () => {
    const range = { from_height: next, to_height: next + BLOCKS_PAGE - 1 };
    const [items, head] = await Promise.all([client.call("svc_getBlocks", range), client.call("svc_blockNumber")]);
    if (items.length === 0 && next > from && Number(head) + 1 < next) next = Number(head) + 1; // the chain was taken back
    return items.flatMap(({ block }) => (block ? [block] : []));
  }, (block) => (next = block.height + 1));
}

/**
 * watchEvents gives the events that a filter asks for, from its cursor or from_block on, or else the first that is kept. To resume, give
 * the `cursor` of the last event. It ends with an RpcError where that is none of the chain's (`bad_cursor`) or is kept no more (`pruned`).
 */
export function watchEvents(client: Client, filter: Omit<EventFilter, "to_block" | "limit">, options: StreamOptions = {}): Stream<Event> {
  let asked: EventFilter = filter;
  return stream(options, () => client.call("svc_getEvents", asked), ({ cursor }) => {
    const { from_block: _, ...rest } = asked;
    asked = { ...rest, cursor };
  });
}

/** stream asks for pages, and tells of each item once it was taken. */
function stream<T>(options: StreamOptions, page: () => Promise<T[]>, taken: (item: T) => void): Stream<T> {
  const status = new Signal<StreamStatus>({ state: "catching-up" });
  const { signal, poll = 1000 } = options;
  async function* items(): AsyncGenerator<T, void, undefined> {
    let attempt = 0;
    let since = 0;
    try {
      while (!signal?.aborted) {
        let found: T[];
        try {
          found = await page();
        } catch (cause) {
          if (!passes(cause)) throw cause;
          if (attempt++ === 0) since = Date.now();
          status.set({ state: "reconnecting", since, attempt, cause });
          await wait(backoff(cause, attempt), signal);
          continue;
        }
        attempt = 0;
        const state = found.length > 0 ? "catching-up" : "live";
        if (status.value.state !== state) status.set({ state });
        for (const item of found) {
          if (signal?.aborted) return;
          taken(item);
          yield item;
        }
        if (found.length === 0) await wait(poll, signal);
      }
    } finally {
      status.set({ state: "ended" });
    }
  }
  return { status, [Symbol.asyncIterator]: items };
}

/** passes reports whether asking again may help. */
function passes(error: unknown): boolean {
  if (error instanceof RpcError) return error.reason === undefined || ["rate", "busy", "time"].includes(error.reason);
  return error instanceof UnreachableError || error instanceof HttpError;
}

/** backoff is what the node asks for, or 0.2 s doubling to 10 s, a quarter of it by chance, so that many do not come at once. */
function backoff(error: unknown, attempt: number): number {
  if (error instanceof HttpError && error.retryAfter !== undefined) return error.retryAfter * 1000;
  return Math.min(200 * 2 ** (attempt - 1), 10_000) * (0.75 + Math.random() / 4);
}
