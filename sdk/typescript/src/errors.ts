import type { Reasons } from "./generated.js";
import { toHex, type Account, type Hash, type Hex } from "./hex.js";

/** CairnError is the base of all errors of this package that callers may want to distinguish. */
export class CairnError extends Error {
  override name = "CairnError";

  /**
   * toJSON returns the error's content for loggers. Amounts are decimal texts, because JSON.stringify does not accept
   * bigint.
   */
  toJSON(): Record<string, unknown> {
    return { name: this.name, message: this.message, ...(plain({ ...this }) as object), ...(this.cause !== undefined && { cause: plain(this.cause) }) };
  }
}

/** plain returns a value without the parts that have no JSON form. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof CairnError) return value.toJSON();
  if (value instanceof Error) return { name: value.name, message: value.message, ...(value.cause !== undefined && { cause: plain(value.cause) }) };
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Uint8Array) return toHex(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/** Members of an error's `data` beside `reason`. Amounts are in smallest units. */
export interface ReasonData {
  already_known: { hash: Hash };
  /** `reserved` of the balance are for `pending` earlier transactions: `needed - (balance - reserved)` is missing */
  cannot_pay: { balance: bigint; needed: bigint; reserved: bigint; pending: number };
  /** about the payer, as `cannot_pay` is about the sender */
  payer_cannot_pay: { balance: bigint; needed: bigint; reserved: bigint; pending: number };
  displaced: { hash: Hash; by: Hash };
  dropped: { hash: Hash; cause: string };
  /** in milliseconds */
  expired: { validUntil: number };
  fee_too_low: { baseFee: bigint; minBaseFee: bigint };
  gas_over_block: { max: bigint };
  held: { nonce: bigint; expected: bigint; limit: number };
  intrinsic_gas: { min: bigint };
  mempool_full: { retryAfterSeconds: number; class: string };
  not_admin: { admin: Account };
  nonce_too_low: { nonce: bigint; expected: bigint };
  nonce_too_high: { nonce: bigint; expected: bigint; limit: number };
  out_of_gas: { gasUsed: bigint; revertData: Hex };
  pruned: { oldestHeight: number };
  rate: { retryAfterSeconds: number };
  reverted: { gasUsed: bigint; revertData: Hex };
  storage: { retryAfterSeconds: number };
  /**
   * `cause` is the cause of the trap, such as `unreachable` or `result_size`. `limit` is in bytes for the latter,
   * otherwise 0
   */
  trap: { gasUsed: bigint; revertData: Hex; cause?: { name: string; limit: number } };
  text_too_long: { limit: number };
  wrong_chain: { chainId: bigint };
  /** `authority` is who may sign for the account, which is the sender or the payer */
  wrong_policy: { account: Account; authority: Account };
}

/** The reasons for which programs may check. A node may have more than this version of the package knows. */
export type Reason = keyof Reasons | keyof ReasonData;

/**
 * RpcError: the node answered with an error. Decide by {@link RpcError.is}; the message is for people and may change.
 */
export class RpcError extends CairnError {
  override name = "RpcError";
  readonly reason: Reason | undefined;
  readonly data: Record<string, unknown>;
  constructor(
    readonly method: string,
    readonly code: number,
    message: string,
    data: Record<string, unknown>,
  ) {
    super(message);
    this.data = typed(data);
    this.reason = typeof data["reason"] === "string" ? (data["reason"] as Reason) : undefined;
  }

  /** is reports whether the error has the given reason, and narrows the type of its data. */
  is<R extends Reason>(reason: R): this is this & { reason: R; data: R extends keyof ReasonData ? ReasonData[R] : object } {
    return this.reason === reason;
  }
}

const amounts = ["balance", "needed", "reserved", "baseFee", "minBaseFee", "nonce", "expected", "gasUsed", "chainId"];
const gasBounds = ["intrinsic_gas", "gas_over_block"]; // for other reasons, min and max are plain numbers

/** typed returns data with its quantities as bigint. */
function typed(data: Record<string, unknown>): Record<string, unknown> {
  const quantities = gasBounds.includes(String(data["reason"])) ? [...amounts, "min", "max"] : amounts;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => {
    return [name, quantities.includes(name) && typeof value === "string" && /^0x[0-9a-f]{1,16}$/.test(value) ? BigInt(value) : value];
  }));
}

/** HttpError: the server answered with a status other than 200. `retryAfter` is in seconds, if the server sent it. */
export class HttpError extends CairnError {
  override name = "HttpError";
  constructor(
    readonly status: number,
    readonly retryAfter: number | undefined,
  ) {
    const again = retryAfter === undefined ? "try again later" : `try again in ${retryAfter} s`;
    const advice: Record<number, string> = {
      401: "give the client a key that the node knows, with the option `key`", 403: "the node does not serve this page or key",
      413: "the request is too large: ask in smaller ones", 429: `too many requests: ${again}`, 503: `the node is busy or starting: ${again}`,
    };
    super(`the node answers with HTTP status ${status}${advice[status] ? `: ${advice[status]}` : ""}`);
  }
}

/** UnreachableError: no answer came. The request may have arrived. */
export class UnreachableError extends CairnError {
  override name = "UnreachableError";
}

/** ProtocolError: the answer breaks the protocol. */
export class ProtocolError extends CairnError {
  override name = "ProtocolError";
  constructor(
    readonly reason: "bad_answer" | "unsafe_integer" | "too_large",
    message: string,
  ) {
    super(message);
  }
}

/** RevertError: a transaction is in its block and failed. */
export class RevertError extends CairnError {
  override name = "RevertError";
  constructor(
    readonly reason: string,
    message: string,
    readonly data: Hex,
    readonly gasUsed: bigint,
  ) {
    super(message);
  }
}

/** SignerError: something cannot be signed, or a signature is invalid. */
export class SignerError extends CairnError {
  override name = "SignerError";
  constructor(
    readonly reason:
      | "other_account" | "not_a_signer" | "missing_proofs" | "does_not_hold" | "no_text" | "not_p256" | "bad_assertion" | "bad_draft"
      | "sponsored_too_long" | "refused" | "not_found",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
