// The pages' own checks, which trust no node: values under the state root of a header that the producer sealed.
import {
  RpcError,
  blockHash,
  encodeArguments,
  fromHex,
  parseHeader,
  toHex,
  type Account,
  type AccountRecord,
  type Hash,
  type SignedHeader,
  type rpc,
} from "@cairn-chain/sdk";
import type { BlockVerdict, Included, Trust } from "@cairn-chain/sdk/verify";
import { authority } from "./authority";
import { abiOfCode } from "./section";
import { decodeResult, type Value } from "./decode";
import { client, info, patient, takenBack } from "./node";
import { startWorker } from "./workers";

/** Checked is a value, and the block after which it is true. */
export interface Checked<T> {
  value: T;
  header: SignedHeader;
}

let newest = 0n; // no answer may come from an older block than an earlier answer
takenBack.subscribe((height) => {
  if (height !== null) newest = 0n;
});

function trusted(): Trust {
  if (!authority.value || !info.value) throw new Error("the node has not said yet which chain it has");
  return { chainId: BigInt(info.value.chain_id), network: info.value.network, producer: authority.value.producer };
}

/** at bounds the block of an answer: the requested one, or none older than those seen. */
const at = (height?: number): { height?: bigint; atLeast?: bigint } =>
  height === undefined ? { atLeast: newest } : { height: BigInt(height) };

function seen<T>(checked: Checked<T>): Checked<T> {
  if (checked.header.height > newest) newest = checked.header.height;
  return checked;
}

/** checkAccount reads an account's record by a Merkle proof. It throws a VerifyError or an error of the client. */
export async function checkAccount(account: Account, height?: number): Promise<Checked<AccountRecord>> {
  const { readAccount } = await import("@cairn-chain/sdk/view");
  const { header, ...value } = await readAccount(client, trusted(), account, at(height));
  return seen({ value, header });
}

/** checkBalance is checkAccount for the balance only. */
export async function checkBalance(account: Account, height?: number): Promise<Checked<bigint>> {
  const { value, header } = await checkAccount(account, height);
  return { value: value.balance, header };
}

/** Shown is a transaction that is proven to be in a block, with the rule that its witnesses break, if any. */
export interface Shown extends Included {
  fault: string | undefined;
}

/**
 * checkIncluded verifies that a transaction is in a block, and its receipt. It returns null while no block has it. It
 * throws a VerifyError.
 */
export async function checkIncluded(hash: Hash): Promise<Shown | null> {
  const { readIncluded, transactionFault } = await import("@cairn-chain/sdk/verify");
  const trust = trusted();
  const included = await readIncluded(client, trust, hash);
  return included && { ...included, fault: transactionFault(included.transaction, trust.network)?.message };
}

/** The input and the answer of the worker for blocks. */
export interface BlockTask {
  raw: Uint8Array;
  receipts: rpc.Receipt[];
  network: Trust["network"];
}
export type BlockAnswer = { verdict: BlockVerdict; transactions: number; took: number } | { refused: string };

/** checkBlock reads a whole block and its receipts, and checks them against its header in a worker. */
export async function checkBlock(height: number): Promise<BlockAnswer & { size: number }> {
  const range = { from_height: height, to_height: height, include_transactions: true, raw_only: true };
  const [item] = await patient.call("svc_getBlocks", range);
  if (!item) throw new Error("the node gives no such block");
  const raw = fromHex(item.raw);
  const receipts: rpc.Receipt[] = [];
  for (;;) {
    const page = await patient.call("svc_getBlockReceipts", height, { from: receipts.length });
    if (page.length === 0) break;
    receipts.push(...page);
  }
  const running = startWorker("block");
  try {
    const answer = await new Promise<BlockAnswer>((resolve) => {
      running.onmessage = ({ data }) => resolve(data as BlockAnswer);
      running.onerror = () => resolve({ refused: "the worker could not be started" });
      running.postMessage({ raw, receipts, network: trusted().network } satisfies BlockTask);
    });
    return { ...answer, size: raw.length };
  } finally {
    running.terminate();
  }
}

const codes = new Map<string, Promise<Uint8Array>>();

/** codeOf returns the node's code for a contract. The caller must check its hash. */
function codeOf(contract: Account): Promise<Uint8Array> {
  let found = codes.get(contract);
  if (!found) {
    found = client.call("svc_getContractCode", contract).then(fromHex);
    found.catch(() => codes.delete(contract));
    if (codes.size > 50) codes.clear();
    codes.set(contract, found);
  }
  return found;
}
takenBack.subscribe(() => codes.clear());

/**
 * checkView makes a view call on state proven by the node, with the ABI of the code whose hash is in the state. It
 * throws a VerifyError, an UnansweredError, or an error of the client.
 */
export async function checkView(
  contract: Account,
  name: string,
  args: Record<string, unknown> = {},
  height?: number,
): Promise<Checked<Value>> {
  const [{ readView, UnansweredError }, { workerRunner }, code] = await Promise.all([
    import("@cairn-chain/sdk/view"),
    import("@cairn-chain/sdk/view/worker"),
    codeOf(contract),
  ]);
  const abi = abiOfCode(code);
  const declared = abi?.functions.find((f) => f.name === name && f.mode === "read");
  if (!abi || !declared) throw new UnansweredError("unsupported", "the code does not declare this function");
  const question = {
    ...at(height),
    contract,
    function: name,
    args: fromHex(encodeArguments(declared.args ?? [], args, abi)),
    codes: [code],
  };
  const view = await readView(client, trusted(), question, workerRunner(() => startWorker("view"), 5_000));
  const said = view.outcome === "success" ? decodeResult(declared.returns, toHex(view.data), abi) : undefined;
  if (!said) throw new UnansweredError("unsupported", `the call ends with ${view.outcome.replace(/_/g, " ")}`);
  return seen({ value: said, header: view.header });
}

/** Verdict is the verifier's verdict on a bundle (proof/wasm/index.d.ts). */
export interface Verdict {
  chainId: number;
  height: number;
  blockHash: string;
  parentHash: string;
  producer: string;
  preRoot: string;
  postRoot: string;
  statement: string;
  securityBits: number;
  accesses: number;
  writes: number;
}
export type Answer = { verdict: Verdict; took: number; size: number } | { refused: string };

/** hasVerifier reports whether the program that served these pages includes the verifier. If so, it marks its pages. */
export const hasVerifier = document.body.dataset["verifier"] !== undefined;

/** ProofState tells whether the node has a block's proof, will have one, or has no such block. */
export type ProofState =
  | { is: "here" | "absent" | "ahead" }
  | { is: "awaited"; proving: boolean; before: number };

/** proofState asks the node whether it has a block's proof. */
export async function proofState(height: number): Promise<ProofState> {
  const { proofs } = await client.call("svc_getNodeInfo");
  if (proofs && proofs.oldest <= height && height <= proofs.newest) return { is: "here" };
  try {
    await client.call("svc_getProof", height);
    return { is: "here" };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (error.is("proof_not_stored")) return { is: "absent" };
    if (error.is("above_head")) return { is: "ahead" };
    if (!error.is("proof_not_ready")) throw error;
    const { status, position } = error.data as { status?: unknown; position?: unknown };
    return { is: "awaited", proving: status === "proving", before: Number(position) };
  }
}

let worker: Worker | undefined;
let last: Promise<unknown> = Promise.resolve();

/** verifyBlock verifies a block's STARK proof in a worker, because a large block takes seconds. */
export async function verifyBlock(height: number): Promise<Answer> {
  const response = await fetch(`/proof/${height}`);
  if (!response.ok) return { refused: `the node gives no proof of this block: status ${response.status}` };
  const bundle = await response.arrayBuffer();
  const size = bundle.byteLength;
  const ask = async (): Promise<Answer> => {
    const running = (worker ??= startWorker("proof"));
    const answer = await new Promise<Answer>((resolve) => {
      running.onmessage = ({ data }) => resolve(data as Answer);
      running.onerror = () => resolve({ refused: "the verifier could not be started" });
      running.postMessage(bundle, [bundle]);
    });
    return "verdict" in answer ? { ...answer, size } : answer;
  };
  const mine = last.then(ask); // one request at a time, because answers have no numbers
  last = mine.catch(() => undefined);
  return mine;
}

/** signedHeader reads a block's header from the node, and checks its hash and its producer's seal. */
export async function signedHeader(height: number, hash: string): Promise<boolean> {
  const [item] = await client.call("svc_getBlocks", { from_height: height, to_height: height, raw_only: true });
  if (!item) return false;
  const header = parseHeader(fromHex(item.raw));
  const { verifySeal } = await import("@cairn-chain/sdk/verify");
  return blockHash(header) === hash && verifySeal(header);
}
