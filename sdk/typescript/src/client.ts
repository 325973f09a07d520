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
  /** the API key, where the node asks for one; or a function that gives the one of the moment, for keys that are renewed */
  key?: string | (() => string);
  /** other nodes of the same chain: the next is asked when one does not answer */
  fallback?: readonly string[];
  /**
   * how long a call that no node answers is asked again, in milliseconds: 30 s unless said, 0 for once only. Reads are asked again, and
   * what sends only if it did not arrive. A node that says when to come again is not asked before.
   */
  retry?: number;
  /** ends what is waited for: calls reject with its reason */
  signal?: AbortSignal;
  /** instead of the global fetch */
  fetch?: typeof fetch;
  /** instead of the global WebSocket, null for none; streams ask again and again where there is none, and where there is a key */
  WebSocket?: (new (url: string) => WebSocketLike) | null;
  /** how many calls that are made in one microtask go as one request: 100 unless said, 1 for none together */
  batch?: number;
  /** how long an answer may take, in milliseconds: 40 s unless said; svc_sendRawTransactionSync takes up to 30 s */
  timeout?: number;
}

/** TxFields are the fields of a transaction that the node is asked for where they are left out, and those that may be left out. */
export type TxFields = Partial<Pick<Transaction, "nonce" | "gasLimit" | "maxFeePerGas" | "maxPriorityFeePerGas">> & {
  /** gasMargin is added to what svc_estimateGas says, for a call that may do more by the time it is in a block. */
  gasMargin?: bigint;
  /** who pays the fee in the sender's place: a signer, or what `client.party`, keyAccount or policyAccount gives */
  payer?: Party;
  /** the last time of a block that may have it, in milliseconds; see validFor */
  validUntil?: bigint;
  /** how long it is valid from now on, in milliseconds: for ever unless said, or 5 minutes with a payer, and then 10 minutes at most */
  validFor?: number;
};

/** How long a transaction with a payer is valid unless said, in milliseconds. */
export const SPONSORED_TIME = 300_000;

/** Call is one call of a request that {@link Client.post} makes. */
export interface Call {
  method: string;
  params: unknown[];
}

/** Outcomes are the results of calls in order, those that failed as their errors. */
export type Outcomes = unknown[] & {
  /** whether several requests were made: behind a load balancer their answers may be of different blocks */
  divided?: true;
};

/** The largest answer that is read, in bytes; a node's have at most 64 MiB. */
const MAX_ANSWER = 72 << 20;
/** The longest proof of a block, or of a range of blocks, that is read, in bytes. */
const MAX_PROOF = 128 << 20;

/** The most bytes of calls that go together; a node takes requests of 5 MiB. */
const MAX_REQUEST = 2 << 20;
const [RETRY, TIMEOUT] = [30_000, 40_000];
/** The least and the longest pause until a call is asked again, in milliseconds. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [200, 5000];

/** Asked is a call as it is sent, without its ID. */
interface Asked {
  method: string;
  text: string;
}

interface Waiting extends Asked {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** createClient makes a client of a node's HTTP address. It connects when it is first used. */
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

  /** url is the address of the node that is asked now. */
  get url(): string {
    return this.#urls[this.#current]!;
  }

  /** with is a client of the same nodes with other options, such as a signal that ends its calls, or a shorter timeout. */
  with(options: Omit<ClientOptions, "fallback">): Client {
    const [url, ...fallback] = this.#urls;
    return new Client(url!, { ...this.options, ...options, fallback });
  }

  /** failed has the next node asked, if there is one, after an error that another may not have. */
  failed(error: unknown): void {
    if (error instanceof UnreachableError || (error instanceof HttpError && passing.includes(error.status))) {
      this.#current = (this.#current + 1) % this.#urls.length;
    }
  }

  /**
   * call calls a method with its parameters by position. It rejects with an RpcError where the node answers with an error, an
   * HttpError or UnreachableError where there is no answer, a ProtocolError where it makes no sense.
   */
  call<M extends Method>(method: M, ...params: ParamsOf<M>): Promise<ResultOf<M>> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...asked({ method, params }), resolve: resolve as (value: unknown) => void, reject });
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
   * post asks calls together, at least one, and gives their outcomes. What a node refuses because the request is too large is asked
   * again in smaller ones, down to one call, and the outcomes say so. Nothing else is asked again. It rejects where the first request
   * failed as a whole.
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
  /** nonce is the number of an account's transactions that are included, or with "pending" that will be. */
  nonce(account: Account | string, block: NonceRef = "latest"): Promise<bigint> {
    return this.call("svc_getTransactionCount", account, block);
  }
  /** block is the block of a height or hash with the hashes of its transactions; null above the head. */
  block(ref: BlockRef | Hash): Promise<Block | null> {
    if (typeof ref === "string" && ref.length === 66) return this.call("svc_getBlockByHash", ref as Hash);
    return this.call("svc_getBlockByNumber", ref as BlockRef);
  }
  /**
   * blockWithTransactions is the block of a height or hash with its transactions; null above the head. If they are too many for one
   * answer, it reads them in pages.
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
   * build makes a transaction that is ready to be signed, with nonce, fees and gas limit from the node where fields leave them out. One
   * account's transactions are sent by many callers at once through a sender, which gives out nonces. `from` is the signer of the sender, or
   * what keyAccount or policyAccount gives: the gas limit depends on who signs. It throws a SignerError `sponsored_too_long` where another
   * would pay for a transaction that is valid for too long.
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
   * costs tries a transaction on the latest state without sending it. `likely` is what it would take from its sender now, and `most` what
   * the sender must have, its value included. With a payer these are its value alone, and the fee is of the payer: `likelyFee` and `mostFee`.
   * Show people both: much of the limit may be a reserve that is never paid. Give who signs if that is no key.
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
   * party is an account with who signs for it now, as far as the node knows: for what is built for a payer or sender who is elsewhere. A
   * policy that no transaction has shown yet is not known, and gives what keyAccount does.
   */
  async party(account: Account): Promise<Party> {
    const found = await this.call("svc_getAccount", account);
    const { recovery } = found;
    const { policy } = recovery && recovery.from <= Date.now() ? recovery : found; // one that is due is in force with the next block
    return policy ? policyAccount(policy, account) : keyAccount(account);
  }
  /**
   * checkRecipient rejects with an AddressError `nobody` if an account is no key, and the chain knows it neither as a contract nor as one
   * that has coins or has sent something. Half of the keys in hex with a wrong digit are such accounts, but so is half of the accounts of
   * policies that nobody has used yet: ask it only of what came as hex. Addresses have a checksum.
   */
  async checkRecipient(account: Account): Promise<void> {
    if (isKey(account)) return;
    const { contract, balance, nonce } = await this.call("svc_getAccount", account);
    if (!contract && balance === 0n && nonce === 0n) throw nobody(account);
  }
  /** send hands a signed transaction to the node, and gives its hash as soon as the mempool has it, also if it had it before. */
  async send({ raw, hash }: Signed): Promise<Hash> {
    try {
      return await this.call("svc_sendRawTransaction", toHex(raw));
    } catch (error) {
      if (error instanceof RpcError && error.is("already_known")) return hash;
      throw error;
    }
  }
  /** sendAndWait sends a signed transaction and waits for its receipt as {@link Client.receipt} does. */
  async sendAndWait(signed: Signed, options: { signal?: AbortSignal } = {}): Promise<Receipt> {
    const { sender, nonce } = decodeTransaction(signed.raw);
    return this.receipt(await this.send(signed), { ...options, sender, nonce });
  }
  /**
   * receipt waits for a transaction's receipt, asking each half second, until the signal aborts: it rejects with its reason. It rejects
   * with an RpcError `dropped` once the node's pool has given the transaction up, and `displaced` once a block has another of the same
   * nonce. For that it must know the sender and the nonce: give them if the node may not know the transaction.
   */
  async receipt(hash: Hash, options: { signal?: AbortSignal; sender?: Account; nonce?: bigint } = {}): Promise<Receipt> {
    const client = options.signal ? this.with({ signal: options.signal }) : this;
    let { sender, nonce } = options;
    for (;;) {
      options.signal?.throwIfAborted();
      const receipt = await known(client.call("svc_getTransactionReceipt", hash));
      if (receipt) return receipt;
      const status = await known(client.transactionStatus(hash));
      // One that was replaced is still waited for: a block decides between the two.
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
  /** proven waits until the node has a proof of a block, asking each second. */
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
   * proof is the proof of a block, or of the blocks from one to another together, with all that it takes to verify it; null where the
   * node has none, or none yet. Nothing of it is checked here.
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
  /** transactionStatus says where a transaction is. */
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

  /** settle gives calls their outcomes. Those that pass are asked again as long as the client's options say. */
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

  /** divide asks calls together, and what is refused for a bound of the request again in smaller requests. Each call has an outcome. */
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

  /** exchange makes exactly one request of calls, and gives their results, those that failed as their errors. */
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

  /** #request makes a request and reads its answer. A status other than 200 and 404, and 404 for a call, is an HttpError. */
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

/** succeeded gives a receipt back, and throws a RevertError where the transaction failed. */
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

/** passing are HTTP statuses of a node, or of a balancer before it, that may be gone a little later. */
const passing = [429, 502, 503, 504];

/** mayPass reports whether a call that failed may do better later, and may be asked again: what sends only if it did not arrive. */
function mayPass(error: Error, method: string): boolean {
  const refused = (error instanceof HttpError && error.status === 429) || (error instanceof UnreachableError && !connected(error.cause));
  const passes = error instanceof UnreachableError || (error instanceof HttpError && passing.includes(error.status)) ||
    (error instanceof RpcError && ["rate", "busy"].includes(String(error.reason)));
  return refused || (passes && !sends(method));
}

/** sends reports whether a method changes something: asked twice it could be done twice, or its second answer be another. */
function sends(method: string): boolean {
  return method.startsWith("svc_sendRawTransaction") || method.startsWith("dev_");
}

/** connected reports whether a request may have arrived that failed with a cause; browsers do not tell, Bun and Deno in their own words. */
function connected(cause: unknown): boolean {
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: { code?: unknown; message?: unknown } };
  const never = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused"];
  return !never.includes(String(inner?.code ?? code)) && !/connection refused/i.test(String(inner?.message));
}

/** isBound reports whether a call was refused because the request that it was in is too large: alone it may be answered. */
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

/** known gives null where a node cannot know, as it has pruned blocks: a transaction is in none that it keeps, or in none yet. */
async function known<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcError && error.is("pruned")) return null;
    throw error;
  }
}

/** displaced is the error of a transaction whose nonce another has used: no block will have it. */
function displaced(hash: Hash, by: Hash): RpcError {
  const message = `${hash} will never be in a block: ${by} has used its nonce. If that is not its replacement, sign it anew with another nonce`;
  return new RpcError("svc_getTransactionReceipt", -32003, message, { reason: "displaced", hash, by });
}

/** dropped is the error of a transaction that left the pool without a block. */
function dropped(hash: Hash, cause: string): RpcError {
  const message = `${hash} has left the mempool, and no block has it: ${cause}. Send it again as it is`;
  return new RpcError("svc_getTransactionReceipt", -32007, message, { reason: "dropped", hash, cause });
}

/** asked is a call as it is sent. It throws where a parameter has no form in JSON. */
function asked({ method, params }: Call): Asked {
  return { method, text: stringifyJSON({ method, params: trimmed(params) }).slice(1) };
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
      throw new ProtocolError("too_large", `the node's answer is longer than ${most} bytes`);
    }
    take(value);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
