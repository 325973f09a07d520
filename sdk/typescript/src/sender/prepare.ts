import { isKey, nobody } from "../address.js";
import { MAX_U64 } from "../amounts.js";
import { RpcError } from "../errors.js";
import type { Call, Client } from "../client.js";
import { GAS, intrinsicGas } from "../gas.js";
import type { Receipt, rpc } from "../index.js";
import { toHex, type Account } from "../hex.js";
import { encodeTransaction, type Payload, type SignedTransaction } from "../transaction.js";
import { InsufficientForFee, type Job } from "./job.js";

/** Terms are what a transaction is signed with beside its nonce. */
export interface Terms {
  payload: Payload;
  gasLimit: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** transient are the reasons to ask again later: nothing is wrong with what was asked. */
export const transient = ["mempool_full", "storage", "rate", "busy", "time", "request_gas"];

/** prepare finds fees and gas of jobs together: for each its terms, or the error that it cannot be sent for. */
export async function prepare(
  client: Client, chainId: bigint, sender: Account, jobs: Job[], cap: (job: Job) => bigint | undefined,
): Promise<(Terms | Error)[]> {
  const calls: Call[] = [{ method: "svc_gasPrice", params: [] }];
  const asked = jobs.map((job) => {
    const call = question(job.payload!, chainId, sender);
    const to = job.payload!.type === "transfer" ? job.payload!.to : undefined;
    return {
      gas: job.options.gasLimit === undefined && call ? calls.push(call) - 1 : undefined,
      recipient: to !== undefined && isDoubtful(job, to) ? calls.push(contractOf(to)) - 1 : undefined,
    };
  });
  const answers = await client.post(calls);
  const prices = answers[0];
  if (prices instanceof Error) throw prices;
  return jobs.map((job, i) => {
    const { gas: index, recipient } = asked[i]!;
    const answer = index === undefined ? job.options.gasLimit : answers[index];
    if (answer instanceof Error) return answer;
    if (recipient !== undefined) {
      const contract = answers[recipient];
      if (contract instanceof Error) return contract;
      if (contract === null) return nobody((job.payload as Transfer).to);
    }
    return { payload: job.payload!, gasLimit: gasLimitOf(job, index === undefined ? undefined : (answer as bigint)), ...fees(prices as rpc.GasPriceInfo, cap(job)) };
  });
}

type Transfer = Extract<Payload, { type: "transfer" }>;

/** isDoubtful says whether a job pays nobody unless its recipient is a contract. */
function isDoubtful(job: Job, to: Account): boolean {
  return job.options.anyRecipient !== true && !isKey(to);
}

/** contractOf asks for a contract, which is null where there is none. */
function contractOf(account: Account): Call {
  return { method: "svc_getContract", params: [account] };
}

/** gasLimitOf is what a job says, else what follows from the answer to its question. */
function gasLimitOf(job: Job, answer: bigint | undefined): bigint {
  const { gasLimit, gasMargin = 0n } = job.options;
  if (gasLimit !== undefined) return gasLimit;
  if (answer === undefined) return intrinsicGas(job.payload!);
  return job.payload!.type === "transfer" ? transferGas(answer) : least(answer + gasMargin, MAX_U64);
}

/** question is what to ask the node for a payload's gas; undefined where it is known. */
function question(payload: Payload, chainId: bigint, sender: Account): Call | undefined {
  if (payload.type === "transfer") {
    return payload.value === 0n ? undefined : { method: "svc_getTransactionCount", params: [payload.to, "latest"] };
  }
  if (payload.type === "configure") return undefined;
  const tx = { version: 1 as const, chainId, sender, nonce: 0n, gasLimit: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n, payload };
  return { method: "svc_estimateGas", params: [toHex(encodeTransaction(tx))] };
}

/**
 * transferGas is the gas limit of a transfer to an account of this nonce. An account that has sent has an entry for ever; a balance
 * alone may be gone until the transfer's block. What is not needed is given back.
 */
function transferGas(nonce: bigint): bigint {
  return nonce > 0n ? GAS.IntrinsicTransfer : GAS.IntrinsicTransfer + GAS.NewAccount;
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
export function nothing(old: SignedTransaction, prices: rpc.GasPriceInfo, cap: bigint | undefined): Terms | undefined {
  const payload: Payload = { type: "transfer", to: old.sender, value: 0n };
  const tenthMore = more(old.maxFeePerGas, 0n);
  if (tenthMore > MAX_U64) return undefined;
  const maxFeePerGas = least(greatest(tenthMore, prices.suggested_max_fee), cap === undefined ? undefined : greatest(cap, tenthMore));
  const maxPriorityFeePerGas = least(more(old.maxPriorityFeePerGas, prices.suggested_priority_fee), maxFeePerGas);
  return { payload, gasLimit: intrinsicGas(payload), maxFeePerGas, maxPriorityFeePerGas };
}

/** Receipts are what one request for the receipts of jobs found: of whichever version, which jobs have none, and why some are not known. */
interface Receipts {
  receipts: Map<Job, Receipt>;
  absent: Job[];
  failed: Error | undefined;
}

/** receiptsOf asks for the receipts of jobs with one request. */
export async function receiptsOf(client: Client, jobs: Job[]): Promise<Receipts> {
  const versions = jobs.flatMap((job) => job.versions.map((version) => ({ job, version })));
  const answers = await client.post(versions.map(({ version }): Call => ({ method: "svc_getTransactionReceipt", params: [version.hash] })));
  const receipts = new Map<Job, Receipt>();
  const unknown = new Set<Job>();
  let failed: Error | undefined;
  for (const [i, answer] of answers.entries()) {
    const { job, version } = versions[i]!;
    // a node that keeps a part of the chain cannot know of what it has pruned, as one that is behind
    if (answer instanceof RpcError && answer.is("pruned")) continue;
    if (answer instanceof Error) {
      unknown.add(job);
      failed ??= answer;
    } else if ((answer as Receipt | null)?.transactionHash === version.hash) receipts.set(job, answer as Receipt);
  }
  const absent = jobs.filter((job) => !receipts.has(job) && !unknown.has(job));
  return { receipts, absent, failed };
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
 * value is the balance without gas × price. It throws {@link InsufficientForFee}, or an AddressError where the recipient is nobody.
 */
export async function sweep(client: Client, sender: Account, job: Job, cap: bigint | undefined): Promise<Terms> {
  const to = job.sweepTo!;
  const [height] = values<[bigint]>(await client.post([{ method: "svc_blockNumber", params: [] }]));
  const [balance, nonce, had, prices, contract] = values<[bigint, bigint, bigint, rpc.GasPriceInfo, unknown]>(await client.post([
    { method: "svc_getBalance", params: [sender, height] }, { method: "svc_getTransactionCount", params: [to, height] },
    { method: "svc_getBalance", params: [to, height] }, { method: "svc_gasPrice", params: [] },
    ...(isDoubtful(job, to) ? [contractOf(to)] : []),
  ]));
  if (contract === null) throw nobody(to);
  const gasLimit = nonce > 0n || had > 0n ? GAS.IntrinsicTransfer : GAS.IntrinsicTransfer + GAS.NewAccount;
  const price = least(sweepPrice(prices), cap);
  if (balance <= gasLimit * price) throw new InsufficientForFee(balance, gasLimit * price);
  return {
    payload: { type: "transfer", to, value: balance - gasLimit * price }, gasLimit, maxFeePerGas: price, maxPriorityFeePerGas: price,
  };
}

/** sweepPrice is what a sweep pays per gas: a base fee that may rise once, and the suggested priority fee. */
function sweepPrice(prices: rpc.GasPriceInfo): bigint {
  return (prices.base_fee * 9n + 7n) / 8n + prices.suggested_priority_fee;
}

/** sweepAgain pays more of the same balance for gas; undefined where it has no more, or the price is over the cap. */
export function sweepAgain(old: Terms, prices: rpc.GasPriceInfo, cap: bigint | undefined): Terms | undefined {
  if (old.payload.type !== "transfer") return undefined;
  const price = more(old.maxFeePerGas, sweepPrice(prices));
  const value = old.payload.value - old.gasLimit * (price - old.maxFeePerGas);
  if (value <= 0n || price > (cap ?? MAX_U64)) return undefined;
  return { ...old, payload: { ...old.payload, value }, maxFeePerGas: price, maxPriorityFeePerGas: price };
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
