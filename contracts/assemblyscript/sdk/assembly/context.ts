import * as host from "./host";
import { limit, require } from "./revert";
import { Account, Bytes, Hash } from "./types";
import { Writer } from "./writer";

/** The caller: the transaction's sender or a contract. */
export function caller(): Account {
  const account = __new(32, idof<Account>());
  host.caller(account);
  return changetype<Account>(account);
}

/** The transaction's sender. */
export function sender(): Account {
  const account = __new(32, idof<Account>());
  host.sender(account);
  return changetype<Account>(account);
}

/** This contract. */
export function self(): Account {
  const account = __new(32, idof<Account>());
  host.self(account);
  return changetype<Account>(account);
}

/** The coins received with the call, in smallest units. */
export function value(): u64 {
  return host.value();
}

/** The height of the block. */
export function blockHeight(): u64 {
  return host.block_height();
}

/** The time of the block in Unix seconds. */
export function blockTime(): u64 {
  return host.block_time();
}

/** The chain's ID. */
export function chainId(): u64 {
  return host.chain_id();
}

/** The gas that is left. */
export function gasLeft(): u64 {
  return host.gas_left();
}

/** Whether the call is a view, which may change nothing. */
export function isView(): bool {
  return host.is_view() != 0;
}

/** The coins of an account, in smallest units. */
export function balance(account: Account): u64 {
  return host.balance(changetype<usize>(account));
}

/**
 * Pays coins of this contract, which runs no code of the recipient. Reverts if there are not enough.
 *
 * A transaction has room for 1,024 payments and events together, and reverts with `too many logs` beyond. So never pay
 * everyone on a list that others can make longer: let each claim its own, or pay a fixed number at a time.
 */
export function pay(to: Account, amount: u64): void {
  require(host.transfer(changetype<usize>(to), amount) == 0, "the contract has too few coins");
}

/** The hash of a contract's code; none if the account is no contract. */
export function codeHash(account: Account): Hash | null {
  const hash = new Hash();
  return host.code_hash(changetype<usize>(account), changetype<usize>(hash)) ? hash : null;
}

/** SHA-256 (FIPS 180-4). */
export function sha256(data: Bytes): Hash {
  const hash = new Hash();
  host.sha256(changetype<usize>(data), data.length, changetype<usize>(hash));
  return hash;
}

/** The contract that a creator makes, or made, from a code and a salt: see Call.create. */
export function instanceOf(creator: Account, code: Hash, salt: Hash): Account {
  const tag = new Writer();
  tag.text("cairn/instance/v2");
  const hash = new Hash();
  host.sha256(tag.start, tag.length, changetype<usize>(hash));
  const message = new Writer();
  for (let i = 0; i < 2; i++) message.raw(changetype<usize>(hash), 32);
  message.raw(changetype<usize>(creator), 32);
  message.raw(changetype<usize>(code), 32);
  message.raw(changetype<usize>(salt), 32);
  const made = new Account();
  host.sha256(message.start, message.length, changetype<usize>(made));
  return made;
}

/** Keccak-256 with the original padding, as Ethereum uses it. */
export function keccak256(data: Bytes): Hash {
  const hash = new Hash();
  host.keccak256(changetype<usize>(data), data.length, changetype<usize>(hash));
  return hash;
}

/** BLAKE3. */
export function blake3(data: Bytes): Hash {
  const hash = new Hash();
  host.blake3(changetype<usize>(data), data.length, changetype<usize>(hash));
  return hash;
}

/**
 * Whether 64 bytes are a BIP-340 signature of a message by a key. To check that an account agreed, use `accountVerify`:
 * not every account is a key, and the owner of a key may have changed who signs for the account.
 */
export function schnorrVerify(key: Account, message: Bytes, signature: Bytes): bool {
  require(signature.length == 64, "a signature has 64 bytes");
  return host.schnorr_verify(changetype<usize>(key), changetype<usize>(message), message.length, changetype<usize>(signature)) != 0;
}

/** The public key x ‖ y that made a signature r ‖ s ‖ v (v 0 or 1) of a hash; none if there is none. */
export function ecdsaRecover(hash: Hash, signature: Bytes): Bytes | null {
  require(signature.length == 65, "a recoverable signature has 65 bytes");
  const key = new StaticArray<u8>(64);
  return host.ecdsa_recover(changetype<usize>(hash), changetype<usize>(signature), changetype<usize>(key)) ? key : null;
}

/**
 * Whether 64 bytes r ‖ s (any s) are an ECDSA signature over P-256 of a digest by a point x ‖ y. To check that an
 * account agreed, use `accountVerify`.
 */
export function p256Verify(point: Bytes, digest: Hash, signature: Bytes): bool {
  require(point.length == 64 && signature.length == 64, "a point and a signature have 64 bytes");
  return host.p256_verify(changetype<usize>(point), changetype<usize>(digest), changetype<usize>(signature)) != 0;
}

/** The protocol's limits for a signed message and for its witness, in bytes. */
const MAX_MESSAGE: u32 = 1024;
const MAX_WITNESS: u32 = 8192;

/**
 * Whether an account signed a message to this contract: a permit, an order, a login. It works for every kind of
 * account, and respects a change of who signs for the account. The message has at most 1 KiB, the encoded witness 8
 * KiB.
 *
 * In this contract a witness stays valid for ever. So put a purpose, a one-time number and a deadline into the message,
 * and store the numbers that were used.
 */
export function accountVerify(account: Account, message: Bytes, witness: Bytes): bool {
  limit("message", message.length, MAX_MESSAGE);
  limit("witness", witness.length, MAX_WITNESS);
  return host.account_verify(changetype<usize>(account), changetype<usize>(message), message.length, changetype<usize>(witness), witness.length) != 0;
}

/**
 * Gives this contract the code of another one, the template, from its next call on, even in this transaction. The
 * running call ends with the old code, storage stays as it is, and `init` does not run: the new code must be able to
 * read what the old one stored. Reverts if the template is no contract.
 *
 * Whoever may do this controls everything that the contract does. A code that never calls this function cannot change,
 * and `cairn contract show` says which. Give users a delay in which they can leave.
 */
export function replaceCode(template: Account): void {
  require(host.replace_code(changetype<usize>(template)) == 0, "the template is no contract");
}

/** The protocol's limit for a message, in bytes. */
const MAX_DEBUG: u32 = 1024;

/** Shows a message, of at most 1 KiB, in traces. */
export function debug(message: string): void {
  const text = new Writer();
  text.text(message);
  limit("debug message", text.length, MAX_DEBUG);
  host.debug(text.start, text.length);
}
