// A token whose code can be replaced, and that accepts permits. Replacement: the owner announces another contract,
// whose code this one will get. During a delay, everybody can inspect the new code and leave. After it, anybody may
// make the replacement (`replaceCode`). Address and balances stay; the new code must be able to read them. Permits: a
// holder signs an allowance for a spender without paying a fee, and anybody brings it to the chain (`accountVerify`).
// This works for every kind of account.
import {
  Account, accountVerify, add, blockTime, Bytes, caller, Cell, codeHash, emit, Hash, Map, Option, replaceCode, require, revert,
} from "@cairn-chain/contract";

@storage
const ownedBy = new Cell<Account>("owner");
@storage
const wait = new Cell<u64>("delay");
@storage
const balances = new Map<Account, u64>("balance");
/** By owner and spender. */
@storage
const allowances = new Map<Pair, u64>("allowance");
/** The number of used permits by account. */
@storage
const nonces = new Map<Account, u64>("nonce");
@storage
const coming = new Cell<Next>("next");

const MAX_DELAY: u64 = 365 * 24 * 60 * 60; // seconds: a longer delay is a typing error
/**
 * The number of seconds after the delay for which an announcement is valid. A forgotten one must be announced again.
 */
const GRACE: u64 = 14 * 24 * 60 * 60;

@record
export class Pair {
  constructor(
    public owner: Account,
    public spender: Account,
  ) {}
}

/** The announced contract, the hash of its code, and the start of validity in Unix seconds. */
@record
export class Next {
  constructor(
    public template: Account,
    public code: Hash,
    public from: u64,
  ) {}
}

@event
class Transfer {
  constructor(
    public from: Account,
    public to: Account,
    public amount: u64,
  ) {}
}

@event
class Announced {
  constructor(
    public template: Account,
    public code: Hash,
    public from: u64,
  ) {}
}

@event
class Approval {
  constructor(
    public owner: Account,
    public spender: Account,
    public amount: u64,
  ) {}
}

/** Gives the supply to the deployer, the owner, who may announce new code. */
@init
export function init(supply: u64, delay: u64): void {
  require(delay > 0 && delay <= MAX_DELAY, "a delay is from a second to a year");
  ownedBy.set(caller());
  wait.set(delay);
  balances.set(caller(), supply);
  emit(new Transfer(new Account(), caller(), supply));
}

@read
export function balanceOf(address: Account): u64 {
  return balances.get(address);
}

@read
export function allowance(owner: Account, spender: Account): u64 {
  return allowances.get(new Pair(owner, spender));
}

@write
export function transfer(to: Account, amount: u64): bool {
  move(caller(), to, amount);
  return true;
}

/** Moves tokens of another account within the caller's allowance. */
@write
export function transferFrom(from: Account, to: Account, amount: u64): bool {
  require(amount > 0, "nothing to move");
  const key = new Pair(from, caller());
  const left = allowances.get(key);
  require(left >= amount, "allowance is too low");
  allowances.set(key, left - amount);
  move(from, to, amount);
  return true;
}

/** The number of an account's next permit. */
@read
export function nonce(owner: Account): u64 {
  return nonces.get(owner);
}

/** The message that an owner signs for a permit. Wallets show it as text. */
@read
export function permitMessage(owner: Account, spender: Account, amount: u64, deadline: u64): Bytes {
  return permitText(spender, amount, nonces.get(owner), deadline);
}

/** Sets a spender's allowance by a permit that the owner signed. A permit can be used once, until its deadline. */
@write
export function permit(owner: Account, spender: Account, amount: u64, deadline: u64, witness: Bytes): void {
  require(blockTime() <= deadline, "the permit has expired");
  const number = nonces.get(owner);
  require(accountVerify(owner, permitText(spender, amount, number, deadline), witness), "the owner has not signed it");
  nonces.set(owner, number + 1);
  allowances.set(new Pair(owner, spender), amount);
  emit(new Approval(owner, spender, amount));
}

/** The announced code, if any. */
@read
export function next(): Option<Account> {
  if (!coming.exists() || blockTime() > coming.get().from + GRACE) return Option.none<Account>();
  return Option.some<Account>(coming.get().template);
}

/** Announces the contract whose code this one will get after the delay, in place of any earlier announcement. */
@write
export function announce(template: Account): void {
  onlyOwner();
  const code = codeHash(template);
  if (!code) revert("there is no such contract");
  const from = add<u64>(blockTime(), wait.get());
  coming.set(new Next(template, code!, from));
  emit(new Announced(template, code!, from));
}

@write
export function cancel(): void {
  onlyOwner();
  announced();
  coming.delete();
}

/**
 * Installs the announced code. Anybody may call this after the delay. It fails if the announced contract has changed
 * its code since.
 */
@write
export function upgrade(): void {
  const next = announced();
  require(blockTime() >= next.from, "the delay is not over");
  require(blockTime() <= next.from + GRACE, "the announcement has expired");
  const code = codeHash(next.template);
  require(code! == next.code, "it has another code by now");
  coming.delete();
  replaceCode(next.template);
}

function onlyOwner(): void {
  require(caller() == ownedBy.get(), "only the owner may");
}

function announced(): Next {
  require(coming.exists(), "nothing is announced");
  return coming.get();
}

function move(from: Account, to: Account, amount: u64): void {
  const left = balances.get(from);
  require(left >= amount, "balance is too low");
  balances.set(from, left - amount);
  balances.set(to, balances.get(to) + amount); // cannot overflow: at most the supply
  emit(new Transfer(from, to, amount));
}

/** The message of a permit. The signed data already includes the contract, the chain and the owner. */
function permitText(spender: Account, amount: u64, number: u64, deadline: u64): Bytes {
  const text = `permit ${amount} to ${hex(spender)}, number ${number}, until ${deadline}`;
  const bytes = new StaticArray<u8>(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = <u8>text.charCodeAt(i);
  return bytes;
}

function hex(account: Account): string {
  let text = "0x";
  for (let i: usize = 0; i < 32; i++) {
    const byte = load<u8>(changetype<usize>(account) + i);
    text += (byte >> 4).toString(16) + (byte & 15).toString(16);
  }
  return text;
}
