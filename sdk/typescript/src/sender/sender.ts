import type { Client } from "../client.js";
import type { Receipt } from "../generated.js";
import { from32, toHex, type Account } from "../hex.js";
import type { Signal } from "../signal.js";
import type { Action } from "../action.js";
import { SPONSORED_TIME } from "../client.js";
import { SignerError } from "../errors.js";
import { MAX_SPONSORED } from "../sponsor.js";
import type { Signer } from "../transaction.js";
import { Job, OWN_IDS, SenderError, TooLate, digestOf, type Done, type SendOptions } from "./job.js";
import { Journal } from "./journal.js";
import type { Sent, SenderOptions, SenderStatus } from "./options.js";
import { Pump } from "./pump.js";
import { MemoryStore } from "./store.js";

/**
 * createSender makes the sender for a signer's account. An account must have only one sender. It resumes the open jobs
 * in the store's journal. It waits for an unreachable node as long as the client's option `retry` allows, and then
 * rejects. It also rejects if another sender has the store.
 */
export async function createSender(client: Client, signer: Signer, options: SenderOptions = {}): Promise<Sender> {
  if (options.payer) options = { ...options, validFor: options.validFor ?? SPONSORED_TIME };
  if (options.payer && options.validFor! > MAX_SPONSORED) {
    throw new SignerError("sponsored_too_long", "a transaction with a payer can be valid for at most 10 minutes");
  }
  const [chainId, info] = await Promise.all([client.call("svc_chainId"), client.call("svc_getNodeInfo")]);
  const store = options.store ?? new MemoryStore();
  const entries = await store.open({ genesis: info.genesis_hash, account: signer.account });
  try {
    return new Sender(client, new Pump(client, signer, chainId, new Journal(store, entries), options, entries));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Sender sends the transactions of one account for many concurrent callers. */
export class Sender {
  readonly #client: Client;
  readonly #pump: Pump;

  constructor(client: Client, pump: Pump) {
    this.#client = client;
    this.#pump = pump;
  }

  /** status tells whether the node answers and, if not, since when, in milliseconds of the clock. */
  get status(): Signal<SenderStatus> {
    return this.#pump.status;
  }
  get account(): Account {
    return this.#pump.account;
  }

  /**
   * send queues an action. For an id that was sent before it returns the existing job, with a durable store even after
   * a crash. It throws a SenderError if the id has another action, or if the sender is closed.
   */
  send(action: Action, options: SendOptions = {}): Sent {
    return this.#enqueue(options, digestOf({ action }), (id, digest) => new Job(id, digest, action, options));
  }

  /**
   * sendAll sweeps the account's whole balance once all earlier jobs are in blocks; later jobs wait. If another
   * transaction creates the recipient's entry meanwhile, the gas for it is refunded, and a second transfer sweeps the
   * refund before `receipt` resolves. With a payer one transfer moves the whole balance.
   */
  sendAll(to: Account, options: Pick<SendOptions, "id"> = {}): Sent {
    const account = toHex(from32(to));
    return this.#enqueue(options, digestOf({ sweepTo: account }), (id, digest) => new Job(id, digest, undefined, options, account));
  }

  /**
   * forget forgets the jobs that were finished in blocks before a height, and returns their number. A forgotten id
   * would be paid again. Without it the sender remembers each job that has an id.
   */
  forget(before: number): number {
    const { done } = this.#pump;
    const had = done.size;
    for (const [id, { height }] of done) if (height < before) done.delete(id);
    return had - done.size;
  }

  /** close stops the sender. Open jobs stay in the journal, for the next sender; their promises reject here. */
  async close(): Promise<void> {
    this.#pump.stop(new SenderError("closed", "the sender is closed"));
    await this.#pump.ended;
  }

  #enqueue(options: SendOptions, digest: `0x${string}`, make: (id: string, digest: `0x${string}`) => Job): Sent {
    if (this.#pump.closed) throw this.#pump.closed;
    if (options.id === "" || options.id?.startsWith(OWN_IDS)) {
      throw new SenderError("bad_id", `an ID must not be empty or begin with ${OWN_IDS}`);
    }
    const id = options.id ?? OWN_IDS + crypto.randomUUID();
    const known = this.#pump.jobs.get(id) ?? this.#pump.done.get(id);
    if (known && known.digest !== digest) throw new SenderError("idempotency_conflict", `${id} was sent with something else`);
    if (known instanceof Job) {
      known.options = options; // the journal does not have a job's options
      return this.#sent(known);
    }
    if (known) return this.#wasSent(known);
    const job = make(id, digest);
    this.#pump.add(job);
    return this.#sent(job);
  }

  #sent(job: Job): Sent {
    const [accepted, receipt] = [job.accepted.promise, job.receipt.promise];
    const cancel = (): Promise<void> => {
      this.#pump.cancel(job);
      return cancelled(receipt);
    };
    return { id: job.id, accepted, receipt, final: (level) => this.#final(receipt, level), cancel };
  }

  #wasSent(done: Done): Sent {
    const client = this.#client;
    let receipt: Promise<Receipt> | undefined;
    const ask = (): Promise<Receipt> => (receipt ??= client.receipt(done.hash));
    return {
      id: done.id, accepted: Promise.resolve(done.hash), final: (level) => this.#final(ask(), level), cancel: () => cancelled(ask()),
      get receipt() {
        return ask();
      },
    };
  }

  async #final(receipt: Promise<Receipt>, level: "included" | "proven" = "included"): Promise<Receipt> {
    const got = await receipt;
    if (level === "proven") await this.#client.proven(got.blockHeight);
    return got;
  }
}

/** cancelled resolves when a job's receipt rejects because the job was cancelled or has expired. */
async function cancelled(receipt: Promise<Receipt>): Promise<void> {
  try {
    throw new TooLate(await receipt);
  } catch (error) {
    if (!(error instanceof SenderError && ["cancelled", "expired"].includes(error.reason))) throw error;
  }
}
