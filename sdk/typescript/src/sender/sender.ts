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
 * createSender makes the sender of a signer's account; there must be one only of an account. It takes up what the store's journal has
 * open. A node that is away is waited for as long as the client's option `retry` says; then it rejects, and where the store is another's.
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

/** Sender sends the transactions of one account for many callers at once. */
export class Sender {
  readonly #client: Client;
  readonly #pump: Pump;

  constructor(client: Client, pump: Pump) {
    this.#client = client;
    this.#pump = pump;
  }

  /** status is whether the node answers, and since when not, in milliseconds of the clock. */
  get status(): Signal<SenderStatus> {
    return this.#pump.status;
  }
  get account(): Account {
    return this.#pump.account;
  }

  /**
   * send queues an action. With an id that was sent before it gives that job back, also after a crash where the store is durable. It
   * throws a SenderError: of an id with another action, or where the sender is closed.
   */
  send(action: Action, options: SendOptions = {}): Sent {
    return this.#enqueue(options, digestOf({ action }), (id, digest) => new Job(id, digest, action, options));
  }

  /**
   * sendAll sweeps the account to the last unit, once what was sent before it is in blocks. What comes after it waits. If another creates
   * the recipient's entry meanwhile, what its gas would have cost is left, and is swept by a second transfer before `receipt` resolves. With
   * a payer one transfer moves the whole balance.
   */
  sendAll(to: Account, options: Pick<SendOptions, "id"> = {}): Sent {
    const account = toHex(from32(to));
    return this.#enqueue(options, digestOf({ sweepTo: account }), (id, digest) => new Job(id, digest, undefined, options, account));
  }

  /**
   * forget forgets the jobs that were done in blocks before a height, and gives how many those were: an id of theirs would be paid again.
   * Without it the sender remembers each job that has an id.
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
      known.options = options; // those of a job from the journal are not in it
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

/** cancelled resolves when a job's receipt rejects because the job is cancelled, or has expired before that. */
async function cancelled(receipt: Promise<Receipt>): Promise<void> {
  try {
    throw new TooLate(await receipt);
  } catch (error) {
    if (!(error instanceof SenderError && ["cancelled", "expired"].includes(error.reason))) throw error;
  }
}
