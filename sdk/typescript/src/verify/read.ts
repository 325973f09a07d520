import { parseHeader, type SignedHeader } from "../block.js";
import type { Client } from "../client.js";
import { CodecError } from "../codec.js";
import type { AccountProof, Inclusion } from "../generated.js";
import { fromHex, type Hash } from "../hex.js";
import { inclusionHolds, receiptLeaf, transactionLeaf } from "../lists.js";
import type { MerkleProof } from "../merkle.js";
import { decodeReceipt, type ChainReceipt } from "../receipt.js";
import { decodeSigned, type SignedTransaction } from "../transaction.js";
import { VerifyError, verifyHeader, type Trust } from "../view/trust.js";
import { HeaderError, type HeaderFollower } from "./follow.js";

/** The maximum number of headers in a node's answer, without and with a proof for each. */
const [PAGE, PROVEN_PAGE] = [1000, 64];

const merkleProof = ({ key, value, siblings, end }: AccountProof): MerkleProof => ({ key, value, siblings, end: end as MerkleProof["end"] });

/**
 * followHeaders reads the headers after a follower's head, up to a height or the newest, and yields each one that the
 * follower accepted. With `proven` each comes with a proof of the parameters, as far as the node has them. It throws a
 * {@link HeaderError}, and errors of the client.
 */
export async function* followHeaders(
  client: Client, follower: HeaderFollower, options: { to?: bigint; proven?: boolean } = {},
): AsyncGenerator<SignedHeader, void, void> {
  const { proven = false } = options;
  for (;;) {
    const from = Number(follower.head.height);
    const to = Math.min(from + (proven ? PROVEN_PAGE : PAGE) - 1, Number(options.to ?? Number.MAX_SAFE_INTEGER));
    const [head, ...items] = to > from ? await client.call("svc_getHeaders", { from_height: from, to_height: to, proven }) : [];
    if (items.length === 0) return;
    let before = head!;
    for (const item of items) {
      const header = readHeader(item.header);
      follower.take(header, before.parameters ? merkleProof(before.parameters) : undefined);
      yield header;
      before = item;
    }
  }
}

function readHeader(encoded: `0x${string}`): SignedHeader {
  try {
    return parseHeader(fromHex(encoded));
  } catch (error) {
    if (error instanceof CodecError) throw new HeaderError("version", error.message);
    throw error;
  }
}

/** Included is a transaction in a block, with its outcome. */
export interface Included {
  /** the block's header */
  header: SignedHeader;
  /** the transaction's position in the block */
  number: number;
  transaction: SignedTransaction;
  /** status 1 is success: a transfer that failed paid nothing */
  receipt: ChainReceipt;
}

/**
 * verifyInclusion checks a node's proof that a transaction is in a block whose header the trusted producer sealed, and
 * its receipt. It throws a {@link VerifyError}. It does not check that the block is in the chain: follow the headers
 * for that.
 */
export function verifyInclusion(trust: Trust, hash: Hash, given: Inclusion): Included {
  const header = verifyHeader(trust, {}, fromHex(given.header));
  const { number } = given.transaction;
  let signed: ReturnType<typeof decodeSigned>;
  let receipt: ChainReceipt;
  try {
    signed = decodeSigned(fromHex(given.rawTransaction));
    receipt = decodeReceipt(fromHex(given.rawReceipt));
  } catch (error) {
    throw new VerifyError("size", `it is malformed: ${error}`);
  }
  if (signed.hash !== hash) throw new VerifyError("witness", "it is for a different transaction");
  if (given.receipt.number !== number || given.receipt.n !== given.transaction.n) throw new VerifyError("witness", "the receipt has another number");
  const leaves = { transactions: transactionLeaf(signed.transaction, hash), receipts: receiptLeaf(receipt) };
  if (!inclusionHolds("transactions", header.transactionsRoot, { ...given.transaction, leaf: leaves.transactions })) {
    throw new VerifyError("witness", "the transaction is not under the header's root");
  }
  if (!inclusionHolds("receipts", header.receiptsRoot, { ...given.receipt, leaf: leaves.receipts })) {
    throw new VerifyError("witness", "the receipt is not under the header's root");
  }
  return { header, number, transaction: signed.transaction, receipt };
}

/**
 * readIncluded reads a transaction without trusting the node; null while no block has it. It throws a {@link
 * VerifyError}, and errors of the client.
 */
export async function readIncluded(client: Client, trust: Trust, hash: Hash): Promise<Included | null> {
  const given = await client.call("svc_getInclusionProof", hash);
  return given && verifyInclusion(trust, hash, given);
}
