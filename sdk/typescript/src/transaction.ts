import { MAX_U64 } from "./amounts.js";
import { CodecError, decode, encode, type Reader, type Writer } from "./codec.js";
import { SignerError } from "./errors.js";
import { tagged } from "./hash.js";
import { from32, fromHex, toBytes, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { MAX_TIME, VERSION, readParameters, writeParameters, type Parameters } from "./parameters.js";
import { checkPolicy, policyHash, readPolicy, writePolicy, type Policy, type PublicSigner } from "./policy.js";
import type { SignedMessage } from "./text.js";
import { encodeWitness, readWitness, writeWitness, type Evidence, type Role, type Witness } from "./witness.js";

/**
 * Payload is the effect of a transaction besides moving `value` to `target`. Code and arguments are bytes or hex;
 * decoded payloads have bytes.
 */
export type Payload<Bytes extends Uint8Array | Hex = Uint8Array | Hex> =
  | StepPayload<Bytes>
  | { type: "deploy"; name: string; code: Bytes; initArgs: Bytes }
  | { type: "configure"; parameters: Parameters }
  | { type: "batch"; steps: readonly Step<Bytes>[] }
  | { type: "set_policy"; recovery: boolean; policy: Policy | null }
  | { type: "instantiate"; name: string; initArgs: Bytes };

/** StepPayload is the payload of a step of a batch. A memo is 32 bytes. */
export type StepPayload<Bytes extends Uint8Array | Hex = Uint8Array | Hex> =
  | { type: "transfer"; memo: Hex | null }
  | { type: "call"; function: string; args: Bytes };

/** A step of a batch. Its target, value and action have the same meaning as in a transaction. */
export interface Step<Bytes extends Uint8Array | Hex = Uint8Array | Hex> {
  target: Account;
  value: bigint;
  action: StepPayload<Bytes>;
}

/**
 * The signed part of a transaction (docs/protocol.md, "Transactions"). Amounts are in smallest units, fees in units per
 * gas.
 */
export interface Transaction<Bytes extends Uint8Array | Hex = Uint8Array | Hex> {
  sender: Account;
  target: Account;
  chainId: bigint;
  nonce: bigint;
  gasLimit: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  value: bigint;
  /** who pays the fee in the sender's place */
  payer: Account | null;
  /** the latest timestamp of a block that may include it, in milliseconds */
  validUntil: bigint | null;
  payload: Payload<Bytes>;
}

/** A transaction with the witnesses of its sender and its payer. */
export interface SignedTransaction extends Transaction<Uint8Array> {
  witness: Witness;
  payerWitness: Witness | null;
}

/** Signed is an encoded transaction for a node, with its hash: its id, which no signature changes. */
export interface Signed {
  raw: Uint8Array;
  hash: Hash;
}

/**
 * Party is an account that takes part in a transaction. A {@link Signer} is one. For an account whose keys are
 * elsewhere, use {@link keyAccount} or {@link policyAccount}.
 */
export interface Party {
  readonly account: Account;
  /**
   * sample returns a witness of the size and the gas cost of the account's witness for a payload. Its signatures are
   * invalid; it serves estimates.
   */
  sample(payload: Payload, role: Role): Witness;
}

/**
 * Signer makes the witnesses of one account. KeySigner is one. `@cairn-chain/sdk/signers` has others, for Bitcoin
 * wallets and for policies of passkeys and other keys.
 */
export interface Signer extends Party {
  /** sign returns the account's witness for a transaction that names it in the role */
  sign(tx: Transaction, role: Role): Promise<Witness>;
  /** signMessage returns the account's witness for a message that names it */
  signMessage(message: SignedMessage): Promise<Witness>;
}

/** The zero account, the target of transactions whose payload names none. */
export const ZERO: Account = `0x${"0".repeat(64)}`;
/** Bounds of consensus, in bytes, and for a batch in steps (docs/protocol.md, "Validity"). */
export const LIMITS = {
  transaction: 512 << 10, code: 256 << 10, args: 64 << 10, name: 64, function: 64, witness: 16 << 10, text: 4096, steps: 256,
} as const;
const MAX_TEXT = LIMITS.transaction;

export function writeTransaction(w: Writer, tx: Transaction): void {
  w.fixed(from32(tx.sender), 32).fixed(from32(tx.target), 32).u64(tx.chainId).u64(tx.nonce).u64(tx.gasLimit);
  w.u64(tx.maxFeePerGas).u64(tx.maxPriorityFeePerGas).u64(tx.value);
  w.option(tx.payer, (w, payer) => w.fixed(from32(payer), 32)).option(tx.validUntil, (w, time) => w.u64(time));
  writePayload(w, tx.payload);
}

function writePayload(w: Writer, p: Payload): void {
  switch (p.type) {
    case "transfer":
      w.u32(0).option(p.memo, (w, memo) => w.fixed(fromHex(memo), 32));
      return;
    case "deploy":
      w.u32(1).string(p.name).bytes(toBytes(p.code)).bytes(toBytes(p.initArgs));
      return;
    case "call":
      w.u32(2).string(p.function).bytes(toBytes(p.args));
      return;
    case "configure":
      writeParameters(w.u32(3), p.parameters);
      return;
    case "batch":
      if (p.steps.length < 1 || p.steps.length > LIMITS.steps) throw new CodecError(`a batch of ${p.steps.length} steps`);
      w.u32(4).list(p.steps, (w, { target, value, action }) => {
        if (action.type !== "transfer" && action.type !== "call") throw new CodecError("a step of a batch is a transfer or a call");
        writePayload(w.fixed(from32(target), 32).u64(value), action);
      });
      return;
    case "set_policy":
      w.u32(5).bool(p.recovery).option(p.policy, writePolicy);
      return;
    case "instantiate":
      w.u32(6).string(p.name).bytes(toBytes(p.initArgs));
  }
}

/** encodePayload returns the bytes of a payload alone. */
export function encodePayload(payload: Payload): Uint8Array {
  return encode((w) => writePayload(w, payload));
}

/**
 * encodeUnsigned returns the unsigned form, for calls and estimates: the version, followed by the bytes that the hash
 * covers.
 */
export function encodeUnsigned(tx: Transaction): Uint8Array {
  return bounded(encode((w) => writeTransaction(w.u8(VERSION), tx)));
}

/**
 * encodeTransaction returns the bytes of a signed transaction; `payerWitness` may be null until its payer signs. It
 * throws a {@link CodecError}.
 */
export function encodeTransaction(tx: Transaction & { witness: Witness; payerWitness: Witness | null }): Uint8Array {
  return bounded(encode((w) => {
    writeTransaction(w.u8(VERSION), tx);
    writeWitness(w, tx.witness);
    w.option(tx.payerWitness, writeWitness);
  }));
}

function bounded(encoded: Uint8Array): Uint8Array {
  if (encoded.length > LIMITS.transaction) throw new CodecError(`a transaction of ${encoded.length} bytes exceeds the limit of ${LIMITS.transaction}`);
  return encoded;
}

/** readTransaction reads the part of a transaction that its hash covers. */
export function readTransaction(r: Reader): Transaction<Uint8Array> {
  return {
    sender: toHex(r.fixed(32)), target: toHex(r.fixed(32)), chainId: r.u64(), nonce: r.u64(), gasLimit: r.u64(), maxFeePerGas: r.u64(),
    maxPriorityFeePerGas: r.u64(), value: r.u64(), payer: r.option((r) => toHex(r.fixed(32))), validUntil: r.option((r) => r.u64()),
    payload: readPayload(r),
  };
}

function readVersion(r: Reader): void {
  const version = r.u8();
  if (version !== VERSION) throw new CodecError(`unknown transaction version ${version}`);
}

/** readSigned reads a signed transaction, after which more may follow, and returns its hash. */
export function readSigned(r: Reader): { transaction: SignedTransaction; hash: Hash } {
  const start = r.offset;
  readVersion(r);
  const tx = readTransaction(r);
  const hash = toHex(tagged("cairn/tx/v2", r.source.subarray(start + 1, r.offset)));
  const transaction = { ...tx, witness: readWitness(r), payerWitness: r.option(readWitness) };
  if (r.offset - start > LIMITS.transaction) throw new CodecError(`a transaction of ${r.offset - start} bytes exceeds the limit of ${LIMITS.transaction}`);
  return { transaction, hash };
}

function readPayload(r: Reader): Payload<Uint8Array> {
  const variant = r.u32();
  switch (variant) {
    case 0:
    case 2:
      return readAction(r, variant);
    case 1:
      return { type: "deploy", name: r.string(MAX_TEXT), code: r.bytes(MAX_TEXT), initArgs: r.bytes(MAX_TEXT) };
    case 3:
      return { type: "configure", parameters: readParameters(r) };
    case 4: {
      const steps = r.list(LIMITS.steps, (r) => ({ target: toHex(r.fixed(32)), value: r.u64(), action: readAction(r, r.u32()) }));
      if (steps.length === 0) throw new CodecError("a batch of no steps");
      return { type: "batch", steps };
    }
    case 5:
      return { type: "set_policy", recovery: r.bool(), policy: r.option(readPolicy) };
    case 6:
      return { type: "instantiate", name: r.string(MAX_TEXT), initArgs: r.bytes(MAX_TEXT) };
  }
  throw new CodecError(`unknown payload ${variant}`);
}

function readAction(r: Reader, variant: number): StepPayload<Uint8Array> {
  if (variant === 0) return { type: "transfer", memo: r.option((r) => toHex(r.fixed(32))) };
  if (variant === 2) return { type: "call", function: r.string(MAX_TEXT), args: r.bytes(MAX_TEXT) };
  throw new CodecError(`unknown action ${variant} of a step`);
}

/** decodeTransaction reads a signed transaction, strictly. It throws a {@link CodecError}; it verifies no signature. */
export function decodeTransaction(bytes: Uint8Array): SignedTransaction {
  return decodeSigned(bytes).transaction;
}

/** decodeSigned is {@link decodeTransaction} with the transaction's hash. */
export function decodeSigned(bytes: Uint8Array): { transaction: SignedTransaction; hash: Hash } {
  return decode(bytes, LIMITS.transaction, readSigned);
}

/** decodeUnsigned reads an unsigned form, strictly. It throws a {@link CodecError}. */
export function decodeUnsigned(bytes: Uint8Array): Transaction<Uint8Array> {
  return decode(bytes, LIMITS.transaction, (r) => {
    readVersion(r);
    return readTransaction(r);
  });
}

/**
 * transactionHash returns the id of a transaction, which its sender signs: tagged("cairn/tx/v2", its bytes without
 * version and witnesses).
 */
export function transactionHash(tx: Transaction): Hash {
  return toHex(tagged("cairn/tx/v2", encode((w) => writeTransaction(w, tx))));
}

/** payerHash returns the hash that the payer of a transaction signs, given the transaction's hash. */
export function payerHash(hash: Hash): Hash {
  return toHex(tagged("cairn/payer/v2", from32(hash)));
}

/** signedHash returns the hash that an account signs in a role. */
export function signedHash(tx: Transaction, role: Role): Hash {
  const hash = transactionHash(tx);
  return role === "payer" ? payerHash(hash) : hash;
}

/**
 * movedAmount returns the amount that a transaction moves from its sender, without the fee: its value, or the sum of
 * its steps' values.
 */
export function movedAmount({ value, payload }: Pick<Transaction, "value" | "payload">): bigint {
  return payload.type === "batch" ? payload.steps.reduce((sum, step) => sum + step.value, 0n) : value;
}

/** feeCap returns the highest possible fee of a transaction. */
export function feeCap({ gasLimit, maxFeePerGas }: Pick<Transaction, "gasLimit" | "maxFeePerGas">): bigint {
  return gasLimit * maxFeePerGas;
}

/** checkRole throws a {@link SignerError} if a transaction names another account in a role. */
export function checkRole(tx: Pick<Transaction, "sender" | "payer">, role: Role, account: Account): void {
  if ((role === "sender" ? tx.sender : tx.payer) !== account) {
    throw new SignerError("other_account", `the signer is for account ${account}, which is not the transaction's ${role}`);
  }
}

/**
 * signTransaction signs a transaction for its sender, and for its payer if its signer is given. Without it the payer adds its witness by
 * `sponsor`. It throws a {@link SignerError} if a signer belongs to another account.
 */
export async function signTransaction(tx: Transaction, signer: Signer, payer?: Signer): Promise<Signed> {
  checkRole(tx, "sender", signer.account);
  if (payer) checkRole(tx, "payer", payer.account);
  const witness = await signer.sign(tx, "sender");
  const payerWitness = payer ? await payer.sign(tx, "payer") : null;
  return { raw: encodeTransaction({ ...tx, witness, payerWitness }), hash: transactionHash(tx) };
}

/** KEY_SAMPLE is a sample of a key's witness. */
export const KEY_SAMPLE: Witness & { type: "key" } = { type: "key", signature: `0x${"00".repeat(64)}` };

/**
 * keyAccount returns an account whose own key signs in another program, such as a Bitcoin wallet, whose signatures cost
 * more gas.
 */
export function keyAccount(account: Account): Party {
  return { account, sample: () => ({ ...KEY_SAMPLE, type: "text", sighash: 0 }) };
}

/**
 * policyAccount returns an account for which a policy signs. By default its ID is the policy's hash; pass the ID of an
 * account of another origin that set the policy later.
 */
export function policyAccount(policy: Policy, account: Account = policyHash(policy)): Party {
  return { account, sample: (payload, role) => samplePolicy(policy, ruleOf({ payload }, role)) };
}

/** ruleOf returns the rule by which a policy signs a transaction in a role. */
export function ruleOf({ payload }: Pick<Transaction, "payload">, role: Role): "owner" | "recovery" {
  return role === "sender" && payload.type === "set_policy" && payload.recovery ? "recovery" : "owner";
}

/** The number of bytes of a passkey's client data in a sample. Browsers write 40 to 200 after the challenge. */
const SAMPLE_CLIENT = 256;
const SAMPLE_SIGNATURE: Hex = `0x${"00".repeat(64)}`;

/** samplePolicy returns a witness by those signers of a rule whose evidence costs the most. */
function samplePolicy(policy: Policy, by: "owner" | "recovery"): Witness {
  const rule = by === "owner" ? policy.owner : policy.recovery?.rule;
  const rank = { key: 0, p256: 1, passkey: 2 };
  const proofs = (rule?.signers ?? []).map((signer, i) => ({ signer: i, rank: rank[signer.type], evidence: sampleEvidence(signer) }));
  proofs.sort((a, b) => b.rank - a.rank);
  const chosen = proofs.slice(0, rule?.threshold ?? 0).sort((a, b) => a.signer - b.signer);
  return { type: "policy", policy, proofs: chosen.map(({ signer, evidence }) => ({ signer, evidence })) };
}

function sampleEvidence(signer: PublicSigner): Evidence {
  const signature = SAMPLE_SIGNATURE;
  if (signer.type === "key") return { type: "text", signature, sighash: 0 };
  if (signer.type === "p256") return { type: "p256", signature };
  return { type: "passkey", authenticator: `0x${"00".repeat(37)}`, client: `0x${"00".repeat(SAMPLE_CLIENT)}`, signature };
}

/**
 * encodeForEstimate encodes a transaction for the node's estimates, with sample witnesses, which affect the price.
 * Without parties, keys are assumed to sign.
 */
export function encodeForEstimate(tx: Transaction, sender?: Party, payer?: Party): Uint8Array {
  const witness = sender?.sample(tx.payload, "sender") ?? KEY_SAMPLE;
  const payerWitness = tx.payer === null ? null : payer?.sample(tx.payload, "payer") ?? KEY_SAMPLE;
  const byKeys = witness.type === "key" && (payerWitness === null || payerWitness.type === "key");
  return byKeys ? encodeUnsigned(tx) : encodeTransaction({ ...tx, witness, payerWitness });
}

/** contractId returns the ID of the contract made by the sender's deploy or instantiate with the given nonce. */
export function contractId(sender: Account, nonce: bigint): Account {
  return toHex(tagged("cairn/contract/v2", encode((w) => w.fixed(from32(sender), 32).u64(nonce))));
}

/** instanceId returns the ID of a contract that another contract makes with the host function `create`. */
export function instanceId(creator: Account, codeHash: Hash, salt: Hash): Account {
  return toHex(tagged("cairn/instance/v2", from32(creator), from32(codeHash), from32(salt)));
}

/**
 * staticFault returns the first of the rules 3 to 10 of validity that a transaction breaks (docs/protocol.md,
 * "Validity"); undefined if it breaks none. These rules need no state and no signature.
 */
export function staticFault(tx: SignedTransaction): { rule: number; message: string } | undefined {
  const fault = (rule: number, message: string): { rule: number; message: string } => ({ rule, message });
  if (tx.nonce === MAX_U64) return fault(3, "the nonce is the last one");
  const long = tooLong(tx);
  if (long !== undefined) return fault(4, long);
  const unused = targetless.includes(tx.payload.type);
  if (unused && (tx.target !== ZERO || (tx.payload.type !== "deploy" && tx.value !== 0n))) {
    return fault(5, `a ${tx.payload.type} has a target or a value without use`);
  }
  if (feeCap(tx) > MAX_U64 || movedAmount(tx) > MAX_U64) return fault(6, "the fee cap or the amount does not fit in 64 bits");
  if (tx.maxPriorityFeePerGas > tx.maxFeePerGas) return fault(7, "the priority fee is over the maximum fee");
  if (tx.payer === tx.sender) return fault(8, "the payer is the sender");
  if ((tx.payer === null) !== (tx.payerWitness === null)) return fault(8, "a payer and a payer's witness go together");
  if (tx.validUntil !== null && tx.validUntil > MAX_TIME) return fault(8, "validUntil is after the year 9999");
  const invalid = policiesOf(tx).map(policyFault).find((message) => message !== undefined);
  if (invalid !== undefined) return fault(9, invalid);
  if (tx.payload.type !== "set_policy" || !tx.payload.recovery) return undefined;
  if (tx.payer === null) return fault(10, "a recovery needs a payer");
  if (tx.witness.type !== "policy" || !tx.witness.policy.recovery) return fault(10, "a recovery is signed by a policy that has one");
  return undefined;
}


const targetless = ["deploy", "configure", "batch", "set_policy"];

function tooLong(tx: SignedTransaction): string | undefined {
  const bytes = (text: string): number => new TextEncoder().encode(text).length;
  const { payload: p } = tx;
  const actions = p.type === "batch" ? p.steps.map(({ action }) => action) : [p];
  for (const p of actions) {
    if ((p.type === "deploy" || p.type === "instantiate") && bytes(p.name) > LIMITS.name) return "the name is too long";
    if (p.type === "call" && bytes(p.function) > LIMITS.function) return "the function's name is too long";
    if (p.type === "call" && p.args.length > LIMITS.args) return "the arguments are too long";
    if (p.type === "deploy" && p.code.length > LIMITS.code) return "the code is too long";
    if ((p.type === "deploy" || p.type === "instantiate") && p.initArgs.length > LIMITS.args) return "the arguments are too long";
  }
  const witnesses = [tx.witness, ...(tx.payerWitness ? [tx.payerWitness] : [])];
  return witnesses.some((witness) => encodeWitness(witness).length > LIMITS.witness) ? "a witness is too long" : undefined;
}

function policiesOf(tx: SignedTransaction): Policy[] {
  const witnesses = [tx.witness, tx.payerWitness].flatMap((witness) => (witness?.type === "policy" ? [witness.policy] : []));
  return tx.payload.type === "set_policy" && tx.payload.policy ? [...witnesses, tx.payload.policy] : witnesses;
}

function policyFault(policy: Policy): string | undefined {
  try {
    checkPolicy(policy);
    return undefined;
  } catch (error) {
    if (error instanceof CodecError) return error.message;
    throw error;
  }
}
