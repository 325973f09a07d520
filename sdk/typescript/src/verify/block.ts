import type { Network } from "../address.js";
import { blockHash, type Block } from "../block.js";
import { listRoot, receiptLeaf, transactionLeaf } from "../lists.js";
import type { ChainReceipt } from "../receipt.js";
import { transactionFault, verifySeal } from "./signatures.js";

/** The checks of a block without a state, in order. */
export type BlockStep = "seal" | "transactions" | "receipts" | "gas" | "signatures";

/**
 * BlockVerdict has the step at which a block fails, with the reason, and the number of transactions whose signatures
 * were checked.
 */
export interface BlockVerdict {
  hash: string;
  failed?: { step: BlockStep; message: string };
  signatures: number;
}

/**
 * checkBlock checks a block and its receipts against its header: its seal, both roots, the gas, and for up to `most`
 * transactions the signatures and the rules that need no state. It cannot check their effects on the state. A signature
 * takes milliseconds: in pages, use a worker.
 */
export function checkBlock({ header, transactions }: Block, receipts: readonly ChainReceipt[], network: Network, most = Infinity): BlockVerdict {
  let signatures = 0;
  const verdict = (step?: BlockStep, message = ""): BlockVerdict => ({
    hash: blockHash(header), signatures, ...(step && { failed: { step, message } }),
  });
  if (header.height > 0n && !verifySeal(header)) return verdict("seal", "the producer's seal is invalid");
  const leaves = transactions.map(({ transaction, hash }) => transactionLeaf(transaction, hash));
  if (listRoot("transactions", leaves) !== header.transactionsRoot) return verdict("transactions", "the header has another root of transactions");
  if (receipts.length !== transactions.length) return verdict("receipts", `there are ${receipts.length} receipts`);
  if (listRoot("receipts", receipts.map(receiptLeaf)) !== header.receiptsRoot) return verdict("receipts", "the header has another root of receipts");
  const gas = receipts.reduce((sum, receipt) => sum + receipt.gasUsed, 0n);
  if (gas !== header.gasUsed) return verdict("gas", `the transactions used ${gas} gas, not ${header.gasUsed}`);
  for (const [i, { transaction }] of transactions.entries()) {
    if (i >= most) break;
    const fault = transactionFault(transaction, network);
    if (fault) return verdict("signatures", `transaction ${i}: ${fault.message}`);
    signatures++;
  }
  return verdict();
}
