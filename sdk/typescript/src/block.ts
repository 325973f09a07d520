import { CodecError, Reader, decode, encode, type Writer } from "./codec.js";
import { tagged } from "./hash.js";
import { from32, fromHex, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { VERSION } from "./parameters.js";
import { encodeTransaction, readSigned, type SignedTransaction } from "./transaction.js";

/** A block's header (docs/protocol.md, "Blocks"). */
export interface Header {
  version: number;
  chainId: bigint;
  height: bigint;
  parent: Hash;
  /** milliseconds since 1970 */
  timestamp: bigint;
  producer: Account;
  transactionsRoot: Hash;
  receiptsRoot: Hash;
  stateRoot: Hash;
  gasUsed: bigint;
  gasLimit: bigint;
  baseFee: bigint;
}

/** Seal proves that a block's producer made it. A later version may have other seals. */
export interface Seal {
  type: "signature";
  /** the producer's signature, 64 bytes */
  signature: Hex;
}

/** A header with the block's seal. */
export interface SignedHeader extends Header {
  seal: Seal;
}

/** A block: its header and its transactions with their hashes. */
export interface Block {
  header: SignedHeader;
  transactions: { transaction: SignedTransaction; hash: Hash }[];
}

/** The length in bytes of an encoded header, and of a header with its seal. */
export const HEADER_BYTES = 212;
export const SIGNED_HEADER_BYTES = 280;
/** The most bytes of a block. */
export const MAX_BLOCK_BYTES = 2 ** 25 + 288;
const MIN_TRANSACTION_BYTES = 189;

function writeHeader(w: Writer, h: Header): void {
  w.u32(h.version).u64(h.chainId).u64(h.height).fixed(from32(h.parent), 32).u64(h.timestamp);
  for (const hash of [h.producer, h.transactionsRoot, h.receiptsRoot, h.stateRoot]) w.fixed(from32(hash), 32);
  w.u64(h.gasUsed).u64(h.gasLimit).u64(h.baseFee);
}

/** encodeHeader returns the 212 bytes that a block's hash covers. */
export function encodeHeader(header: Header): Uint8Array {
  return encode((w) => writeHeader(w, header));
}

function writeSigned(w: Writer, header: SignedHeader): void {
  writeHeader(w, header);
  w.u32(0).fixed(fromHex(header.seal.signature), 64);
}

/** encodeSignedHeader returns the 280 bytes of a header and its seal. */
export function encodeSignedHeader(header: SignedHeader): Uint8Array {
  return encode((w) => writeSigned(w, header));
}

/** encodeBlock returns the bytes of a whole block. */
export function encodeBlock({ header, transactions }: Block): Uint8Array {
  return encode((w) => {
    writeSigned(w, header);
    w.u64(BigInt(transactions.length));
    for (const { transaction } of transactions) {
      const encoded = encodeTransaction(transaction);
      w.fixed(encoded, encoded.length);
    }
  });
}

function readHeader(r: Reader): SignedHeader {
  const version = r.u32();
  if (version !== VERSION) throw new CodecError(`unknown header version ${version}`);
  return {
    version, chainId: r.u64(), height: r.u64(), parent: toHex(r.fixed(32)), timestamp: r.u64(),
    producer: toHex(r.fixed(32)), transactionsRoot: toHex(r.fixed(32)), receiptsRoot: toHex(r.fixed(32)),
    stateRoot: toHex(r.fixed(32)), gasUsed: r.u64(), gasLimit: r.u64(), baseFee: r.u64(), seal: readSeal(r),
  };
}

function readSeal(r: Reader): Seal {
  const variant = r.u32();
  if (variant !== 0) throw new CodecError(`unknown seal ${variant}`);
  return { type: "signature", signature: toHex(r.fixed(64)) };
}

/** The first fields of a header, which are the same in every version. */
export type HeaderStart = Pick<Header, "version" | "chainId" | "height" | "parent" | "timestamp">;

/**
 * parseHeaderStart reads the first 60 bytes of a header of any version, so that a program can report a version that it
 * does not know.
 */
export function parseHeaderStart(bytes: Uint8Array): HeaderStart {
  const r = new Reader(bytes);
  return { version: r.u32(), chainId: r.u64(), height: r.u64(), parent: toHex(r.fixed(32)), timestamp: r.u64() };
}

/**
 * parseHeader reads a header with its seal, strictly. It throws a CodecError, even for a version that this package does
 * not know.
 */
export function parseHeader(bytes: Uint8Array): SignedHeader {
  return decode(bytes, SIGNED_HEADER_BYTES, readHeader);
}

/** parseBlock reads a whole block, strictly. It throws a CodecError; it verifies nothing. */
export function parseBlock(bytes: Uint8Array): Block {
  return decode(bytes, MAX_BLOCK_BYTES, (r) => {
    const header = readHeader(r);
    const count = r.count(Math.floor((bytes.length - r.offset) / MIN_TRANSACTION_BYTES));
    return { header, transactions: Array.from({ length: count }, () => readSigned(r)) };
  });
}

/** blockHash identifies a block, and is signed by its producer. It does not cover the seal. */
export function blockHash(header: Header): Hash {
  return toHex(tagged("cairn/block/v2", encodeHeader(header)));
}
