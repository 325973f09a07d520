import { convert } from "./convert.js";
import { HttpError, ProtocolError, RevertError, RpcError, UnreachableError } from "./errors.js";
import { results, type BlockRef, type Block, type Methods, type NonceRef, type Receipt, type TransactionStatus } from "./generated.js";
import { concat, fromHex, type Account, type Hash } from "./hex.js";
import { parseJSON, stringifyJSON } from "./json.js";
import { wait } from "./signal.js";

export type Method = keyof Methods;
export type ParamsOf<M extends Method> = Methods[M]["params"];
export type ResultOf<M extends Method> = Methods[M]["result"];

/** What a client may be told beside the node's address. */
export interface ClientOptions {
  /** the API key, where the node asks for one */
  key?: string;
  /** instead of the global fetch */
  fetch?: typeof fetch;
  /** instead of the global WebSocket, null for none; streams ask again and again where there is none, and where there is a key */
  WebSocket?: typeof WebSocket | null;
  /** how many calls that are made in one microtask go as one request: 100 unless said, 1 for none together */
  batch?: number;
  /** how long an answer may take, in milliseconds: 40 s unless said; svc_sendRawTransactionSync takes up to 30 s */
  timeout?: number;
}

/** Call is one call of a request that {@link Client.post} makes. */
export interface Call {
  method: string;
  params: unknown[];
}

/** The largest answer that is read, in bytes; a node's have at most 64 MiB. */
const MAX_ANSWER = 72 << 20;
/** The longest proof of a block, or of a range of blocks, that is read, in bytes. */
const MAX_PROOF = 128 << 20;

interface Waiting extends Call {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** createClient makes a client of a node's HTTP address. It connects when it is first used. */
export function createClient(url: string, options: ClientOptions = {}): Client {
  return new Client(url, options);
}

/** Client calls a node's methods. Calls made in one microtask go as one request. */
export class Client {
  readonly url: string;
  readonly options: ClientOptions;
  #queue: Waiting[] = [];
  #id = 0;

  constructor(url: string, options: ClientOptions) {
    this.url = url;
    this.options = options;
  }

  /**
   * call calls a method with its parameters by position. It rejects with an RpcError where the node answers with an error, an
   * HttpError or UnreachableError where there is no answer, a ProtocolError where it makes no sense.
   */
  call<M extends Method>(method: M, ...params: ParamsOf<M>): Promise<ResultOf<M>> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ method, params, resolve: resolve as (value: unknown) => void, reject });
      if (this.#queue.length === 1) queueMicrotask(() => this.#flush());
    });
  }

  /** batch makes calls as one request: each item of its result is a value, or the RpcError that its call failed with. */
  async batch<const T extends readonly Promise<unknown>[]>(
    make: (client: Client) => T,
  ): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> | RpcError }> {
    const outcomes = make(this).map((made) => made.catch((error: unknown) => {
      if (error instanceof RpcError) return error;
      throw error;
    }));
    return (await Promise.all(outcomes)) as { -readonly [I in keyof T]: Awaited<T[I]> | RpcError };
  }

  /**
   * post makes exactly one request of calls, at least one, and gives their results in order, those that failed as RpcError. It rejects
   * where the whole request failed.
   */
  async post(calls: Call[]): Promise<unknown[]> {
    const first = this.#id + 1;
    this.#id += calls.length;
    const requests = calls.map(({ method, params }, i) => ({ jsonrpc: "2.0", id: first + i, method, params: trimmed(params) }));
    const answer = await this.#fetch(stringifyJSON(requests.length === 1 ? requests[0] : requests));
    const answers = new Map<unknown, Record<string, unknown>>();
    for (const item of Array.isArray(answer) ? answer : [answer]) if (isObject(item)) answers.set(item["id"], item);
    return calls.map(({ method }, i) => outcome(method, answers.get(first + i) ?? answers.get(null)));
  }

  /** balance is an account's, in smallest units; 0 where it was never used. */
  balance(account: Account | string, block: BlockRef = "latest"): Promise<bigint> {
    return this.call("svc_getBalance", account, block);
  }
  /** nonce is the number of an account's transactions that are included, or with "pending" that will be. */
  nonce(account: Account | string, block: NonceRef = "latest"): Promise<bigint> {
    return this.call("svc_getTransactionCount", account, block);
  }
  /** block is the block of a height or hash with the hashes of its transactions; null above the head. */
  block(ref: BlockRef | Hash): Promise<Block | null> {
    if (typeof ref === "string" && ref.length === 66) return this.call("svc_getBlockByHash", ref as Hash);
    return this.call("svc_getBlockByNumber", ref as BlockRef);
  }
  /** receipt waits for a transaction's receipt, asking each half second, until the signal aborts: it rejects with its reason. */
  async receipt(hash: Hash, options: { signal?: AbortSignal } = {}): Promise<Receipt> {
    for (;;) {
      options.signal?.throwIfAborted();
      const receipt = await this.call("svc_getTransactionReceipt", hash).catch((error: unknown) => {
        if (error instanceof RpcError && error.is("pruned")) return null; // in no block that the node keeps, or not yet
        throw error;
      });
      if (receipt) return receipt;
      await wait(500, options.signal);
    }
  }
  /** proven waits until the node has a proof of a block, asking each second. */
  async proven(height: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    for (;;) {
      options.signal?.throwIfAborted();
      const { proofs } = await this.call("svc_getNodeInfo");
      if (proofs && proofs.oldest <= height && height <= proofs.newest) return;
      await wait(1000, options.signal);
    }
  }
  /**
   * proof is the proof of a block, or of the blocks from one to another together, with all that it takes to verify it; null where the
   * node has none, or none yet. Nothing of it is checked here.
   */
  async proof(from: number, to = from, options: { signal?: AbortSignal } = {}): Promise<Uint8Array | null> {
    const url = new URL(`proof/${from}${to === from ? "" : `-${to}`}`, this.url.replace(/\/?$/, "/"));
    return this.#request(url, {}, options.signal, async (response) => {
      if (response.status === 404) {
        await response.body?.cancel();
        return null;
      }
      const parts: Uint8Array[] = [];
      await bounded(response, MAX_PROOF, (part) => parts.push(part));
      return concat(...parts);
    });
  }
  /** transactionStatus says where a transaction is. */
  transactionStatus(hash: Hash): Promise<TransactionStatus> {
    return this.call("svc_getTransactionStatus", hash);
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    const size = this.options.batch ?? 100;
    for (let at = 0; at < queue.length; at += size) void this.#settle(queue.slice(at, at + size));
  }

  async #settle(waiting: Waiting[]): Promise<void> {
    try {
      const outcomes = await this.post(waiting);
      waiting.forEach((call, i) => (outcomes[i] instanceof Error ? call.reject(outcomes[i]) : call.resolve(outcomes[i])));
    } catch (error) {
      for (const call of waiting) call.reject(error);
    }
  }

  async #fetch(body: string): Promise<unknown> {
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body };
    const text = await this.#request(this.url, init, undefined, async (response) => {
      const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
      const parts: string[] = [];
      await bounded(response, MAX_ANSWER, (part) => parts.push(decoder.decode(part, { stream: true })));
      return parts.join("") + decoder.decode();
    });
    try {
      return parseJSON(text);
    } catch (error) {
      throw new ProtocolError("bad_answer", "the node's answer is not JSON");
    }
  }

  /** #request makes a request and reads its answer: that of a status other than 200 and 404 is an HttpError, and 404 for a call. */
  async #request<T>(
    url: string | URL, init: { method?: string; headers?: Record<string, string>; body?: string }, ended: AbortSignal | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const headers = { ...init.headers };
    if (this.options.key !== undefined) headers["Authorization"] = `Bearer ${this.options.key}`;
    const late = AbortSignal.timeout(this.options.timeout ?? 40_000);
    const signal = ended ? AbortSignal.any([ended, late]) : late;
    try {
      const response = await (this.options.fetch ?? fetch)(url, { ...init, headers, signal });
      if (response.status !== 200 && (response.status !== 404 || init.method === "POST")) {
        await response.body?.cancel();
        const after = response.headers.get("Retry-After");
        throw new HttpError(response.status, after !== null && /^\d{1,9}$/.test(after) ? Number(after) : undefined);
      }
      return await read(response);
    } catch (error) {
      if (error instanceof HttpError || error instanceof ProtocolError) throw error;
      ended?.throwIfAborted();
      throw new UnreachableError(late.aborted ? "the node did not answer in time" : "the node cannot be reached", { cause: error });
    }
  }
}

/** succeeded gives a receipt back, and throws a RevertError where the transaction failed. */
export function succeeded(receipt: Receipt): Receipt {
  if (receipt.status === 1n) return receipt;
  const reason = receipt.error ?? "failed";
  const said = receipt.error === "reverted" ? printable(receipt.returnData) : "";
  const message = said === "" ? `the transaction failed: ${reason}` : `the transaction failed: ${reason}: ${said}`;
  throw new RevertError(reason, message, receipt.returnData, receipt.gasUsed);
}

/** printable is revert data as a text of at most 256 bytes, empty where it is none. */
function printable(data: `0x${string}`): string {
  const bytes = fromHex(data);
  if (bytes.length > 256) return "";
  const text = new TextDecoder().decode(bytes);
  return /[\p{C}\ufffd]/u.test(text) ? "" : text;
}

/** trimmed leaves out parameters at the end that are not given. */
function trimmed(params: unknown[]): unknown[] {
  let length = params.length;
  while (length > 0 && params[length - 1] === undefined) length--;
  return params.slice(0, length).map((p) => p ?? null);
}

function outcome(method: string, answer: Record<string, unknown> | undefined): unknown {
  if (!answer) return new ProtocolError("bad_answer", `the node gave no answer to ${method}`);
  const error = answer["error"];
  if (isObject(error)) {
    const { code, message, data } = error;
    return new RpcError(method, Number(code), String(message), isObject(data) ? data : {});
  }
  if (!("result" in answer)) return new ProtocolError("bad_answer", `the node gave no result of ${method}`);
  try {
    return convert(results[method], answer["result"]);
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
}

/** bounded hands an answer's body to take, part by part; one of more bytes than most is a ProtocolError. */
async function bounded(response: Response, most: number, take: (part: Uint8Array) => void): Promise<void> {
  let size = 0;
  if (!response.body) return;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new ProtocolError("too_large", `the node's answer is over ${most} bytes`);
    }
    take(value);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
