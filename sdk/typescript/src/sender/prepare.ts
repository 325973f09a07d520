import { contentOf, type Action } from "../action.js";
import { MAX_U64 } from "../amounts.js";
import { RpcError } from "../errors.js";
import type { Call, Client } from "../client.js";
import { GAS, intrinsicGas } from "../gas.js";
import type { Receipt, rpc } from "../index.js";
import { toHex, type Account } from "../hex.js";
import { encodeForEstimate, type Party, type SignedTransaction } from "../transaction.js";
import { InsufficientForFee, type Job } from "./job.js";

/** Terms are the fields with which a transaction is signed, except its nonce. */
export interface Terms {
  action: Action;
  gasLimit: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/**
 * Parties are the signers, with known facts about the chain and the account. `fresh` means that the account may have no
 * entry yet.
 */
export interface Parties {
  chainId: bigint;
  sender: Party;
  payer: Party | undefined;
  fresh: boolean;
}

/** transient are the reasons to repeat a request later: the request itself is valid. */
export const transient = ["mempool_full", "storage", "rate", "busy", "time", "request_gas"];

/**
 * prepare determines fees and gas of several jobs. It returns for each its terms, or the error that prevents sending
 * it.
 */
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

/** gasLimitOf returns the gas limit in a job's options, or else one from the answer to its question. */
function gasLimitOf(job: Job, answer: bigint | undefined, parties: Parties): bigint {
  const { gasLimit, gasMargin = 0n } = job.options;
  if (gasLimit !== undefined) return gasLimit;
  if (answer === undefined) return intrinsic(job.action!, parties);
  return job.action!.type === "transfer" ? transferGas(job.action!, answer > 0n, parties) : least(answer + gasMargin, MAX_U64);
}

/** intrinsic returns the gas of a transaction of the account before it runs. */
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
 * transferGas returns the gas limit of a transfer. An account that has sent keeps its entry for ever; any other may
 * have none in the transfer's block, even if it has a balance now. Unused gas is refunded.
 */
function transferGas(transfer: Action, hasEntry: boolean, parties: Parties): bigint {
  return intrinsic(transfer, parties) + (hasEntry ? 0n : GAS.NewAccount);
}

/** fees returns the node's suggested fees, limited by a cap. */
function fees(prices: rpc.GasPriceInfo, cap: bigint | undefined): { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint } {
  const maxFeePerGas = least(prices.suggested_max_fee, cap);
  return { maxFeePerGas, maxPriorityFeePerGas: least(prices.suggested_priority_fee, maxFeePerGas) };
}

/** more returns a fee for a replacement: a tenth more, or the suggested fee if that is higher. */
function more(fee: bigint, suggested: bigint): bigint {
  return greatest(fee + (fee + 9n) / 10n, suggested);
}

/**
 * raised returns the fees of a replacement: each a tenth more, or the suggested fee if that is higher; undefined if
 * that exceeds the cap or is no valid amount.
 */
export function raised(old: Terms, prices: rpc.GasPriceInfo, cap: bigint | undefined): Terms | undefined {
  const maxFeePerGas = more(old.maxFeePerGas, prices.suggested_max_fee);
  if (maxFeePerGas > (cap ?? MAX_U64)) return undefined;
  const maxPriorityFeePerGas = least(more(old.maxPriorityFeePerGas, prices.suggested_priority_fee), maxFeePerGas);
  return { ...old, maxFeePerGas, maxPriorityFeePerGas };
}

/**
 * nothing returns the terms of an empty transfer to oneself that cancels a transaction, at the suggested fees and at
 * least a tenth more than before; undefined if that is no valid amount. The cap limits the fees only as far as the node
 * still accepts them.
 */
export function nothing(old: SignedTransaction, prices: rpc.GasPriceInfo, cap: bigint | undefined, parties: Parties): Terms | undefined {
  const action: Action = { type: "transfer", to: old.sender, value: 0n };
  const tenthMore = more(old.maxFeePerGas, 0n);
  if (tenthMore > MAX_U64) return undefined;
  const maxFeePerGas = least(greatest(tenthMore, prices.suggested_max_fee), cap === undefined ? undefined : greatest(cap, tenthMore));
  const maxPriorityFeePerGas = least(more(old.maxPriorityFeePerGas, prices.suggested_priority_fee), maxFeePerGas);
  return { action, gasLimit: intrinsic(action, parties), maxFeePerGas, maxPriorityFeePerGas };
}

/** Finding is the result of a search for a job's receipt. */
export interface Finding {
  receipt?: Receipt;
  /** the reason why the search was inconclusive */
  failed?: Error;
  /** without a receipt: the time up to which the asked node has all blocks, in milliseconds; 0 if unknown */
  head: bigint;
}

/**
 * Headed are the answers to calls with the time of a block in milliseconds, or 0 if unknown. The answers refer to that
 * block or a newer one.
 */
export interface Headed {
  answers: unknown[];
  head: bigint;
  /** whether the answers may come from several nodes */
  divided: boolean;
}

/** receiptsOf requests the receipts of all versions of jobs together. */
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

/** find reads the answers of a node, whose head is given, for a job's versions. */
function find(job: Job, answers: unknown[], head: bigint): Finding {
  const found: Finding = { head };
  for (const [i, answer] of answers.entries()) {
    // a node that has pruned the block, or that is behind, cannot know
    if (answer instanceof RpcError && answer.is("pruned")) found.head = 0n;
    else if (answer instanceof Error) found.failed ??= answer;
    else if ((answer as Receipt | null)?.transactionHash === job.versions[i]!.hash) return { receipt: answer as Receipt, head };
  }
  return found;
}

/** usedBy returns the included transaction that used an account's nonce; undefined if the node knows none. */
export async function usedBy(client: Client, account: Account, nonce: bigint): Promise<rpc.Transaction | undefined> {
  const [answer] = await client.post([{ method: "svc_getTransactionByNonce", params: [account, nonce] }]);
  if (answer instanceof RpcError) return undefined; // such as a search that is too long
  const [other] = values<[rpc.Transaction | null]>([answer]);
  return other && other.blockHash !== null && other.nonce === nonce && other.from === account ? other : undefined;
}

/**
 * sweep computes a transfer that leaves nothing. Max fee and priority fee are the same price, so that this price is
 * paid whatever the base fee is. The value is the balance minus gas × price, or with a payer the whole balance. It
 * throws {@link InsufficientForFee}.
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

/** sweepPrice returns the price per gas of a sweep: a base fee that may rise once, plus the suggested priority fee. */
function sweepPrice(prices: rpc.GasPriceInfo): bigint {
  return (prices.base_fee * 9n + 7n) / 8n + prices.suggested_priority_fee;
}

/**
 * sweepAgain pays more of the same balance for gas, or more of the payer's; undefined if there is no more, or if the
 * price exceeds the cap.
 */
export function sweepAgain(old: Terms, prices: rpc.GasPriceInfo, cap: bigint | undefined, { payer }: Pick<Parties, "payer">): Terms | undefined {
  if (old.action.type !== "transfer") return undefined;
  const price = more(old.maxFeePerGas, sweepPrice(prices));
  const value = payer ? old.action.value : old.action.value - old.gasLimit * (price - old.maxFeePerGas);
  if (value <= 0n || price > (cap ?? MAX_U64)) return undefined;
  return { ...old, action: { ...old.action, value }, maxFeePerGas: price, maxPriorityFeePerGas: price };
}

/** values returns the results of a request in which no call may fail. */
export function values<T extends unknown[]>(answers: unknown[]): T {
  for (const answer of answers) if (answer instanceof Error) throw answer;
  return answers as T;
}

/** least returns the lower of an amount and an optional bound. */
export function least(a: bigint, b: bigint | undefined): bigint {
  return b !== undefined && b < a ? b : a;
}

function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
