import { retryAfter, type Client } from "./client.js";
import { HttpError, RpcError, UnreachableError } from "./errors.js";
import type { Block, Event, EventFilter, PaymentFilter, PaymentPage, RangeProofs, SyncStatus } from "./generated.js";
import type { Hash } from "./hex.js";
import { Signal, wait } from "./signal.js";
import { Subscription, type Topic } from "./socket.js";

/** StreamStatus is the state of a stream; `since` is in Unix milliseconds. */
export type StreamStatus =
  | { state: "catching-up" | "live" | "ended" }
  | { state: "reconnecting"; since: number; attempt: number; cause: unknown };

/** Stream yields items in order, each once. It resumes after a failure, and ends when its signal aborts. */
export interface Stream<T> extends AsyncIterable<T> {
  readonly status: Signal<StreamStatus>;
}

export interface StreamOptions {
  /** ends the stream */
  signal?: AbortSignal;
  /** the polling interval without a WebSocket while there is nothing new, in milliseconds: by default 1,000 */
  poll?: number;
}

const BLOCKS_PAGE = 256;
/** A stream retries by itself, and shows that in its status. */
const ONCE = { retry: 0 };

/**
 * watchBlocks yields the blocks from a height on, with the hashes of their transactions unless `headersOnly` is set:
 * each height once and in order. To resume, begin at the last height + 1. After dev_revert it continues after the new
 * head; the next block's parentHash then differs from the last block's hash.
 */
export function watchBlocks(client: Client, from: number, options: StreamOptions & { headersOnly?: boolean } = {}): Stream<Block> {
  client = client.with(ONCE);
  let next = from;
  const headers_only = options.headersOnly ?? false;
  const moveBack = (head: number): void => {
    if (next > from && head + 1 < next) next = head + 1; // the chain was reverted
  };
  return stream(client, options, {
    topic: "newBlocks",
    filter: () => ({ from_block: next, headers_only }),
    taken: ({ height }) => (next = height + 1),
    refused: (error) => {
      const before = next;
      if (error.is("above_head")) moveBack(Number(error.data["max"]) - 1);
      return next !== before;
    },
    page: async () => {
      const range = { from_height: next, to_height: next + BLOCKS_PAGE - 1, headers_only };
      const [items, head] = await Promise.all([client.call("svc_getBlocks", range), client.call("svc_blockNumber")]);
      if (items.length === 0) moveBack(Number(head));
      return items.flatMap(({ block }) => (block ? [block] : []));
    },
  });
}

/**
 * watchEvents yields the events that match a filter, from its cursor or from_block on, or else from the oldest stored
 * one. To resume, pass the `cursor` of the last event. It ends with an RpcError if the cursor is invalid
 * (`bad_cursor`), pruned (`pruned`), or in a block that a development chain reverted (`taken_back`).
 */
export function watchEvents(client: Client, filter: Omit<EventFilter, "to_block" | "limit">, options: StreamOptions = {}): Stream<Event> {
  client = client.with(ONCE);
  let asked: EventFilter = filter;
  let last = 0; // the height of the last event
  let mark: { height: number; hash: Hash } | undefined; // end of the yielded blocks
  return stream(client, options, {
    topic: "events",
    filter: async () => {
      if (asked.cursor || asked.from_block !== undefined && asked.from_block !== null) return { ...asked, progress: true };
      return { ...asked, from_block: (await client.call("svc_getNodeInfo")).oldest_height, progress: true };
    },
    taken: ({ cursor, block_height }) => {
      const { from_block: _, ...rest } = asked;
      asked = { ...rest, cursor };
      last = block_height;
    },
    silent: ({ topics }) => topics === undefined, // it only shows the node's progress
    // behind a load balancer, another node may be behind the one that returned the cursor
    passes: (error) => !!asked.cursor && error instanceof RpcError && error.is("above_head"),
    page: async () => {
      const [head, same] = await Promise.all([
        client.call("svc_getBlockByNumber", "latest", false, true),
        mark && client.call("svc_getBlockByNumber", mark.height, false, true),
      ]);
      if (mark && same && same.hash !== mark.hash) {
        throw new RpcError("svc_getEvents", -32602, "the block up to which events were given was taken back", { reason: "taken_back" });
      }
      if (!head || (asked.from_block ?? 0) > head.height) return []; // the range does not exist yet
      const found = await client.call("svc_getEvents", { ...asked, to_block: head.height });
      if (found.length === 0 && head.height >= last) {
        const { cursor: _, ...rest } = asked; // its block may be pruned
        asked = { ...rest, from_block: Math.max(head.height + 1, asked.from_block ?? 0) };
        mark = head;
      }
      return found;
    },
  });
}

const PAYMENTS_PAGE = 1000;

/**
 * watchPayments yields all payments to and by accounts, from the filter's cursor or from_block on, or else from the
 * oldest stored block. It yields pages of existing payments and then of new ones; a page may be empty. Store a page's
 * `resume` together with your results for its payments, and pass it as the cursor to resume. It ends with an RpcError
 * if the cursor is `pruned`, or `taken_back`: a development chain has reverted blocks that a page covered.
 */
export function watchPayments(
  client: Client,
  filter: Omit<PaymentFilter, "to_block" | "limit" | "order">,
  options: StreamOptions = {},
): Stream<PaymentPage> {
  client = client.with(ONCE);
  let asked: PaymentFilter = filter;
  const taken = ({ resume }: PaymentPage): void => {
    const { from_block: _, ...rest } = asked;
    asked = { ...rest, cursor: resume };
  };
  return stream(client, options, {
    topic: "payments",
    filter: async () => {
      if (asked.cursor || asked.from_block !== undefined && asked.from_block !== null) return asked;
      return { ...asked, from_block: (await client.call("svc_getNodeInfo")).oldest_height };
    },
    taken,
    // behind a load balancer, another node may be behind the one that returned the cursor
    passes: (error) => !!asked.cursor && error instanceof RpcError && error.is("above_head"),
    page: async () => {
      const page = await client.call("svc_getPayments", { ...asked, limit: PAYMENTS_PAGE });
      if (page.payments.length > 0 || !page.complete) return [page];
      taken(page);
      return [];
    },
  });
}

/**
 * watchRangeProofs yields the ranges of blocks that the node has proven: now, and after each change, at most once a
 * second.
 */
export function watchRangeProofs(client: Client, options: StreamOptions = {}): Stream<RangeProofs[]> {
  client = client.with(ONCE);
  let last = "";
  const said = (ranges: RangeProofs[]) => ranges.map((r) => `${r.blocks} ${r.oldest} ${r.newest}`).join();
  return stream(client, options, {
    topic: "rangeProofs",
    filter: () => ({}),
    taken: (ranges) => (last = said(ranges)),
    page: async () => {
      const { range_proofs: ranges } = await client.call("svc_getNodeInfo");
      return said(ranges) === last ? [] : [ranges];
    },
  });
}

/** watchSyncStatus yields the node's sync status: now, and after each change, at most once a second. */
export function watchSyncStatus(client: Client, options: StreamOptions = {}): Stream<SyncStatus> {
  client = client.with(ONCE);
  let last = "";
  return stream(client, options, {
    topic: "syncStatus",
    filter: () => ({}),
    taken: (status) => (last = JSON.stringify(status)),
    page: async () => {
      const status = await client.call("svc_getSyncStatus");
      return JSON.stringify(status) === last ? [] : [status];
    },
  });
}

/**
 * watchPending yields the hash of each transaction that the mempool accepts from now on. It has no history:
 * transactions accepted while its status is `reconnecting` are missed. It throws a TypeError if there is no WebSocket.
 */
export function watchPending(client: Client, options: StreamOptions = {}): Stream<Hash> {
  if (!hasSocket(client)) throw new TypeError("pending transactions need a WebSocket: pass one in the client's options");
  return stream(client, options, { topic: "newPendingTransactions", filter: () => ({}), taken: () => {}, page: async () => [] });
}

/** Source is the origin of a stream's items: a subscription, or pages if there is no WebSocket. */
interface Source<T> {
  topic: Topic;
  /** parameters of the subscription, starting after the last yielded item */
  filter(): object | Promise<object>;
  page(): Promise<T[]>;
  /** called with each item before it is yielded */
  taken(item: T): void;
  /** reports whether to hide an item from the reader */
  silent?(item: T): boolean;
  /** reports whether a retry may help, in addition to the rule for all streams */
  passes?(error: unknown): boolean;
  /** reports whether to subscribe again with another filter */
  refused?(error: RpcError): boolean;
}

/** hasSocket reports whether there is a WebSocket that the node will accept: a browser's sends no key. */
function hasSocket({ options: { key, WebSocket = globalThis.WebSocket } }: Client): boolean {
  return key === undefined && !!WebSocket;
}

function stream<T>(client: Client, options: StreamOptions, source: Source<T>): Stream<T> {
  const status = new Signal<StreamStatus>({ state: "catching-up" });
  const { signal } = options;
  const become = (state: "catching-up" | "live"): void => {
    if (status.value.state !== state) status.set({ state });
  };
  const pages = hasSocket(client) ? pushed(client, source, become, signal) : asked(source, become, options);
  async function* items(): AsyncGenerator<T, void, undefined> {
    let attempt = 0;
    let since = 0;
    try {
      while (!signal?.aborted) {
        let found: T[];
        try {
          found = await pages.next();
        } catch (cause) {
          pages.close();
          client.failed(cause);
          if (!passes(cause) && !source.passes?.(cause)) throw cause;
          if (attempt++ === 0) since = Date.now();
          status.set({ state: "reconnecting", since, attempt, cause });
          await wait(backoff(cause, attempt), signal);
          continue;
        }
        attempt = 0;
        for (const item of found) {
          if (signal?.aborted) return;
          source.taken(item);
          if (!source.silent?.(item)) yield item;
        }
      }
    } finally {
      pages.close();
      status.set({ state: "ended" });
    }
  }
  return { status, [Symbol.asyncIterator]: items };
}

/** Pages returns the next items of a stream, possibly none. */
interface Pages<T> {
  next(): Promise<T[]>;
  close(): void;
}

/** asked requests pages, and waits after an empty one. */
function asked<T>(source: Source<T>, become: (state: "catching-up" | "live") => void, { poll = 1000, signal }: StreamOptions): Pages<T> {
  let empty = false;
  return {
    async next() {
      if (empty) await wait(poll, signal);
      empty = false;
      if (signal?.aborted) return [];
      const found = await source.page();
      empty = found.length === 0;
      become(empty ? "live" : "catching-up");
      return found;
    },
    close() {},
  };
}

/**
 * pushed subscribes, and subscribes again after each failure or if too much waited for a slow consumer. It is live once
 * nothing waits.
 */
function pushed<T>(client: Client, source: Source<T>, become: (state: "catching-up" | "live") => void, signal?: AbortSignal): Pages<T> {
  let subscription: Subscription | undefined;
  const close = (): void => {
    subscription?.close();
    subscription = undefined;
  };
  return {
    async next() {
      if (!subscription) {
        const made = (subscription = new Subscription(client, source.topic, await source.filter(), signal));
        try {
          await made.accepted;
        } catch (error) {
          close();
          if (error instanceof RpcError && source.refused?.(error)) return [];
          throw error;
        }
      }
      if (subscription.waiting === 0) become("live");
      const found = (await subscription.next()) as T[];
      if (found.length === 0) close();
      return found;
    },
    close,
  };
}

/** passes reports whether a retry may help. */
function passes(error: unknown): boolean {
  if (error instanceof RpcError) return error.reason === undefined || ["rate", "busy", "time"].includes(error.reason);
  return error instanceof UnreachableError || error instanceof HttpError;
}

/**
 * backoff returns the pause that the node requests, or 0.2 s doubling up to 10 s. A quarter of it is random, so that
 * many clients do not return at once.
 */
function backoff(error: unknown, attempt: number): number {
  const asked = retryAfter(error);
  if (asked !== undefined) return asked * 1000;
  return Math.min(200 * 2 ** (attempt - 1), 10_000) * (0.75 + Math.random() / 4);
}
