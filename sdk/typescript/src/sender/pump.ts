import type { Call, Client } from "../client.js";
import { HttpError, ProtocolError, RpcError, UnreachableError } from "../errors.js";
import type { Receipt, rpc } from "../index.js";
import { toHex, type Account, type Hash } from "../hex.js";
import { Signal } from "../signal.js";
import { actionOf, contentOf, type Action } from "../action.js";
import { decodeTransaction, signTransaction, type Signer, type Transaction } from "../transaction.js";
import { Job, OWN_IDS, SenderError, Settled, digestOf, restore, type Done } from "./job.js";
import type { Journal } from "./journal.js";
import { PLACES, UNTAKEN, backoff, readAnswer } from "./answer.js";
import {
  least, nothing, prepare, raised, receiptsOf, sweep, sweepAgain, transient, usedBy, values, type Headed, type Parties, type Terms,
} from "./prepare.js";
import { realTime, type SenderOptions, type SenderStatus, type Time } from "./options.js";
import { MAX_BATCH, Queue, fitting } from "./queue.js";
import { Slots } from "./slots.js";
import type { Entry } from "./store.js";

/** HEAD asks for the newest block. */
const HEAD: Call = { method: "svc_getBlockByNumber", params: ["latest", false, true] };
const FILLER_IDS = `${OWN_IDS}filler:`;
const RESYNC = 30_000;
const FILL_AFTER = 500;
const HOLD = 100;
const REPLACE_AFTER = 3n;
const MAX_VERSIONS = 32;

/** Pump does what the jobs of one account need, one thing after the other: it is the only one that asks the node and the store. */
export class Pump {
  readonly status = new Signal<SenderStatus>({ state: "open" });
  readonly account: Account;
  /** what is queued or open, and what is done, by their ids */
  readonly jobs = new Map<string, Job>();
  readonly done: Map<string, Done>;
  readonly #slots: Slots;
  readonly #queue = new Queue();
  #unwanted: Job[] = [];
  #height = 0n;
  /** the time of the newest block that was seen, in milliseconds; 0 while none was asked for */
  #head = 0n;
  #resyncAt = 0;
  #pollAt = 0;
  #gapSince: number | undefined;
  #failures = 0;
  /** why nothing is sent any more */
  closed: SenderError | undefined;
  #woken = new Settled<void>();
  /** resolves when it has stopped */
  readonly ended: Promise<void>;
  readonly #time: Time;

  constructor(
    readonly client: Client,
    readonly signer: Signer,
    readonly chainId: bigint,
    readonly journal: Journal,
    readonly options: SenderOptions,
    entries: Entry[],
  ) {
    this.account = signer.account;
    this.#time = options.time ?? realTime;
    const { open, done } = restore(entries);
    this.done = done;
    this.#slots = new Slots(open);
    for (const job of open) this.jobs.set(job.id, job);
    this.ended = this.#run();
  }

  /** add queues a job. */
  add(job: Job): void {
    this.jobs.set(job.id, job);
    this.#queue.jobs.push(job);
    this.#wake();
  }

  /** cancel asks to cancel a job; what becomes of that its receipt tells. */
  cancel(job: Job): void {
    if (this.jobs.get(job.id) !== job || this.#unwanted.includes(job)) return;
    this.#unwanted.push(job);
    this.#wake();
  }

  #wake(): void {
    this.#woken.resolve();
  }

  /** stop ends it; what is open stays in the journal. */
  stop(error: SenderError): void {
    this.closed ??= error;
    this.#wake();
  }

  /** run is all that the sender does, one thing after the other: there are never two requests that could overtake each other. */
  async #run(): Promise<void> {
    try {
      while (!this.closed) {
        this.#woken = new Settled<void>();
        await this.#attempt();
        if (!this.closed) await this.#time.sleep(this.#pause(), this.#woken.promise);
      }
    } catch (error) {
      this.closed ??= new SenderError("failed", "the sender stopped: its journal or signer failed", { cause: error });
    }
    for (const job of this.jobs.values()) {
      job.accepted.reject(this.closed);
      job.receipt.reject(this.closed);
    }
    await this.journal.store.close();
  }

  /** attempt does what is due. A node that does not answer is asked again later; any other error ends the sender. */
  async #attempt(): Promise<void> {
    const now = this.#time.now();
    try {
      if (now >= this.#resyncAt && (this.#slots.jobs.size > 0 || !this.#queue.empty)) await this.#resync();
      if (this.#unwanted.length > 0) await this.#cancelUnwanted();
      await this.#post();
      if (this.#slots.jobs.size > 0 && this.#time.now() >= this.#pollAt) await this.#settle();
      await this.journal.compact(this.done, this.#slots.jobs);
      this.#failures = 0;
      if (this.status.value.state !== "open") this.status.set({ state: "open" });
    } catch (error) {
      const ofNode = [UnreachableError, HttpError, RpcError, ProtocolError];
      if (!ofNode.some((kind) => error instanceof kind)) throw error;
      this.#failures++;
      this.#resyncAt = now + backoff(error, this.#failures);
      if (this.status.value.state === "open") this.status.set({ state: "reconnecting", since: now, cause: error });
    }
  }

  /** pause is how long there is nothing to do, in milliseconds. */
  #pause(): number {
    const now = this.#time.now();
    if (this.#failures > 0) return Math.max(this.#resyncAt - now, 0);
    if (this.#queue.mayTake(this.#slots, now)) return 0;
    if (this.#slots.jobs.size === 0 && this.#queue.empty) return Infinity;
    const times = [this.#resyncAt, ...[...this.#slots.jobs.values()].map((job) => job.due)];
    if (this.#slots.jobs.size > 0) times.push(this.#pollAt);
    if (!this.#queue.empty && this.#queue.holdUntil > now) times.push(this.#queue.holdUntil);
    if (this.#gapSince !== undefined) times.push(this.#gapSince + FILL_AFTER);
    return Math.max(Math.min(...times) - now, 0);
  }

  /** resync learns where the account is: what blocks have used, and what the pool has of ours and of others. */
  async #resync(): Promise<void> {
    const { answers } = await this.#ask([
      { method: "svc_getTransactionCount", params: [this.account, "latest"] },
      { method: "svc_getPendingTransactions", params: [{ sender: this.account, limit: 2000 }] },
      { method: "svc_blockNumber", params: [] },
    ]);
    const [base, pending, height] = values<[bigint, rpc.PendingTransaction[], bigint]>(answers);
    const now = this.#time.now();
    this.#resyncAt = now + RESYNC;
    this.#height = height;
    this.#slots.base = base;
    const pool = new Map(pending.map((tx) => [tx.nonce, tx.hash]));
    for (const [job, hash] of this.#slots.meet(pool, now)) this.#accept(job, hash);
    this.#pollAt = now;
  }

  /**
   * ask makes calls, and asks for the time of the newest block before them if a job is valid only for a time. The answers are then of that
   * block or a newer one, unless several requests were made: another node may have given some, of older blocks.
   */
  async #ask(calls: Call[]): Promise<Headed> {
    const timed = this.options.validFor !== undefined || [...this.jobs.values()].some((job) => job.until !== null || job.options.validFor !== undefined);
    const answers = await this.client.post(timed ? [HEAD, ...calls] : calls);
    const divided = answers.divided === true;
    const newest = timed ? answers.shift() : null;
    if (newest instanceof Error) throw newest;
    const head = newest === null || divided ? 0n : BigInt((newest as rpc.Block).timestampMs);
    if (head > 0n) this.#head = head;
    return { answers, head, divided };
  }

  get #parties(): Parties {
    return { chainId: this.chainId, sender: this.signer, payer: this.options.payer, fresh: this.#slots.base === 0n };
  }

  /** until is the last time of a block that may have a job which is signed now; one that was signed before keeps its own. */
  #until(job: Job): bigint | null {
    const lasts = job.options.validFor ?? this.options.validFor;
    if (lasts === undefined || job.until !== null) return job.until;
    const now = BigInt(Math.floor(this.#time.now()));
    return (now > this.#head ? now : this.#head) + BigInt(lasts);
  }

  /** post sends what is due again, and with it what is new: prepared, given nonces, signed and on disk before. */
  async #post(): Promise<void> {
    const now = this.#time.now();
    this.#fill(now);
    const fresh = await this.#sign(await this.#terms(this.#queue.take(this.#slots, this.#time.now())));
    await this.journal.append(fresh.map((job) => job.entry(0)));
    const due = this.#slots.due(now);
    if (due.length > 0 && !this.closed) await this.#deliver(due.slice(0, fitting(due, (job) => job.latest.raw.length)));
  }

  async #deliver(batch: Job[]): Promise<void> {
    let answers: unknown[];
    try {
      answers = await this.client.post(batch.map((job): Call => ({ method: "svc_sendRawTransaction", params: [toHex(job.latest.raw)] })));
    } catch (error) {
      const untaken = error instanceof HttpError && UNTAKEN.includes(error.status);
      if (!untaken) for (const job of batch) job.out = true;
      throw error;
    }
    const refused = batch.map((job, i) => ({ job, error: this.#answered(job, answers[i]) })).filter(({ error }) => error !== undefined);
    if (refused.length === 0) return;
    // On disk before anybody is told: else a restart could send what its caller takes for refused.
    await this.journal.append(refused.map(({ job, error }) => ({ type: "refused", id: job.id, reason: error!.reason! })));
    for (const { job, error } of refused.reverse()) this.#refuse(job, error!); // the first comes first again
  }

  /** answered takes in what the node said of a job's bytes. It gives the error where they are with nobody and leave their nonce. */
  #answered(job: Job, answer: unknown): RpcError | undefined {
    const now = this.#time.now();
    const { accepted, refused, misplaced } = readAnswer(job, answer, now);
    if (accepted) this.#accept(job, accepted);
    if (misplaced) this.#resyncAt = now;
    return refused;
  }

  /** refuse takes a job from its nonce: back to the queue where another nonce or fee may help. */
  #refuse(job: Job, error: RpcError): void {
    this.#slots.jobs.delete(job.nonce!);
    job.release();
    const dearer = error.is("fee_too_low") && !job.tooCheap; // once: where a cap is too low it stays so
    if (!PLACES.includes(String(error.reason)) && !dearer) {
      this.#reject(job, error);
      return;
    }
    job.tooCheap = dearer;
    this.#queue.holdUntil = this.#time.now() + HOLD;
    this.#queue.jobs.unshift(job);
  }

  #accept(job: Job, hash: Hash): void {
    const filler = job.id.startsWith(FILLER_IDS) && !job.accepted.decided;
    job.out = job.pooled = true;
    job.due = Infinity;
    if (job.since === 0n) job.since = this.#height;
    if (!job.cancelled) job.accepted.resolve(hash);
    if (filler) this.options.onFiller?.(hash);
  }

  #reject(job: Job, error: unknown): void {
    this.jobs.delete(job.id);
    job.accepted.reject(error);
    job.receipt.reject(error);
  }

  /** terms prepares jobs that have no nonce yet: what fails here used nothing. */
  async #terms(jobs: Job[]): Promise<[Job, Terms][]> {
    if (jobs.length === 0) return [];
    const ready: [Job, Terms][] = [];
    try {
      const first = jobs[0]!;
      const terms = first.sweepTo
        ? [await sweep(this.client, this.#parties, first, this.#cap(first))]
        : await prepare(this.client, this.#parties, jobs, (job) => this.#cap(job));
      for (const [i, job] of jobs.entries()) {
        const found = terms[i]!;
        if (!(found instanceof Error)) ready.push([job, found]);
        else if (found instanceof RpcError && found.reason !== undefined && !transient.includes(found.reason)) this.#reject(job, found);
        else if (ready.length === 0) throw found;
        else { // those before it go on; it and those after it keep their order
          this.#queue.jobs.unshift(...jobs.slice(i));
          this.#queue.holdUntil = this.#time.now() + backoff(found, 1);
          break;
        }
      }
      return ready;
    } catch (error) {
      const open = jobs.filter((job) => this.jobs.has(job.id));
      if (!(error instanceof SenderError)) {
        this.#queue.jobs.unshift(...open);
        throw error;
      }
      for (const job of open) this.#reject(job, error);
      return [];
    }
  }

  /** sign gives jobs the lowest free nonces and signs them. */
  async #sign(prepared: [Job, Terms][]): Promise<Job[]> {
    const signed: Job[] = [];
    let nonce = this.#slots.base;
    for (const [job, terms] of prepared) {
      nonce = this.#slots.free(nonce);
      job.until = this.#until(job);
      try {
        await this.#addVersion(job, nonce, terms);
      } catch (error) {
        if (error instanceof SenderError) throw error;
        this.#reject(job, error); // its action has no encoding, or a signer refuses
        continue;
      }
      job.nonce = nonce;
      job.due = 0;
      this.#slots.jobs.set(nonce, job);
      signed.push(job);
    }
    return signed;
  }

  async #addVersion(job: Job, nonce: bigint, { action, ...terms }: Terms, cancels = false): Promise<void> {
    const { payer } = this.options;
    const tx: Transaction = {
      ...contentOf(action), chainId: this.chainId, sender: this.account, nonce, payer: payer?.account ?? null, validUntil: job.until, ...terms,
    };
    const { raw, hash } = await signTransaction(tx, this.signer, payer);
    job.versions.push({ raw, hash, tx: decodeTransaction(raw), cancels });
    if (!cancels) job.action = action;
  }

  /** fill puts a transfer of nothing to oneself at a nonce that nobody uses, if others wait behind it and no job comes. */
  #fill(now: number): void {
    if (!this.#slots.hasGap() || !this.#queue.empty) {
      this.#gapSince = undefined;
      return;
    }
    this.#gapSince ??= now;
    if (now - this.#gapSince < FILL_AFTER) return;
    this.#gapSince = undefined;
    const action: Action = { type: "transfer", to: this.account, value: 0n };
    const job = new Job(`${FILLER_IDS}${crypto.randomUUID()}`, digestOf({ action }), action, {});
    this.jobs.set(job.id, job);
    this.#queue.jobs.push(job);
  }

  /** cancelUnwanted takes back what callers do not want any more: at once if nobody has its bytes, else by another version. */
  async #cancelUnwanted(): Promise<void> {
    const unwanted = [...this.#unwanted];
    // One that has expired ends by itself.
    const live = unwanted.filter((job) => this.jobs.get(job.id) === job && !job.cancelled && !job.expired(this.#head));
    await this.#withdraw(live.filter((job) => !job.out));
    await this.#addPriced(live.filter((job) => job.out), (job, prices) => nothing(job.latest.tx, prices, this.#cap(job), this.#parties), true);
    this.#unwanted = this.#unwanted.slice(unwanted.length); // more may have come meanwhile
  }

  /** withdraw ends jobs that are cancelled, and that no block can have. */
  async #withdraw(jobs: Job[]): Promise<void> {
    const written = jobs.filter((job) => job.versions.length > 0);
    await this.journal.append(written.map((job) => ({ type: "refused", id: job.id, reason: "cancelled" })));
    this.#queue.jobs = this.#queue.jobs.filter((job) => !jobs.includes(job));
    for (const job of written) this.#slots.jobs.delete(job.nonce!);
    for (const job of jobs) {
      job.release();
      this.#reject(job, new SenderError("cancelled", `${job.id} is cancelled`));
    }
  }

  /** expire ends jobs that no block has, and none can have any more: their time is over. */
  async #expire(jobs: Job[]): Promise<void> {
    await this.journal.append(jobs.map((job) => ({ type: "refused", id: job.id, reason: "expired" })));
    for (const job of jobs) {
      this.#slots.jobs.delete(job.nonce!);
      const cancelled = job.cancelled;
      job.release();
      this.#reject(job, cancelled ? new SenderError("cancelled", `${job.id} is cancelled`) : new SenderError("expired", `${job.id} was not included in time, and can no longer be`));
    }
  }

  /** cap is the most that a job may pay per gas; undefined: there is no bound. */
  #cap({ options: { maxFee } }: Job): bigint | undefined {
    return maxFee === undefined ? this.options.maxFeeCap : least(maxFee, this.options.maxFeeCap);
  }

  /** settle looks whether blocks have what is open, and replaces what they leave out. */
  async #settle(): Promise<void> {
    const { answers, head } = await this.#ask([
      { method: "svc_getTransactionCount", params: [this.account, "latest"] }, { method: "svc_blockNumber", params: [] },
    ]);
    const [base, height] = values<[bigint, bigint]>(answers);
    this.#pollAt = this.#time.now() + (this.options.poll ?? 500);
    if (base < this.#slots.base) this.#resyncAt = this.#time.now(); // a development chain went back, or another node answers
    this.#slots.moveTo(base);
    this.#height = height;
    for (let used = this.#slots.used(); used.length > 0; ) {
      let [versions, count] = [0, 0];
      while (count < used.length && (versions += used[count]!.versions.length) <= MAX_BATCH) count++;
      await this.#conclude(used.splice(0, count));
    }
    await this.#expire(this.#slots.expired(head));
    await this.#replace();
  }

  /** conclude finds the receipts of jobs whose nonces blocks have used, with one request. What is answered is kept if some is not. */
  async #conclude(jobs: Job[]): Promise<void> {
    const [cancelled, expired, absent, found] = [[] as Job[], [] as Job[], [] as Job[], [] as [Job, Receipt][]];
    let failure: Error | undefined;
    for (const [job, { receipt, failed, head }] of await receiptsOf((calls) => this.#ask(calls), jobs)) {
      if (failed) failure ??= failed;
      else if (!receipt) (job.expired(head) ? expired : absent).push(job);
      else if (job.has(receipt.transactionHash, true)) cancelled.push(job);
      else found.push([job, receipt]);
    }
    const entries = found.map(([job, receipt]): Done => ({
      type: "done", id: job.id, digest: job.digest, hash: receipt.transactionHash, height: receipt.blockHeight,
      status: receipt.status === 1n ? 1 : 0,
    }));
    await this.journal.append(entries);
    for (const [i, [job, receipt]] of found.entries()) {
      this.#slots.jobs.delete(job.nonce!);
      this.jobs.delete(job.id);
      if (!job.own) this.done.set(job.id, entries[i]!);
      job.accepted.resolve(receipt.transactionHash);
      this.#sweepRest(job, receipt) ?? job.receipt.resolve(receipt);
    }
    await this.#withdraw(cancelled);
    await this.#expire(expired);
    if (failure) throw failure;
    for (const job of absent) await this.#displaced(job);
  }

  /**
   * sweepRest sweeps what a sweep has left that did not use all of its gas, as another had made the recipient's entry meanwhile. Its caller
   * is told after that. It gives undefined where nothing is left.
   */
  #sweepRest(job: Job, receipt: Receipt): Job | undefined {
    const { tx } = job.latest;
    if (job.sweepTo === undefined || tx.payer !== null || receipt.status !== 1n || receipt.gasUsed >= tx.gasLimit) return undefined;
    const rest = new Job(`${OWN_IDS}rest:${crypto.randomUUID()}`, job.digest, undefined, job.options, job.sweepTo);
    const told = (): void => job.receipt.resolve(receipt);
    void rest.receipt.promise.then(told, told);
    this.jobs.set(rest.id, rest);
    this.#queue.jobs.unshift(rest);
    return rest;
  }

  /**
   * displaced asks what used the nonce of a job without a receipt. Only a transaction of another's shows that ours can never be
   * included; without one the job waits, as it may have been paid.
   */
  async #displaced(job: Job): Promise<void> {
    const other = await usedBy(this.client, this.account, job.nonce!);
    if (!other) {
      if (!job.undecided) this.options.onUndecided?.(job.id);
      job.undecided = true;
      return;
    }
    if (job.has(other.hash)) return; // its receipt comes with the next look
    if (job.cancelled) return this.#withdraw([job]);
    await this.journal.append([{ type: "refused", id: job.id, reason: "displaced" }]);
    this.#slots.jobs.delete(job.nonce!);
    job.release();
    if (this.options.onDisplaced === "reject") {
      this.#reject(job, new SenderError("displaced", `${other.hash} used the nonce of ${job.id}`));
    } else {
      this.#queue.jobs.unshift(job);
    }
  }

  /** replace raises the fees of what blocks have left out: the lowest nonce, and what pays less than the next base fee. */
  async #replace(): Promise<void> {
    await this.#addPriced(this.#slots.waiting(this.#height - REPLACE_AFTER), (job, prices) => {
      const { tx } = job.latest;
      const old = { ...tx, action: actionOf(tx) };
      const enough = job.nonce !== this.#slots.base && tx.maxFeePerGas >= prices.base_fee;
      if (job.versions.length >= MAX_VERSIONS || enough) return undefined;
      return job.sweepTo && !job.cancelled ? sweepAgain(old, prices, this.#cap(job), this.#parties) : raised(old, prices, this.#cap(job));
    });
  }

  /** addPriced adds versions to jobs, on the terms that there are for each at the node's prices; or what cancels them. */
  async #addPriced(jobs: Job[], price: (job: Job, prices: rpc.GasPriceInfo) => Terms | undefined, cancels = false): Promise<void> {
    if (jobs.length === 0) return;
    const [prices] = values<[rpc.GasPriceInfo]>(await this.client.post([{ method: "svc_gasPrice", params: [] }]));
    const entries: Entry[] = [];
    for (const job of jobs) {
      job.since = this.#height;
      const terms = price(job, prices);
      if (!terms) continue;
      const { action, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = terms;
      await this.#addVersion(job, job.nonce!, { action, gasLimit, maxFeePerGas, maxPriorityFeePerGas }, cancels || job.cancelled);
      job.due = 0;
      entries.push(job.entry(job.versions.length - 1));
    }
    await this.journal.append(entries);
  }
}
