// Finds the first rule of validity that a transaction breaks, and the fault of a block, as far as no execution is
// needed. The SDK checks the rules that need no state; the others are here, for the vectors.
import {
  CodecError, GAS, MAX_TIME, VERSION, authorityAt, changeFault, claim, decodeParameters, decodeRecord, decodeSigned, encodeTransaction, feeCap,
  intrinsicGas, movedAmount, nextBaseFee, parseBlock, versionAt, blockHash, type Account, type AccountRecord, type Header, type Network,
  type Parameters, type SignedTransaction,
} from "@cairn-chain/sdk";
import type { State } from "./state.js";
import { listRoot, transactionFault, transactionLeaf, verifySeal } from "@cairn-chain/sdk/verify";

/** The context in which a transaction is judged. */
export interface Context {
  chainId: bigint;
  network: Network;
  parameters: Parameters;
  baseFee: bigint;
  timestamp: bigint;
  gasLeft: bigint;
  bytesLeft: number;
  account(account: Account): AccountRecord;
  /** whether earlier transactions of the block may have changed more than nonces: then only nonces are judged */
  behind?: boolean;
}

const isNew = ({ balance, nonce }: AccountRecord): boolean => balance === 0n && nonce === 0n;

/** gasOf returns the intrinsic gas of a transaction in a context. */
export function gasOf(tx: SignedTransaction, { account }: Pick<Context, "account">): bigint {
  return intrinsicGas(tx, tx.witness, tx.payerWitness) + (isNew(account(tx.sender)) ? GAS.NewAccount : 0n);
}

/** brokenRule returns the first rule, in order, that encoded bytes break; 0 if they break none. */
export function brokenRule(bytes: Uint8Array, context: Context): number {
  let tx: SignedTransaction;
  try {
    tx = decodeSigned(bytes).transaction;
  } catch (error) {
    if (error instanceof CodecError) return 1;
    throw error;
  }
  if (tx.chainId !== context.chainId) return 2;
  const fault = transactionFault(tx, context.network);
  if (fault && fault.rule < 18) return fault.rule;
  return byState(tx, context) || (fault ? fault.rule : bytes.length > context.bytesLeft ? 19 : 0);
}

/** byState returns the first of the rules 11 to 17 that a transaction breaks; 0 if it breaks none. */
function byState(tx: SignedTransaction, context: Context): number {
  const { parameters, timestamp } = context;
  if (context.baseFee > tx.maxFeePerGas) return 11;
  if (tx.validUntil !== null && timestamp > tx.validUntil) return 12;
  if (tx.payload.type === "configure") {
    if (tx.sender !== parameters.admin || changeFault(parameters, tx.payload.parameters, timestamp) !== undefined) return 13;
  }
  const sender = context.account(tx.sender);
  const payer = tx.payer === null ? undefined : context.account(tx.payer);
  if (tx.nonce !== sender.nonce) return 14;
  if (tx.gasLimit > context.gasLeft) return 15;
  if (context.behind) return 0;
  if (gasOf(tx, context) > tx.gasLimit) return 15;
  const [amount, fee] = [movedAmount(tx), feeCap(tx)];
  if (sender.balance < (payer ? amount : amount + fee) || (payer && payer.balance < fee)) return 16;
  if (claim(tx.sender, tx.witness) !== authorityAt(sender, timestamp)) return 17;
  return payer && claim(tx.payer!, tx.payerWitness!) !== authorityAt(payer, timestamp) ? 17 : 0;
}

export function recordOf(state: State, account: Account): AccountRecord {
  return decodeRecord(account, state.get(`01${account.slice(2)}`) ?? null);
}

export const parametersOf = (state: State): Parameters => decodeParameters(state.get("0001")!);

/**
 * blockFault returns the fault of an encoded block on a parent with a state; undefined if only execution could show
 * one.
 */
export function blockFault(encoded: Uint8Array, parent: Header, state: State, network: Network): string | undefined {
  const parameters = parametersOf(state);
  let block;
  try {
    block = parseBlock(encoded);
  } catch (error) {
    if (error instanceof CodecError) return /version/.test(error.message) ? "version" : "encoding";
    throw error;
  }
  const { header, transactions } = block;
  if (versionAt(parameters, header.timestamp) !== VERSION) return "version";
  if (header.chainId !== parent.chainId) return "chain_id";
  if (header.height !== parent.height + 1n) return "height";
  if (header.parent !== blockHash(parent)) return "parent";
  if (header.timestamp < parent.timestamp || header.timestamp > MAX_TIME) return "timestamp";
  if (header.producer !== parameters.producer) return "producer";
  if (header.gasLimit !== parameters.gasLimit) return "gas_limit";
  if (header.baseFee !== nextBaseFee(parent, parameters)) return "base_fee";
  if (!verifySeal(header)) return "seal";
  const judged = {
    chainId: header.chainId, network, parameters, baseFee: header.baseFee, timestamp: header.timestamp, gasLeft: header.gasLimit,
    bytesLeft: parameters.blockBytes,
  };
  const sent = new Map<Account, bigint>(); // number of transactions by sender in the block so far
  for (const [i, { transaction: tx }] of transactions.entries()) {
    const bytes = encodeTransaction(tx);
    const account = (id: Account): AccountRecord => {
      const record = recordOf(state, id);
      return { ...record, nonce: record.nonce + (sent.get(id) ?? 0n) };
    };
    const rule = brokenRule(bytes, { ...judged, account, behind: i > 0 });
    if (rule !== 0) return `transaction ${i}: rule ${rule}`;
    judged.bytesLeft -= bytes.length;
    judged.gasLeft -= intrinsicGas(tx, tx.witness, tx.payerWitness); // it used at least its intrinsic gas
    sent.set(tx.sender, (sent.get(tx.sender) ?? 0n) + 1n);
  }
  const leaves = transactions.map(({ transaction, hash }) => transactionLeaf(transaction, hash));
  return listRoot("transactions", leaves) === header.transactionsRoot ? undefined : "transactions_root";
}
