import { CodecError, Reader, Writer } from "./codec.js";
import { tagged } from "./hash.js";
import { concat, from32, toBytes, toHex, type Account, type Hash, type Hex } from "./hex.js";

/** The rules that a chain's producer may change (docs/protocol.md, "Parameters"). */
export interface Parameters {
  version: number;
  gasLimit: bigint;
  targetBps: number;
  minBaseFee: bigint;
  maxBaseFee: bigint;
  producer: Account;
  feeRecipient: Account;
}

/** What a transaction does. Values are in smallest units. Code and arguments are bytes or hex; what is decoded has bytes. */
export type Payload<Bytes extends Uint8Array | Hex = Uint8Array | Hex> =
  | { type: "transfer"; to: Account; value: bigint }
  | { type: "deploy"; value: bigint; name: string; code: Bytes; initArgs: Bytes }
  | { type: "call"; value: bigint; contract: Account; function: string; args: Bytes }
  | { type: "configure"; parameters: Parameters };

/** A transaction as it is signed; fees are units a gas. */
export interface Transaction {
  version: 1;
  chainId: bigint;
  sender: Account;
  nonce: bigint;
  gasLimit: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  payload: Payload;
}

/** A transaction with its signature of 64 bytes. */
export interface SignedTransaction extends Transaction {
  payload: Payload<Uint8Array>;
  signature: Uint8Array;
}

/** Signer signs the 32 bytes of a signing hash for an account, by BIP-340. A key is one; a wallet can be. */
export interface Signer {
  readonly account: Account;
  sign(hash: Uint8Array): Promise<Uint8Array>;
}

/** Signed is what a node takes, and the hash that the chain knows it by. */
export interface Signed {
  raw: Uint8Array;
  hash: Hash;
}

/** Bounds of consensus in bytes (docs/protocol.md, "Size limits"). */
export const LIMITS = { transaction: 512 << 10, code: 256 << 10, args: 64 << 10, name: 64, function: 64 } as const;
const signatureBytes = 64;

/** encodeTransaction gives the bytes of a transaction, without the signature where it has none. It throws a {@link CodecError}. */
export function encodeTransaction(tx: Transaction & { signature?: Uint8Array }): Uint8Array {
  const w = new Writer().u8(tx.version).u64(tx.chainId).fixed(from32(tx.sender), 32).u64(tx.nonce).u64(tx.gasLimit);
  writePayload(w.u64(tx.maxFeePerGas).u64(tx.maxPriorityFeePerGas), tx.payload);
  if (tx.signature) w.fixed(tx.signature, signatureBytes);
  const encoded = w.done();
  if (encoded.length > LIMITS.transaction) throw new CodecError(`a transaction of ${encoded.length} bytes is over ${LIMITS.transaction}`);
  return encoded;
}

/** encodePayload gives the bytes of a payload alone. */
export function encodePayload(payload: Payload): Uint8Array {
  const w = new Writer();
  writePayload(w, payload);
  return w.done();
}

function writePayload(w: Writer, p: Payload): void {
  switch (p.type) {
    case "transfer":
      w.u32(0).fixed(from32(p.to), 32).u64(p.value);
      return;
    case "deploy":
      w.u32(1).u64(p.value).string(p.name).bytes(toBytes(p.code)).bytes(toBytes(p.initArgs));
      return;
    case "call":
      w.u32(2).u64(p.value).fixed(from32(p.contract), 32).string(p.function).bytes(toBytes(p.args));
      return;
    case "configure":
      w.u32(3);
      writeParameters(w, p.parameters);
  }
}

function writeParameters(w: Writer, p: Parameters): void {
  w.u32(p.version).u64(p.gasLimit).u16(p.targetBps).u64(p.minBaseFee).u64(p.maxBaseFee);
  w.fixed(from32(p.producer), 32).fixed(from32(p.feeRecipient), 32);
}

/** encodeParameters gives the 94 bytes of parameters. */
export function encodeParameters(parameters: Parameters): Uint8Array {
  const w = new Writer();
  writeParameters(w, parameters);
  return w.done();
}

/** decodeTransaction reads a signed transaction, strictly. It throws a {@link CodecError}; it verifies no signature. */
export function decodeTransaction(bytes: Uint8Array): SignedTransaction {
  if (bytes.length > LIMITS.transaction) throw new CodecError(`a transaction of ${bytes.length} bytes is over ${LIMITS.transaction}`);
  const r = new Reader(bytes);
  const tx = readTransaction(r);
  r.end();
  return tx;
}

/** readTransaction reads a signed transaction where more may follow. */
export function readTransaction(r: Reader): SignedTransaction {
  const version = r.u8();
  const tx = {
    version: version as 1, chainId: r.u64(), sender: toHex(r.fixed(32)), nonce: r.u64(), gasLimit: r.u64(),
    maxFeePerGas: r.u64(), maxPriorityFeePerGas: r.u64(), payload: readPayload(r), signature: r.fixed(signatureBytes),
  };
  if (version !== 1) throw new CodecError(`version ${version} of transactions is unknown`);
  return tx;
}

function readPayload(r: Reader): Payload<Uint8Array> {
  const [variant, max] = [r.u32(), LIMITS.transaction];
  switch (variant) {
    case 0:
      return { type: "transfer", to: toHex(r.fixed(32)), value: r.u64() };
    case 1:
      return { type: "deploy", value: r.u64(), name: r.string(max), code: r.bytes(max), initArgs: r.bytes(max) };
    case 2:
      return {
        type: "call", value: r.u64(), contract: toHex(r.fixed(32)), function: r.string(max), args: r.bytes(max),
      };
    case 3:
      return { type: "configure", parameters: readParameters(r) };
  }
  throw new CodecError(`payload ${variant} is unknown`);
}

function readParameters(r: Reader): Parameters {
  return {
    version: r.u32(), gasLimit: r.u64(), targetBps: r.u16(), minBaseFee: r.u64(), maxBaseFee: r.u64(),
    producer: toHex(r.fixed(32)), feeRecipient: toHex(r.fixed(32)),
  };
}

/** signingHash is what the sender signs: tagged("cairn/tx/v1", the transaction without its signature). */
export function signingHash(tx: Transaction): Uint8Array {
  const { signature: _, ...unsigned } = tx as SignedTransaction;
  return tagged("cairn/tx/v1", encodeTransaction(unsigned));
}

/** transactionHash is the name of a signed transaction: tagged("cairn/txid/v1", its bytes). */
export function transactionHash(raw: Uint8Array): Hash {
  return toHex(tagged("cairn/txid/v1", raw));
}

/** signTransaction signs a transaction. It throws a TypeError where the signer is not the sender's. */
export async function signTransaction(tx: Transaction, signer: Signer): Promise<Signed> {
  if (signer.account !== tx.sender) throw new TypeError("the signer is of another account than the transaction's sender");
  const signature = await signer.sign(signingHash(tx));
  const raw = encodeTransaction({ ...tx, signature });
  return { raw, hash: transactionHash(raw) };
}

/** contractId is the ID of the contract that a deploy of the sender with that nonce makes. */
export function contractId(sender: Account, nonce: bigint): Account {
  return toHex(tagged("cairn/contract/v1", concat(from32(sender), new Writer().u64(nonce).done())));
}
