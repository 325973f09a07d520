import { contentOf, type Action } from "./action.js";
import { isKey, nobody } from "./address.js";
import { convert } from "./convert.js";
import { HttpError, ProtocolError, RevertError, RpcError, UnreachableError } from "./errors.js";
import {
  results, type BlockRef, type Block, type Methods, type NonceRef, type Receipt, type Transaction as Included, type TransactionStatus,
} from "./generated.js";
import { concat, fromHex, toHex, type Account, type Hash } from "./hex.js";
import { parseJSON, stringifyJSON } from "./json.js";
import { wait } from "./signal.js";
import { checkSponsored } from "./sponsor.js";
import {
  KEY_SAMPLE, decodeTransaction, encodeForEstimate, feeCap, keyAccount, movedAmount, policyAccount, type Party, type Signed, type Transaction,
} from "./transaction.js";

export type Method = keyof Methods;
export type ParamsOf<M extends Method> = Methods[M]["params"];
export type ResultOf<M extends Method> = Methods[M]["result"];

/** WebSocketLike is the part of WebSocket that the SDK uses. Browsers, Node.js 22, `ws` and `undici` have it. */
export interface WebSocketLike {
  addEventListener(type: "open" | "message" | "error" | "close", listener: (event: any) => void): void;
  send(data: string): void;
  close(): void;
}

/** Options of a client. */
export interface ClientOptions {
  /** the API key, if the node requires one, or a function that returns the current key, for keys that are renewed */
  key?: string | (() => string);
  /** other nodes of the same chain: if one does not answer, the next is used */
  fallback?: readonly string[];
  /**
   * how long unanswered calls are repeated, in milliseconds: by default 30 s; 0 for no repetition. A call that sends is
   * repeated only if it did not arrive. A node's Retry-After is respected.
   */
  retry?: number;
  /** ends all waiting: calls reject with its reason */
  signal?: AbortSignal;
  /** instead of the global fetch */
  fetch?: typeof fetch;
  /** instead of the global WebSocket, null for none. Without one, or with a key, streams poll */
  WebSocket?: (new (url: string) => WebSocketLike) | null;
  /** the maximum number of calls of one microtask that share a request: by default 100; 1 for separate requests */
  batch?: number;
  /** how long an answer may take, in milliseconds: by default 40 s; svc_sendRawTransactionSync takes up to 30 s */
  timeout?: number;
}

/** TxFields are the optional fields of a transaction. The node supplies some of the missing ones. */
export type TxFields = Partial<Pick<Transaction, "nonce" | "gasLimit" | "maxFeePerGas" | "maxPriorityFeePerGas">> & {
  /**
   * gasMargin is added to the result of svc_estimateGas, for a call that may need more gas by the time it is in a
   * block.
   */
  gasMargin?: bigint;
  /** who pays the fee in the sender's place: a signer, or the result of `client.party`, keyAccount or policyAccount */
  payer?: Party;
  /** the latest timestamp of a block that may include it, in milliseconds; see validFor */
  validUntil?: bigint;
  /**
   * how long it is valid from now on, in milliseconds: by default for ever, or 5 minutes with a payer, who allows at
   * most 10 minutes
   */
  validFor?: number;
};

/** The default validity of a transaction with a payer, in milliseconds. */
export const SPONSORED_TIME = 300_000;

/** Call is one call of a request that {@link Client.post} makes. */
export interface Call {
  method: string;
  params: unknown[];
}

/** Outcomes are the results of calls in order, with an error for each failed call. */
export type Outcomes = unknown[] & {
  /** whether several requests were made: behind a load balancer their answers may refer to different blocks */
  divided?: true;
};

/** The largest answer that is read, in bytes; a node's answers have at most 64 MiB. */
const MAX_ANSWER = 72 << 20;
/** The longest proof of a block, or of a range of blocks, that is read, in bytes. */
const MAX_PROOF = 128 << 20;

/** The most bytes of calls in one request; a node accepts 5 MiB. */
const MAX_REQUEST = 2 << 20;
const [RETRY, TIMEOUT] = [30_000, 40_000];
/** The shortest and the longest pause before a call is repeated, in milliseconds. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [200, 5000];

/** Asked is a call in the form that is sent, without its ID. */
interface Asked {
  method: string;
  text: string;
}

interface Waiting extends Asked {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** createClient makes a client for a node's HTTP address. It connects at its first use. */
export function createClient(url: string, options: ClientOptions = {}): Client {
  return new Client(url, options);
}

/** Client calls a node's methods. Calls made in one microtask go as one request. */
export class Client {
  readonly options: ClientOptions;
  readonly #urls: readonly string[];
  #current = 0;
  #queue: Waiting[] = [];
  #id = 0;

  constructor(url: string, options: ClientOptions = {}) {
    this.#urls = [url, ...(options.fallback ?? [])];
    this.options = options;
  }

  /** url is the address of the node in use. */
  get url(): string {
    return this.#urls[this.#current]!;
  }

  /**
   * with returns a client for the same nodes with other options, such as a signal that ends its calls, or a shorter
   * timeout.
   */
  with(options: Omit<ClientOptions, "fallback">): Client {
    const [url, ...fallback] = this.#urls;
    return new Client(url!, { ...this.options, ...options, fallback });
  }

  /** failed switches to the next node, if there is one, after an error that another node may not have. */
  failed(error: unknown): void {
    if (error instanceof UnreachableError || (error instanceof HttpError && passing.includes(error.status))) {
      this.#current = (this.#current + 1) % this.#urls.length;
    }
  }

  /**
   * call calls a method with its parameters by position. It rejects with an RpcError if the node answers with an error,
   * an HttpError or UnreachableError if there is no answer, or a ProtocolError if the answer is invalid.
   */
  call<M extends Method>(method: M, ...params: ParamsOf<M>): Promise<ResultOf<M>> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...asked({ method, params }), resolve: resolve as (value: unknown) => void, reject });
      if (this.#queue.length === 1) queueMicrotask(() => this.#flush());
    });
  }

  /** batch makes calls in one request. Each item of its result is a value, or the RpcError of a failed call. */
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
   * post makes at least one call in one request, and returns the outcomes. If the node refuses a request as too large,
   * its calls are repeated in smaller requests, down to one call, and the outcomes say so. Nothing else is repeated. It
   * rejects if the first request failed as a whole.
   */
  async post(calls: Call[]): Promise<Outcomes> {
    const outcomes = await this.#divide(calls.map(asked));
    this.options.signal?.throwIfAborted();
    const [first] = outcomes;
    if (first instanceof Error && !(first instanceof RpcError) && outcomes.every((outcome) => outcome === first)) throw first;
    return outcomes;
  }

  /** balance returns an account's balance in smallest units; 0 for an unused account. */
  balance(account: Account | string, block: BlockRef = "latest"): Promise<bigint> {
    return this.call("svc_getBalance", account, block);
  }
  /** nonce returns the number of an account's included transactions, or with "pending" also counts the pending ones. */
  nonce(account: Account | string, block: NonceRef = "latest"): Promise<bigint> {
    return this.call("svc_getTransactionCount", account, block);
  }
  /** block returns the block at a height or with a hash, with the hashes of its transactions; null above the head. */
  block(ref: BlockRef | Hash): Promise<Block | null> {
    if (typeof ref === "string" && ref.length === 66) return this.call("svc_getBlockByHash", ref as Hash);
    return this.call("svc_getBlockByNumber", ref as BlockRef);
  }
  /**
   * blockWithTransactions returns the block at a height or with a hash, with its transactions; null above the head. If
   * they do not fit in one answer, it reads them in pages.
   */
  async blockWithTransactions(ref: BlockRef | Hash): Promise<(Omit<Block, "transactions"> & { transactions: Included[] }) | null> {
    const byHash = typeof ref === "string" && ref.length === 66;
    try {
      const whole = await (byHash ? this.call("svc_getBlockByHash", ref as Hash, true) : this.call("svc_getBlockByNumber", ref as BlockRef, true));
      return whole as (Omit<Block, "transactions"> & { transactions: Included[] }) | null;
    } catch (error) {
      if (!(error instanceof RpcError && error.is("response_size"))) throw error;
    }
    const block = await this.block(ref);
    if (!block) return null;
    const transactions: Included[] = [];
    while (transactions.length < block.transactions.length) {
      const page = await this.call("svc_getBlockTransactions", block.height, { from: transactions.length, limit: 1000 });
      const wrong = page.some(({ hash }, i) => hash !== block.transactions[transactions.length + i]);
      if (wrong || page.length === 0) throw new ProtocolError("bad_answer", `the transactions are not those of block ${block.height}`);
      transactions.push(...page);
    }
    return { ...block, transactions };
  }
  /**
   * build makes a transaction that is ready to be signed. The node supplies nonce, fees and gas limit unless fields has
   * them. For many concurrent callers of one account, use a sender, which assigns the nonces. `from` is the signer of
   * the sender, or the result of keyAccount or policyAccount: the gas limit depends on who signs. It throws a
   * SignerError `sponsored_too_long` if a payer would sign a transaction that is valid for too long.
   */
  async build(from: Party, action: Action, fields: TxFields = {}): Promise<Transaction> {
    const { account: sender } = from;
    const timed = fields.validUntil === undefined && (fields.payer !== undefined || fields.validFor !== undefined);
    const [chainId, nonce, prices, head] = await Promise.all([
      this.call("svc_chainId"), fields.nonce ?? this.nonce(sender, "pending"), this.call("svc_gasPrice"),
      timed || fields.payer ? this.call("svc_getBlockByNumber", "latest", false, true) : null,
    ]);
    const now = BigInt(Math.max(Date.now(), head?.timestampMs ?? 0));
    const validUntil = timed ? now + BigInt(fields.validFor ?? SPONSORED_TIME) : fields.validUntil ?? null;
    if (fields.payer) checkSponsored(validUntil, now);
    const { maxPriorityFeePerGas: tip } = fields;
    const maxFeePerGas = fields.maxFeePerGas ?? (tip === undefined ? prices.suggested_max_fee : 2n * prices.base_fee + tip);
    const suggested = prices.suggested_priority_fee < maxFeePerGas ? prices.suggested_priority_fee : maxFeePerGas;
    const tx: Transaction = {
      ...contentOf(action), chainId, sender, nonce, gasLimit: 0n, maxFeePerGas, maxPriorityFeePerGas: tip ?? suggested,
      payer: fields.payer?.account ?? null, validUntil,
    };
    const estimated = async (): Promise<bigint> => this.call("svc_estimateGas", toHex(encodeForEstimate(tx, from, fields.payer)));
    return { ...tx, gasLimit: fields.gasLimit ?? (await estimated()) + (fields.gasMargin ?? 0n) };
  }
  /**
   * costs tries a transaction on the latest state without sending it. `likely` is the amount that it would take from
   * its sender now, and `most` the amount that the sender must have, both with its value. With a payer these are only
   * the value, and the payer's fee is in `likelyFee` and `mostFee`. Show both to people, because much of the limit may
   * be a reserve that is never paid. Pass the signer if it is not a key.
   */
  async costs(
    tx: Transaction, from: Party = { account: tx.sender, sample: () => KEY_SAMPLE }, payer?: Party,
  ): Promise<{ likelyGas: bigint; likelyFee: bigint; mostFee: bigint; likely: bigint; most: bigint }> {
    const [trace, prices] = await Promise.all([
      this.call("svc_traceCall", toHex(encodeForEstimate(tx, from, payer))), this.call("svc_gasPrice"),
    ]);
    const value = movedAmount(tx);
    const { maxFeePerGas: max, maxPriorityFeePerGas: tip } = tx;
    const base = prices.base_fee < max ? prices.base_fee : max;
    const price = base + (tip < max - base ? tip : max - base);
    const likelyGas = trace?.gasUsed ?? 0n;
    const [likelyFee, mostFee] = [likelyGas * price, feeCap(tx)];
    const paid = tx.payer === null;
    return { likelyGas, likelyFee, mostFee, likely: paid ? value + likelyFee : value, most: paid ? value + mostFee : value };
  }
  /**
   * party returns an account with its current signers, as far as the node knows, to build a transaction for a payer or
   * sender elsewhere. For a policy that no transaction has revealed yet, the result is as from keyAccount.
   */
  async party(account: Account): Promise<Party> {
    const found = await this.call("svc_getAccount", account);
    const { recovery } = found;
    const { policy } = recovery && recovery.from <= Date.now() ? recovery : found; // due recoveries count
    return policy ? policyAccount(policy, account) : keyAccount(account);
  }
  /**
   * checkRecipient rejects with an AddressError `nobody` if an account is not a valid key and has no contract, no coins
   * and no transactions. Half of the hex keys with a wrong digit are such accounts, but so are half of the policy
   * accounts that nobody has used yet. So call it only for an account that was given in hex. Addresses have a checksum.
   */
  async checkRecipient(account: Account): Promise<void> {
    if (isKey(account)) return;
    const { contract, balance, nonce } = await this.call("svc_getAccount", account);
    if (!contract && balance === 0n && nonce === 0n) throw nobody(account);
  }
  /**
   * send sends a signed transaction to the node, and returns its hash as soon as the mempool has it, even if it had it
   * before.
   */
  async send({ raw, hash }: Signed): Promise<Hash> {
    try {
      return await this.call("svc_sendRawTransaction", toHex(raw));
    } catch (error) {
      if (error instanceof RpcError && error.is("already_known")) return hash;
      throw error;
    }
  }
  /** sendAndWait sends a signed transaction and waits for its receipt like {@link Client.receipt}. */
  async sendAndWait(signed: Signed, options: { signal?: AbortSignal } = {}): Promise<Receipt> {
    const { sender, nonce } = decodeTransaction(signed.raw);
    return this.receipt(await this.send(signed), { ...options, sender, nonce });
  }
  /**
   * receipt waits for a transaction's receipt, polling every half second. It rejects with the signal's reason if that
   * aborts, with an RpcError `dropped` once the node's pool has dropped the transaction, and with `displaced` once a
   * block has another transaction with the same nonce. For this it needs the sender and the nonce: pass them if the
   * node may not know the transaction.
   */
  async receipt(hash: Hash, options: { signal?: AbortSignal; sender?: Account; nonce?: bigint } = {}): Promise<Receipt> {
    const client = options.signal ? this.with({ signal: options.signal }) : this;
    let { sender, nonce } = options;
    for (;;) {
      options.signal?.throwIfAborted();
      const receipt = await known(client.call("svc_getTransactionReceipt", hash));
      if (receipt) return receipt;
      const status = await known(client.transactionStatus(hash));
      // It still waits for a replaced transaction: a block decides between the two.
      if (status?.status === "dropped" && status.error !== "replaced") throw dropped(hash, status.error ?? "");
      if (sender === undefined || nonce === undefined) {
        const pending = await known(client.call("svc_getTransactionByHash", hash));
        if (pending) ({ from: sender, nonce } = pending);
      } else if (status?.status !== "pending" && await client.nonce(sender) > nonce) {
        const other = await known(client.call("svc_getTransactionByNonce", sender, nonce));
        if (other && other.blockHash !== null && other.hash !== hash) throw displaced(hash, other.hash);
      }
      await wait(500, options.signal);
    }
  }
  /** proven waits until the node has a proof of a block, polling every second. */
  async proven(height: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    const client = options.signal ? this.with({ signal: options.signal }) : this;
    for (;;) {
      options.signal?.throwIfAborted();
      const { proofs } = await client.call("svc_getNodeInfo");
      if (proofs && proofs.oldest <= height && height <= proofs.newest) return;
      await wait(1000, options.signal);
    }
  }
  /**
   * proof returns the proof of a block or of a range of blocks, with everything needed to verify it; null if the node
   * does not have it, or not yet. It is not checked here.
   */
  async proof(from: number, to = from, options: { signal?: AbortSignal } = {}): Promise<Uint8Array | null> {
    const url = new URL(`proof/${from}${to === from ? "" : `-${to}`}`, this.url.replace(/\/?$/, "/"));
    return this.#request(url, {}, options.signal ?? this.options.signal, async (response) => {
      if (response.status === 404) {
        await response.body?.cancel();
        return null;
      }
      const parts: Uint8Array[] = [];
      await bounded(response, MAX_PROOF, (part) => parts.push(part));
      return concat(...parts);
    });
  }
  /** transactionStatus returns the status of a transaction. */
  transactionStatus(hash: Hash): Promise<TransactionStatus> {
    return this.call("svc_getTransactionStatus", hash);
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    const most = Math.max(this.options.batch ?? 100, 1);
    for (let at = 0; at < queue.length; ) {
      const from = at;
      for (let bytes = 0; at < queue.length && at - from < most; at++) {
        bytes += queue[at]!.text.length;
        if (at > from && bytes > MAX_REQUEST) break;
      }
      void this.#settle(queue.slice(from, at));
    }
  }

  /**
   * settle makes calls and sets their outcomes. It repeats calls after temporary errors, for as long as the client's
   * options say.
   */
  async #settle(waiting: Waiting[]): Promise<void> {
    const until = Date.now() + (this.options.retry ?? RETRY);
    for (let failures = 0; ; ) {
      const outcomes = await this.#divide(waiting);
      if (this.options.signal?.aborted) {
        for (const call of waiting) call.reject(this.options.signal.reason);
        return;
      }
      const again: Waiting[] = [];
      let pause = 0;
      for (const [i, call] of waiting.entries()) {
        const outcome = outcomes[i];
        if (!(outcome instanceof Error)) call.resolve(outcome);
        else if (!mayPass(outcome, call.method)) call.reject(outcome);
        else {
          again.push(call);
          pause = Math.max(pause, (retryAfter(outcome) ?? 0) * 1000);
        }
      }
      if (again.length === 0) return;
      const everyNode = ++failures % this.#urls.length === 0;
      if (everyNode && pause === 0) pause = Math.min(FIRST_PAUSE * 2 ** (failures / this.#urls.length - 1), LONGEST_PAUSE) * (0.75 + Math.random() / 4);
      if (Date.now() + pause >= until) {
        for (const call of again) call.reject(outcomes[waiting.indexOf(call)]);
        return;
      }
      await wait(pause, this.options.signal);
      waiting = again;
    }
  }

  /**
   * divide makes calls in one request. If that exceeds a bound of requests, it repeats them in smaller ones. Each call
   * has an outcome.
   */
  async #divide(calls: Asked[]): Promise<Outcomes> {
    let outcomes: Outcomes;
    try {
      outcomes = await this.#exchange(calls);
    } catch (error) {
      this.failed(error);
      outcomes = calls.map(() => error);
    }
    if (calls.length === 1) return outcomes;
    const again = calls.flatMap(({ method }, i) => (isBound(outcomes[i], method) ? [i] : []));
    if (again.length > 0) outcomes.divided = true;
    const size = again.length < calls.length ? again.length : Math.ceil(again.length / 2);
    for (let at = 0; at < again.length; at += size) {
      const places = again.slice(at, at + size);
      const answers = await this.#divide(places.map((i) => calls[i]!));
      for (const [k, i] of places.entries()) outcomes[i] = answers[k];
    }
    return outcomes;
  }

  /** exchange makes exactly one request of calls, and returns their results, with an error for each failed call. */
  async #exchange(calls: Asked[]): Promise<unknown[]> {
    const first = this.#id + 1;
    this.#id += calls.length;
    const texts = calls.map(({ text }, i) => `{"jsonrpc":"2.0","id":${first + i},${text}`);
    const answer = await this.#fetch(texts.length === 1 ? texts[0]! : `[${texts.join()}]`);
    const answers = new Map<unknown, Record<string, unknown>>();
    for (const item of Array.isArray(answer) ? answer : [answer]) {
      if (!isObject(item)) continue;
      if (item["id"] !== null && answers.has(item["id"])) throw new ProtocolError("bad_answer", "the node answered one call twice");
      answers.set(item["id"], item);
    }
    return calls.map(({ method }, i) => outcome(method, answers.get(first + i) ?? answers.get(null)));
  }

  async #fetch(body: string): Promise<unknown> {
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body };
    const text = await this.#request(this.url, init, this.options.signal, async (response) => {
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

  /**
   * #request makes a request and reads its answer. A status other than 200 and 404, and 404 for a call, is an
   * HttpError.
   */
  async #request<T>(
    url: string | URL, init: { method?: string; headers?: Record<string, string>; body?: string }, ended: AbortSignal | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const headers = { ...init.headers };
    const { key } = this.options;
    if (key !== undefined) headers["Authorization"] = `Bearer ${typeof key === "function" ? key() : key}`;
    const late = AbortSignal.timeout(this.options.timeout ?? TIMEOUT);
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
      const said = late.aborted ? `the node did not answer in time, ${this.options.timeout ?? TIMEOUT} ms` : "the node cannot be reached: is it running there?";
      throw new UnreachableError(`${new URL(url).origin}: ${said}`, { cause: error });
    }
  }
}

/** succeeded returns the receipt, or throws a RevertError if the transaction failed. */
export function succeeded(receipt: Receipt): Receipt {
  if (receipt.status === 1n) return receipt;
  const reason = receipt.error ?? "failed";
  const said = receipt.error === "reverted" ? printable(receipt.returnData) : "";
  const message = said === "" ? `the transaction failed: ${reason}` : `the transaction failed: ${reason}: ${said}`;
  throw new RevertError(reason, message, receipt.returnData, receipt.gasUsed);
}

/** printable returns revert data as text of at most 256 bytes, or "" if it is not text. */
function printable(data: `0x${string}`): string {
  const bytes = fromHex(data);
  if (bytes.length > 256) return "";
  const text = new TextDecoder().decode(bytes);
  return /[\p{C}\ufffd]/u.test(text) ? "" : text;
}

/** passing lists the HTTP statuses of temporary failures of a node or a load balancer. */
const passing = [429, 502, 503, 504];

/**
 * mayPass reports whether a failed call may succeed later and may be repeated. A call that sends may be repeated only
 * if it did not arrive.
 */
function mayPass(error: Error, method: string): boolean {
  const refused = (error instanceof HttpError && error.status === 429) || (error instanceof UnreachableError && !connected(error.cause));
  const passes = error instanceof UnreachableError || (error instanceof HttpError && passing.includes(error.status)) ||
    (error instanceof RpcError && ["rate", "busy"].includes(String(error.reason)));
  return refused || (passes && !sends(method));
}

/** sends reports whether a method changes something, so that a repetition could act twice or have another answer. */
function sends(method: string): boolean {
  return method.startsWith("svc_sendRawTransaction") || method.startsWith("dev_");
}

/**
 * connected reports whether a request that failed with a cause may have arrived. Browsers do not tell; Bun and Deno
 * have their own messages.
 */
function connected(cause: unknown): boolean {
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: { code?: unknown; message?: unknown } };
  const never = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused"];
  return !never.includes(String(inner?.code ?? code)) && !/connection refused/i.test(String(inner?.message));
}

/** isBound reports whether a call was refused because its request was too large; alone it may be answered. */
function isBound(error: unknown, method: string): boolean {
  if (error instanceof HttpError) return error.status === 413;
  if (!(error instanceof RpcError)) return false;
  return ["request_gas", "response_size", "batch_size"].includes(String(error.reason)) || (error.is("time") && !sends(method));
}

/** retryAfter returns the time that a node asks to wait, in seconds; undefined if it does not say. */
export function retryAfter(error: unknown): number | undefined {
  const said = error instanceof HttpError ? error.retryAfter : error instanceof RpcError ? error.data["retryAfterSeconds"] : undefined;
  return typeof said === "number" && Number.isSafeInteger(said) && said >= 0 ? Math.min(said, 3600) : undefined;
}

/**
 * known replaces the error of a node with pruned blocks by null: the transaction is in none of the blocks that it
 * keeps, or in none yet.
 */
async function known<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcError && error.is("pruned")) return null;
    throw error;
  }
}

/** displaced returns the error for a transaction whose nonce another has used, so that no block will include it. */
function displaced(hash: Hash, by: Hash): RpcError {
  const message = `${hash} will never be in a block: ${by} has used its nonce. If that is not its replacement, sign it anew with another nonce`;
  return new RpcError("svc_getTransactionReceipt", -32003, message, { reason: "displaced", hash, by });
}

/** dropped returns the error for a transaction that left the pool without a block. */
function dropped(hash: Hash, cause: string): RpcError {
  const message = `${hash} has left the mempool, and no block has it: ${cause}. Send it again as it is`;
  return new RpcError("svc_getTransactionReceipt", -32007, message, { reason: "dropped", hash, cause });
}

/** asked returns a call in the form that is sent. It throws if a parameter has no JSON form. */
function asked({ method, params }: Call): Asked {
  return { method, text: stringifyJSON({ method, params: trimmed(params) }).slice(1) };
}

/** trimmed removes undefined parameters at the end. */
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

/** bounded passes an answer's body to take, part by part. A body with more bytes than most is a ProtocolError. */
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
      throw new ProtocolError("too_large", `the node's answer is longer than ${most} bytes`);
    }
    take(value);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
