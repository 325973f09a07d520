import { CodecError, Reader, encode } from "./codec.js";
import { concat, from32, toHex, type Account } from "./hex.js";

/** AccountRecord is the state's record of an account (docs/protocol.md, "State"). */
export interface AccountRecord {
  balance: bigint;
  nonce: bigint;
  /** who may sign: the account itself, or the hash of a policy */
  authority: Account;
  /** the authority from a time on, in milliseconds, unless the owner sends a SetPolicy before */
  pending: { next: Account; from: bigint } | null;
}

/** accountKey returns the state key of an account. */
export function accountKey(account: Account): Uint8Array {
  return concat(Uint8Array.of(1), from32(account));
}

/** The state key of the parameters. */
export const PARAMETERS_KEY = Uint8Array.of(0, 1);

/** encodeRecord returns the bytes of a record; undefined for an account without an entry. */
export function encodeRecord(account: Account, { balance, nonce, authority, pending }: AccountRecord): Uint8Array | undefined {
  if (balance === 0n && nonce === 0n && authority === account && !pending) return undefined;
  return encode((w) => {
    w.u64(balance).u64(nonce);
    if (pending || authority !== account) w.fixed(from32(authority), 32);
    if (pending) w.fixed(from32(pending.next), 32).u64(pending.from);
  });
}

/**
 * decodeRecord reads the record of an account; null means that there is no entry. It throws a {@link CodecError} for a
 * form that no state has.
 */
export function decodeRecord(account: Account, bytes: Uint8Array | null): AccountRecord {
  if (bytes === null) return { balance: 0n, nonce: 0n, authority: account, pending: null };
  if (![16, 48, 88].includes(bytes.length)) throw new CodecError(`an account record has ${bytes.length} bytes, not 16, 48 or 88`);
  const r = new Reader(bytes);
  const [balance, nonce] = [r.u64(), r.u64()];
  const authority = bytes.length > 16 ? toHex(r.fixed(32)) : account;
  const pending = bytes.length > 48 ? { next: toHex(r.fixed(32)), from: r.u64() } : null;
  const longer = bytes.length > 16 && (nonce === 0n || (authority === account && !pending));
  if (longer || (balance === 0n && nonce === 0n)) throw new CodecError("an account record is not in its shortest form");
  return { balance, nonce, authority, pending };
}

/** authorityAt returns the authority of an account at a time, in milliseconds. */
export function authorityAt({ authority, pending }: Pick<AccountRecord, "authority" | "pending">, time: bigint): Account {
  return pending && time >= pending.from ? pending.next : authority;
}
