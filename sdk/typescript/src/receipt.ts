import { CodecError, decode, encode, type Reader, type Writer } from "./codec.js";
import type { Receipt } from "./generated.js";
import { sha256 } from "./hash.js";
import { from32, fromHex, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { MAX_INPUT } from "./policy.js";

/**
 * Receipt is the part of a receipt to which the chain commits (docs/protocol.md, "Receipts and logs"); the receipt of
 * JSON-RPC has more members.
 */
export interface ChainReceipt {
  /** 1 success, 0 failed */
  status: 0 | 1;
  gasUsed: bigint;
  /** the contract made by a successful deploy or instantiate */
  contract: Account | null;
  output: Hex;
  logs: ChainLog[];
}

/** A log in the chain's form. Its topics exclude the name's hash, which JSON-RPC puts first. */
export interface ChainLog {
  /** zero for a log of the protocol */
  contract: Account;
  name: string;
  topics: Hash[];
  data: Hex;
}

function writeDetails(w: Writer, { contract, output, logs }: ChainReceipt): void {
  w.option(contract, (w, id) => w.fixed(from32(id), 32)).bytes(fromHex(output)).list(logs, (w, log) => {
    w.fixed(from32(log.contract), 32).string(log.name).list(log.topics, (w, topic) => w.fixed(from32(topic), 32)).bytes(fromHex(log.data));
  });
}

export function encodeReceipt(receipt: ChainReceipt): Uint8Array {
  return encode((w) => writeDetails(w.u8(receipt.status).u64(receipt.gasUsed), receipt));
}

function readLog(r: Reader): ChainLog {
  return {
    contract: toHex(r.fixed(32)), name: r.string(MAX_INPUT), topics: r.list(Math.floor(r.left / 32), (r) => toHex(r.fixed(32))),
    data: toHex(r.bytes(MAX_INPUT)),
  };
}

/** decodeReceipt reads a receipt, strictly. It throws a {@link CodecError}. */
export function decodeReceipt(bytes: Uint8Array): ChainReceipt {
  return decode(bytes, MAX_INPUT, (r) => {
    const status = r.u8();
    if (status !== 0 && status !== 1) throw new CodecError(`unknown receipt status ${status}`);
    return {
      status, gasUsed: r.u64(), contract: r.option((r) => toHex(r.fixed(32))), output: toHex(r.bytes(MAX_INPUT)),
      logs: r.list(Math.floor(r.left / 56), readLog),
    };
  });
}

/** receiptDetails returns the digest of everything in a receipt except status and gas. */
export function receiptDetails(receipt: ChainReceipt): Hash {
  return toHex(sha256(encode((w) => writeDetails(w, receipt))));
}

/** chainReceipt converts a node's receipt to the chain's form. */
export function chainReceipt(receipt: Receipt): ChainReceipt {
  const { status, gasUsed, contractAddress, returnData, logs } = receipt;
  return {
    status: status === 1n ? 1 : 0, gasUsed, contract: contractAddress, output: returnData,
    logs: logs.map(({ address, eventName, topics: [, ...topics], data }) => ({ contract: address, name: eventName, topics, data })),
  };
}
