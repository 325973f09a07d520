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

/** HEAD is the call for the newest block. */
const HEAD: Call = { method: "svc_getBlockByNumber", params: ["latest", false, true] };
const FILLER_IDS = `${OWN_IDS}filler:`;
const RESYNC = 30_000;
const FILL_AFTER = 500;
const HOLD = 100;
const REPLACE_AFTER = 3n;
const MAX_VERSIONS = 32;

/** Pump processes the jobs of one account sequentially. Only it uses the node and the store. */
export class Pump {
  readonly status = new Signal<SenderStatus>({ state: "open" });
  readonly account: Account;
  /** queued or open jobs, and finished ones, by id */
  readonly jobs = new Map<string, Job>();
  readonly done: Map<string, Done>;
  readonly #slots: Slots;
  readonly #queue = new Queue();
  #unwanted: Job[] = [];
  #height = 0n;
  /** the time of the newest block seen, in milliseconds; 0 if none was requested */
  #head = 0n;
  #resyncAt = 0;
  #pollAt = 0;
  #gapSince: number | undefined;
  #failures = 0;
  /** the reason why nothing is sent any more */
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

  /** cancel requests the cancellation of a job. The job's receipt shows the outcome. */
  cancel(job: Job): void {
    if (this.jobs.get(job.id) !== job || this.#unwanted.includes(job)) return;
    this.#unwanted.push(job);
    this.#wake();
  }

  #wake(): void {
    this.#woken.resolve();
  }

  /** stop ends it; open jobs stay in the journal. */
  stop(error: SenderError): void {
    this.closed ??= error;
    this.#wake();
  }

  /** run does all the sender's work sequentially, so that no two requests can overtake each other. */
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

  /**
   * attempt does the work that is due. If the node does not answer, it is repeated later; any other error ends the
   * sender.
   */
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

  /** pause returns the time until the next work is due, in milliseconds. */
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

  /**
   * resync reads the account's state: the nonces used in blocks, and the pool's transactions of this sender and of
   * others.
   */
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
   * ask makes calls. If a job is valid only for a time, it first requests the time of the newest block. The answers
   * then refer to that block or a newer one, unless several requests were made: another node may have answered some of
   * them with older blocks.
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

  /**
   * until returns the latest timestamp of a block that may include a job that is signed now. A job that was signed
   * before keeps its own.
   */
  #until(job: Job): bigint | null {
    const lasts = job.options.validFor ?? this.options.validFor;
    if (lasts === undefined || job.until !== null) return job.until;
    const now = BigInt(Math.floor(this.#time.now()));
    return (now > this.#head ? now : this.#head) + BigInt(lasts);
  }

  /**
   * post sends the transactions that are due again together with new ones, which have been prepared, given nonces,
   * signed and written to the journal.
   */
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
    // Write the job before the caller gets an answer. Otherwise a restart could send a job that the caller believes
    // refused.
    await this.journal.append(refused.map(({ job, error }) => ({ type: "refused", id: job.id, reason: error!.reason! })));
    for (const { job, error } of refused.reverse()) this.#refuse(job, error!); // puts them back in their order
  }

  /**
   * answered processes the node's answer to a job's transaction. It returns the error if no node has it and it gives up
   * its nonce.
   */
  #answered(job: Job, answer: unknown): RpcError | undefined {
    const now = this.#time.now();
    const { accepted, refused, misplaced } = readAnswer(job, answer, now);
    if (accepted) this.#accept(job, accepted);
    if (misplaced) this.#resyncAt = now;
    return refused;
  }

  /** refuse removes a job from its nonce. The job goes back to the queue if another nonce or fee may help. */
  #refuse(job: Job, error: RpcError): void {
    this.#slots.jobs.delete(job.nonce!);
    job.release();
    const dearer = error.is("fee_too_low") && !job.tooCheap; // only once: a cap that is too low stays so
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

  /** terms prepares jobs that have no nonce yet. A job that fails here has used nothing. */
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
        else { // earlier jobs proceed; this one and later ones keep their order
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

  /** sign assigns the lowest free nonces to jobs and signs them. */
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

  /** fill puts an empty transfer to oneself at an unused nonce if later nonces wait for it and no job is queued. */
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

  /**
   * cancelUnwanted cancels the jobs that callers no longer want: at once if no node has them, otherwise by another
   * version.
   */
  async #cancelUnwanted(): Promise<void> {
    const unwanted = [...this.#unwanted];
    // One that has expired ends by itself.
    const live = unwanted.filter((job) => this.jobs.get(job.id) === job && !job.cancelled && !job.expired(this.#head));
    await this.#withdraw(live.filter((job) => !job.out));
    await this.#addPriced(live.filter((job) => job.out), (job, prices) => nothing(job.latest.tx, prices, this.#cap(job), this.#parties), true);
    this.#unwanted = this.#unwanted.slice(unwanted.length); // more may have come meanwhile
  }

  /** withdraw ends cancelled jobs that no block can include. */
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

  /** expire ends jobs that no block has included and whose validity has ended. */
  async #expire(jobs: Job[]): Promise<void> {
    await this.journal.append(jobs.map((job) => ({ type: "refused", id: job.id, reason: "expired" })));
    for (const job of jobs) {
      this.#slots.jobs.delete(job.nonce!);
      const cancelled = job.cancelled;
      job.release();
      this.#reject(job, cancelled ? new SenderError("cancelled", `${job.id} is cancelled`) : new SenderError("expired", `${job.id} was not included in time, and can no longer be`));
    }
  }

  /** cap returns the most that a job may pay per gas; undefined for no bound. */
  #cap({ options: { maxFee } }: Job): bigint | undefined {
    return maxFee === undefined ? this.options.maxFeeCap : least(maxFee, this.options.maxFeeCap);
  }

  /** settle checks which open jobs are in blocks, and replaces those that blocks leave out. */
  async #settle(): Promise<void> {
    const { answers, head } = await this.#ask([
      { method: "svc_getTransactionCount", params: [this.account, "latest"] }, { method: "svc_blockNumber", params: [] },
    ]);
    const [base, height] = values<[bigint, bigint]>(answers);
    this.#pollAt = this.#time.now() + (this.options.poll ?? 500);
    if (base < this.#slots.base) this.#resyncAt = this.#time.now(); // reverted, or another node
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

  /**
   * conclude finds the receipts of jobs whose nonces blocks have used, with one request. It keeps the answers even if
   * some calls fail.
   */
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
   * sweepRest sweeps the rest of a sweep that did not use all of its gas, because another transaction had created the
   * recipient's entry. Its caller is notified after that. It returns undefined if nothing is left.
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
   * displaced finds the transaction that used the nonce of a job without a receipt. Only a foreign transaction proves
   * that the job can never be included. Without one the job waits, because it may have been paid.
   */
  async #displaced(job: Job): Promise<void> {
    const other = await usedBy(this.client, this.account, job.nonce!);
    if (!other) {
      if (!job.undecided) this.options.onUndecided?.(job.id);
      job.undecided = true;
      return;
    }
    if (job.has(other.hash)) return; // the next check finds its receipt
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

  /**
   * replace raises the fees of jobs that blocks have left out: the one at the lowest nonce, and those that pay less
   * than the next base fee.
   */
  async #replace(): Promise<void> {
    await this.#addPriced(this.#slots.waiting(this.#height - REPLACE_AFTER), (job, prices) => {
      const { tx } = job.latest;
      const old = { ...tx, action: actionOf(tx) };
      const enough = job.nonce !== this.#slots.base && tx.maxFeePerGas >= prices.base_fee;
      if (job.versions.length >= MAX_VERSIONS || enough) return undefined;
      return job.sweepTo && !job.cancelled ? sweepAgain(old, prices, this.#cap(job), this.#parties) : raised(old, prices, this.#cap(job));
    });
  }

  /** addPriced adds versions to jobs at the node's current prices: replacements, or transactions that cancel them. */
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
