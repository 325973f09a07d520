import { Reader, Writer } from "./codec.js";
import { tagged } from "./hash.js";
import { from32, toHex, type Account, type Hash } from "./hex.js";
import { readTransaction, transactionHash, type SignedTransaction } from "./transaction.js";

/** A block's header (docs/protocol.md, "Blocks"). */
export interface Header {
  version: number;
  chainId: bigint;
  height: bigint;
  parent: Hash;
  /** Unix seconds */
  timestamp: bigint;
  producer: Account;
  transactionsRoot: Hash;
  receiptsRoot: Hash;
  stateRoot: Hash;
  writesDigest: Hash;
  gasUsed: bigint;
  gasLimit: bigint;
  baseFee: bigint;
}

/** A header with its producer's signature of 64 bytes. */
export interface SignedHeader extends Header {
  signature: Uint8Array;
}

/** A block: its header and its transactions with their hashes. */
export interface Block {
  header: SignedHeader;
  transactions: { transaction: SignedTransaction; hash: Hash }[];
}

/** The bytes of an encoded header with its signature. */
export const SIGNED_HEADER_BYTES = 308;
const minTransactionBytes = 173;

/** encodeHeader gives the 244 bytes that a block's hash covers. */
export function encodeHeader(h: Header): Uint8Array {
  const w = new Writer().u32(h.version).u64(h.chainId).u64(h.height).fixed(from32(h.parent), 32).u64(h.timestamp);
  for (const hash of [h.producer, h.transactionsRoot, h.receiptsRoot, h.stateRoot, h.writesDigest]) w.fixed(from32(hash), 32);
  return w.u64(h.gasUsed).u64(h.gasLimit).u64(h.baseFee).done();
}

function readHeader(r: Reader): SignedHeader {
  return {
    version: r.u32(), chainId: r.u64(), height: r.u64(), parent: toHex(r.fixed(32)), timestamp: r.u64(),
    producer: toHex(r.fixed(32)), transactionsRoot: toHex(r.fixed(32)), receiptsRoot: toHex(r.fixed(32)),
    stateRoot: toHex(r.fixed(32)), writesDigest: toHex(r.fixed(32)), gasUsed: r.u64(), gasLimit: r.u64(), baseFee: r.u64(),
    signature: r.fixed(64),
  };
}

/** parseHeader reads a signed header, strictly. It throws a CodecError. */
export function parseHeader(bytes: Uint8Array): SignedHeader {
  const r = new Reader(bytes);
  const header = readHeader(r);
  r.end();
  return header;
}

/** parseBlock reads a whole block, strictly. It throws a CodecError; it verifies nothing. */
export function parseBlock(bytes: Uint8Array): Block {
  const r = new Reader(bytes);
  const header = readHeader(r);
  const count = r.count(Math.floor((bytes.length - r.offset) / minTransactionBytes));
  const transactions: Block["transactions"] = [];
  for (let i = 0; i < count; i++) {
    const start = r.offset;
    const transaction = readTransaction(r);
    transactions.push({ transaction, hash: transactionHash(bytes.subarray(start, r.offset)) });
  }
  r.end();
  return { header, transactions };
}

/** blockHash is the name of a block: tagged("cairn/block/v1", its header without the signature). */
export function blockHash(header: Header): Hash {
  return toHex(tagged("cairn/block/v1", encodeHeader(header)));
}
