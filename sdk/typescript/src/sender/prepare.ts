import { contentOf, type Action } from "../action.js";
import { MAX_U64 } from "../amounts.js";
import { RpcError } from "../errors.js";
import type { Call, Client } from "../client.js";
import { GAS, intrinsicGas } from "../gas.js";
import type { Receipt, rpc } from "../index.js";
import { toHex, type Account } from "../hex.js";
import { encodeForEstimate, type Party, type SignedTransaction } from "../transaction.js";
import { InsufficientForFee, type Job } from "./job.js";

/** Terms are what a transaction is signed with beside its nonce. */
export interface Terms {
  action: Action;
  gasLimit: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Parties are who signs, and what is known of the chain and the account: `fresh` is one that may have no entry yet. */
export interface Parties {
  chainId: bigint;
  sender: Party;
  payer: Party | undefined;
  fresh: boolean;
}

/** transient are the reasons to ask again later: nothing is wrong with what was asked. */
export const transient = ["mempool_full", "storage", "rate", "busy", "time", "request_gas"];

/** prepare finds fees and gas of jobs together: for each its terms, or the error that it cannot be sent for. */
export async function prepare(
  client: Client, parties: Parties, jobs: Job[], cap: (job: Job) => bigint | undefined,
): Promise<(Terms | Error)[]> {
  const calls: Call[] = [{ method: "svc_gasPrice", params: [] }];
  const asked = jobs.map((job) => {
    const call = question(job.action!, parties);
    return job.options.gasLimit === undefined && call ? calls.push(call) - 1 : undefined;
  });
  const answers = await client.post(calls);
  const prices = answers[0];
  if (prices instanceof Error) throw prices;
  return jobs.map((job, i) => {
    const index = asked[i];
    const answer = index === undefined ? undefined : answers[index];
    if (answer instanceof Error) return answer;
    return { action: job.action!, gasLimit: gasLimitOf(job, answer as bigint | undefined, parties), ...fees(prices as rpc.GasPriceInfo, cap(job)) };
  });
}

/** gasLimitOf is what a job says, else what follows from the answer to its question. */
function gasLimitOf(job: Job, answer: bigint | undefined, parties: Parties): bigint {
  const { gasLimit, gasMargin = 0n } = job.options;
  if (gasLimit !== undefined) return gasLimit;
  if (answer === undefined) return intrinsic(job.action!, parties);
  return job.action!.type === "transfer" ? transferGas(job.action!, answer > 0n, parties) : least(answer + gasMargin, MAX_U64);
}

/** intrinsic is the gas that a transaction of the account takes before it runs. */
export function intrinsic(action: Action, { sender, payer, fresh }: Parties): bigint {
  const { payload } = contentOf(action);
  const gas = intrinsicGas({ payload, payer: payer?.account ?? null }, sender.sample(payload, "sender"), payer?.sample(payload, "payer"));
  return payer && fresh ? gas + GAS.NewAccount : gas;
}

/** question returns the call that asks the node for an action's gas; undefined if the gas is known. */
function question(action: Action, { chainId, sender, payer }: Parties): Call | undefined {
  if (action.type === "transfer") {
    return action.value === 0n ? undefined : { method: "svc_getTransactionCount", params: [action.to, "latest"] };
  }
  if (action.type === "configure" || action.type === "set_policy") return undefined;
  const tx = {
    ...contentOf(action), chainId, sender: sender.account, nonce: 0n, gasLimit: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n,
    payer: payer?.account ?? null, validUntil: null,
  };
  return { method: "svc_estimateGas", params: [toHex(encodeForEstimate(tx, sender, payer))] };
}

/**
 * transferGas is the gas limit of a transfer to an account that has an entry for ever, since it has sent, or that may have none: a balance
 * alone may be gone until the transfer's block. What is not needed is given back.
 */
function transferGas(transfer: Action, hasEntry: boolean, parties: Parties): bigint {
  return intrinsic(transfer, parties) + (hasEntry ? 0n : GAS.NewAccount);
}

/** fees are what the node suggests, at most a cap. */
function fees(prices: rpc.GasPriceInfo, cap: bigint | undefined): { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint } {
  const maxFeePerGas = least(prices.suggested_max_fee, cap);
  return { maxFeePerGas, maxPriorityFeePerGas: least(prices.suggested_priority_fee, maxFeePerGas) };
}

/** more is a fee for a replacement: a tenth more, or what is suggested now. */
function more(fee: bigint, suggested: bigint): bigint {
  return greatest(fee + (fee + 9n) / 10n, suggested);
}

/** raised are the fees of a replacement: each a tenth more, or what is suggested now; undefined where that is over the cap, or no amount. */
export function raised(old: Terms, prices: rpc.GasPriceInfo, cap: bigint | undefined): Terms | undefined {
  const maxFeePerGas = more(old.maxFeePerGas, prices.suggested_max_fee);
  if (maxFeePerGas > (cap ?? MAX_U64)) return undefined;
  const maxPriorityFeePerGas = least(more(old.maxPriorityFeePerGas, prices.suggested_priority_fee), maxFeePerGas);
  return { ...old, maxFeePerGas, maxPriorityFeePerGas };
}

/**
 * nothing are the terms that cancel a transaction: a transfer of nothing to oneself, for what the node suggests and a tenth more than
 * before at least; undefined where that is no amount. A cap holds it back only as far as the node would still take it.
 */
export function nothing(old: SignedTransaction, prices: rpc.GasPriceInfo, cap: bigint | undefined, parties: Parties): Terms | undefined {
  const action: Action = { type: "transfer", to: old.sender, value: 0n };
  const tenthMore = more(old.maxFeePerGas, 0n);
  if (tenthMore > MAX_U64) return undefined;
  const maxFeePerGas = least(greatest(tenthMore, prices.suggested_max_fee), cap === undefined ? undefined : greatest(cap, tenthMore));
  const maxPriorityFeePerGas = least(more(old.maxPriorityFeePerGas, prices.suggested_priority_fee), maxFeePerGas);
  return { action, gasLimit: intrinsic(action, parties), maxFeePerGas, maxPriorityFeePerGas };
}

/** Finding is what was learned of a job's receipt. */
export interface Finding {
  receipt?: Receipt;
  /** why it is not known whether there is one */
  failed?: Error;
  /** without a receipt: until when the node that was asked has all blocks, in milliseconds; 0 where that is not known */
  head: bigint;
}

/** Headed are the answers to calls, and the time of a block, in milliseconds, that they are of, or of a newer one; 0: not known. */
export interface Headed {
  answers: unknown[];
  head: bigint;
  /** whether the answers may be of several nodes */
  divided: boolean;
}

/** receiptsOf asks for the receipts of all versions of jobs with one request. */
export async function receiptsOf(ask: (calls: Call[]) => Promise<Headed>, jobs: Job[]): Promise<Map<Job, Finding>> {
  const calls = jobs.flatMap((job) => job.versions.map(({ hash }): Call => ({ method: "svc_getTransactionReceipt", params: [hash] })));
  const { answers, head, divided } = await ask(calls);
  const findings = new Map<Job, Finding>();
  for (const job of jobs) {
    let found = find(job, answers.splice(0, job.versions.length), head);
    const absent = !found.receipt && !found.failed;
    if (absent && job.until !== null && divided && jobs.length > 1) found = (await receiptsOf(ask, [job])).get(job)!;
    findings.set(job, found);
  }
  return findings;
}

/** find reads the answers for a job's versions, of a node with a head. */
function find(job: Job, answers: unknown[], head: bigint): Finding {
  const found: Finding = { head };
  for (const [i, answer] of answers.entries()) {
    // a node that keeps a part of the chain cannot know of what it has pruned, as one that is behind
    if (answer instanceof RpcError && answer.is("pruned")) found.head = 0n;
    else if (answer instanceof Error) found.failed ??= answer;
    else if ((answer as Receipt | null)?.transactionHash === job.versions[i]!.hash) return { receipt: answer as Receipt, head };
  }
  return found;
}

/** usedBy is the transaction in a block that used an account's nonce; undefined where the node knows none. */
export async function usedBy(client: Client, account: Account, nonce: bigint): Promise<rpc.Transaction | undefined> {
  const [answer] = await client.post([{ method: "svc_getTransactionByNonce", params: [account, nonce] }]);
  if (answer instanceof RpcError) return undefined; // such as that the search is too long
  const [other] = values<[rpc.Transaction | null]>([answer]);
  return other && other.blockHash !== null && other.nonce === nonce && other.from === account ? other : undefined;
}

/**
 * sweep finds what leaves nothing: max fee and priority fee are one price, so that it is the price whatever the base fee is, and the
 * value is the balance without gas × price, or with a payer the balance. It throws {@link InsufficientForFee}.
 */
export async function sweep(client: Client, parties: Parties, job: Job, cap: bigint | undefined): Promise<Terms> {
  const to = job.sweepTo!;
  const [height] = values<[bigint]>(await client.post([{ method: "svc_blockNumber", params: [] }]));
  const [balance, nonce, had, prices] = values<[bigint, bigint, bigint, rpc.GasPriceInfo]>(await client.post([
    { method: "svc_getBalance", params: [parties.sender.account, height] }, { method: "svc_getTransactionCount", params: [to, height] },
    { method: "svc_getBalance", params: [to, height] }, { method: "svc_gasPrice", params: [] },
  ]));
  const action: Action = { type: "transfer", to, value: 1n };
  const gasLimit = transferGas(action, nonce > 0n || had > 0n, parties);
  const price = least(sweepPrice(prices), cap);
  const fee = parties.payer ? 0n : gasLimit * price;
  if (balance <= fee) throw new InsufficientForFee(balance, fee);
  return { action: { ...action, value: balance - fee }, gasLimit, maxFeePerGas: price, maxPriorityFeePerGas: price };
}

/** sweepPrice is what a sweep pays per gas: a base fee that may rise once, and the suggested priority fee. */
function sweepPrice(prices: rpc.GasPriceInfo): bigint {
  return (prices.base_fee * 9n + 7n) / 8n + prices.suggested_priority_fee;
}

/** sweepAgain pays more of the same balance for gas, or more of the payer's; undefined where it has no more, or the price is over the cap. */
export function sweepAgain(old: Terms, prices: rpc.GasPriceInfo, cap: bigint | undefined, { payer }: Pick<Parties, "payer">): Terms | undefined {
  if (old.action.type !== "transfer") return undefined;
  const price = more(old.maxFeePerGas, sweepPrice(prices));
  const value = payer ? old.action.value : old.action.value - old.gasLimit * (price - old.maxFeePerGas);
  if (value <= 0n || price > (cap ?? MAX_U64)) return undefined;
  return { ...old, action: { ...old.action, value }, maxFeePerGas: price, maxPriorityFeePerGas: price };
}

/** values are the results of a request of which none may fail. */
export function values<T extends unknown[]>(answers: unknown[]): T {
  for (const answer of answers) if (answer instanceof Error) throw answer;
  return answers as T;
}

/** least is the lower of an amount and of a bound, if there is one. */
export function least(a: bigint, b: bigint | undefined): bigint {
  return b !== undefined && b < a ? b : a;
}

function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
