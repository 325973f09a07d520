import type { Client, WebSocketLike } from "./client.js";
import { convert } from "./convert.js";
import { ProtocolError, RpcError, UnreachableError } from "./errors.js";
import { parseJSON, stringifyJSON } from "./json.js";

/** The time of silence after which a connection is pinged, and the timeout of the answer, in milliseconds. */
const SILENCE = 45_000;
const ANSWER = 20_000;
/**
 * The number of items that may wait for a slow consumer. Then the connection is closed, and reopened at the consumer's
 * position.
 */
const MAX_WAITING = 1024;

/** The topics of svc_subscribe, each with the shape of its items. */
const shapes = { newBlocks: "Block", events: undefined, syncStatus: "SyncStatus", proofs: undefined, rangeProofs: "[RangeProofs", newPendingTransactions: undefined, payments: "PaymentPage" };
export type Topic = keyof typeof shapes;

/** Subscription is one subscription over its own WebSocket. It queues items until they are taken or it fails. */
export class Subscription {
  readonly #socket: WebSocketLike;
  readonly #topic: Topic;
  #items: unknown[] = [];
  #failure: Error | undefined;
  #ended = false;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake: () => void = () => {};
  /**
   * resolves once the node has accepted the subscription; rejects with an RpcError if the node refuses it, or an
   * UnreachableError
   */
  readonly accepted: Promise<void>;
  #accept!: () => void;
  #refuse!: (error: Error) => void;

  /** An abort ends it: it then counts as accepted and yields nothing. */
  constructor(client: Client, topic: Topic, filter: object, readonly signal: AbortSignal | undefined) {
    const make = client.options.WebSocket ?? globalThis.WebSocket;
    this.#topic = topic;
    this.accepted = new Promise((resolve, reject) => ([this.#accept, this.#refuse] = [resolve, reject]));
    this.accepted.catch(() => {}); // anyone who waits for it still gets the rejection
    this.#socket = new make(new URL("ws", client.url.replace(/^http/, "ws").replace(/\/?$/, "/")).href);
    signal?.addEventListener("abort", this.#end);
    // The listeners stay, because some sockets emit another error when they are closed before they open, and an
    // unhandled one ends the process.
    const listen = (type: "open" | "message" | "error" | "close", heard: (event: any) => void): void => {
      this.#socket.addEventListener(type, (event) => this.#closed || heard(event));
    };
    listen("open", () => this.#send(1, "svc_subscribe", [topic, filter]));
    listen("message", ({ data }) => this.#take(String(data)));
    listen("error", (event) => this.#fail(new UnreachableError("the node cannot be reached", { cause: event.error ?? event.message })));
    listen("close", ({ code, reason }) => this.#fail(new UnreachableError(`the connection was closed: ${code} ${reason}`.trim())));
    this.#expect(ANSWER, () => this.#fail(new UnreachableError("the node did not answer in time")));
  }

  /** waiting is the number of queued items. */
  get waiting(): number {
    return this.#items.length;
  }

  /**
   * next waits for at least one item. It returns none if the subscription was ended or too many items waited, and
   * throws its failure.
   */
  async next(): Promise<unknown[]> {
    while (this.#items.length === 0 && !this.#ended && !this.#failure) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#items.length === 0 && this.#failure) throw this.#failure;
    return this.#items.splice(0);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.signal?.removeEventListener("abort", this.#end);
    this.#socket.close();
  }

  #send(id: number, method: string, params: unknown[]): void {
    this.#socket.send(stringifyJSON({ jsonrpc: "2.0", id, method, params }));
  }

  #take(text: string): void {
    this.#expect(SILENCE, () => {
      this.#send(2, "svc_blockNumber", []);
      this.#expect(ANSWER, () => this.#fail(new UnreachableError("the connection is dead")));
    });
    try {
      const { id, error, params } = parseJSON(text) as Message;
      if (id === 1 && error) this.#fail(new RpcError("svc_subscribe", Number(error.code), String(error.message), error.data ?? {}));
      else if (id === 1) this.#accept();
      else if (params) this.#items.push(convert(shapes[this.#topic], params.result));
    } catch (cause) {
      this.#fail(cause instanceof ProtocolError ? cause : new ProtocolError("bad_answer", "the node's message is not JSON"));
    }
    if (this.#items.length >= MAX_WAITING) this.#end();
    this.#wake();
  }

  readonly #end = (): void => {
    this.#ended = true;
    this.close();
    this.#accept();
    this.#wake();
  };

  #expect(milliseconds: number, otherwise: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(otherwise, milliseconds);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#refuse(this.#failure);
    this.close();
    this.#wake();
  }
}

interface Message {
  id?: unknown;
  error?: { code: unknown; message: unknown; data?: Record<string, unknown> };
  params?: { result: unknown };
}
