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

/** Stream gives items in order, each once. It goes on after a failure by itself, and ends when its signal aborts. */
export interface Stream<T> extends AsyncIterable<T> {
  readonly status: Signal<StreamStatus>;
}

export interface StreamOptions {
  /** ends the stream */
  signal?: AbortSignal;
  /** how often to ask when there is nothing new and there is no WebSocket, in milliseconds: 1,000 unless given */
  poll?: number;
}

const BLOCKS_PAGE = 256;
/** A stream asks again by itself, and tells of that in its status. */
const ONCE = { retry: 0 };

/**
 * watchBlocks gives the blocks from a height on, with the hashes of their transactions, or without with `headersOnly`: each height once
 * and in order. To resume, begin at the last height + 1. After dev_revert it goes on after the new head: the next block's parentHash is
 * not the last one's hash then.
 */
export function watchBlocks(client: Client, from: number, options: StreamOptions & { headersOnly?: boolean } = {}): Stream<Block> {
  client = client.with(ONCE);
  let next = from;
  const headers_only = options.headersOnly ?? false;
  const moveBack = (head: number): void => {
    if (next > from && head + 1 < next) next = head + 1; // the chain was taken back
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
 * watchEvents gives the events that a filter asks for, from its cursor or from_block on, or else the first that is kept. To resume, give
 * the `cursor` of the last event. It ends with an RpcError where that is none of the chain's (`bad_cursor`), is kept no more (`pruned`),
 * or is of a block that a development chain took back (`taken_back`).
 */
export function watchEvents(client: Client, filter: Omit<EventFilter, "to_block" | "limit">, options: StreamOptions = {}): Stream<Event> {
  client = client.with(ONCE);
  let asked: EventFilter = filter;
  let last = 0; // the height of the last event
  let mark: { height: number; hash: Hash } | undefined; // the block up to which all was given, where that is no event's
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
    silent: ({ topics }) => topics === undefined, // it only says how far the node has come
    // behind a load balancer another node may not have come as far as the one that gave the cursor
    passes: (error) => !!asked.cursor && error instanceof RpcError && error.is("above_head"),
    page: async () => {
      const [head, same] = await Promise.all([
        client.call("svc_getBlockByNumber", "latest", false, true),
        mark && client.call("svc_getBlockByNumber", mark.height, false, true),
      ]);
      if (mark && same && same.hash !== mark.hash) {
        throw new RpcError("svc_getEvents", -32602, "the block up to which events were given was taken back", { reason: "taken_back" });
      }
      if (!head || (asked.from_block ?? 0) > head.height) return []; // there is no such range yet
      const found = await client.call("svc_getEvents", { ...asked, to_block: head.height });
      if (found.length === 0 && head.height >= last) {
        const { cursor: _, ...rest } = asked; // nothing comes after it up to the head, and the node may prune its block
        asked = { ...rest, from_block: Math.max(head.height + 1, asked.from_block ?? 0) };
        mark = head;
      }
      return found;
    },
  });
}

const PAYMENTS_PAGE = 1000;

/**
 * watchPayments gives what accounts are paid and pay, however, from the filter's cursor or from_block on, or else the first that is kept:
 * pages, first of what there is and then of what comes, some without payments. Store a page's `resume` together with what you did with its
 * payments, and give it as the cursor to go on. It ends with an RpcError where that is `pruned`, or `taken_back`: a development chain has
 * taken back what a page covered.
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
    // behind a load balancer another node may not have come as far as the one that gave the cursor
    passes: (error) => !!asked.cursor && error instanceof RpcError && error.is("above_head"),
    page: async () => {
      const page = await client.call("svc_getPayments", { ...asked, limit: PAYMENTS_PAGE });
      if (page.payments.length > 0 || !page.complete) return [page];
      taken(page);
      return [];
    },
  });
}

/** watchRangeProofs gives which ranges of blocks the node has proofs of: now, and when that has changed, once a second at most. */
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

/** watchSyncStatus gives what the node says of itself: now, and when it has changed, once a second at most. */
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
 * watchPending gives the hash of each transaction that the mempool accepts from now on. It has no history: what is accepted while its
 * status is `reconnecting` is missed. It throws a TypeError where there is no WebSocket.
 */
export function watchPending(client: Client, options: StreamOptions = {}): Stream<Hash> {
  if (!hasSocket(client)) throw new TypeError("pending transactions need a WebSocket: pass one in the client's options");
  return stream(client, options, { topic: "newPendingTransactions", filter: () => ({}), taken: () => {}, page: async () => [] });
}

/** Source is where a stream's items come from: a subscription, or pages where there is no WebSocket. */
interface Source<T> {
  topic: Topic;
  /** of the subscription, from what was taken last on */
  filter(): object | Promise<object>;
  page(): Promise<T[]>;
  /** called with each item before it is yielded */
  taken(item: T): void;
  /** reports whether an item is not for who reads the stream */
  silent?(item: T): boolean;
  /** reports whether asking again may help, where that is not so of every stream */
  passes?(error: unknown): boolean;
  /** reports whether to subscribe again with another filter */
  refused?(error: RpcError): boolean;
}

/** hasSocket reports whether there is a WebSocket that the node will take: a browser's sends no key. */
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

/** Pages is how a stream gets what comes next: some items, or none. */
interface Pages<T> {
  next(): Promise<T[]>;
  close(): void;
}

/** asked asks for pages, and waits before the next where one was empty. */
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

/** pushed subscribes, again after each failure and where too much waited for a slow consumer. It is live once nothing waits. */
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

/** passes reports whether asking again may help. */
function passes(error: unknown): boolean {
  if (error instanceof RpcError) return error.reason === undefined || ["rate", "busy", "time"].includes(error.reason);
  return error instanceof UnreachableError || error instanceof HttpError;
}

/** backoff is what the node asks for, or 0.2 s doubling to 10 s, a quarter of it by chance, so that many do not come at once. */
function backoff(error: unknown, attempt: number): number {
  const asked = retryAfter(error);
  if (asked !== undefined) return asked * 1000;
  return Math.min(200 * 2 ** (attempt - 1), 10_000) * (0.75 + Math.random() / 4);
}
