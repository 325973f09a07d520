// Names for contracts that may be replaced by others. To correct a contract whose code never changes, its owner deploys
// another and points a name to it. This takes effect after a delay, in which everybody can inspect the new contract and
// leave. A contract that replaces its own code (`replaceCode`, as the example `coin` does) needs no name: its address
// and its storage stay. A registry is for replacements that must be a separate contract. For the attacks that it
// resists see docs/contracts.md, "What the examples defend against".
import { Account, add, blockTime, caller, Cell, codeHash, emit, Map, Option, require, revert } from "@cairn-chain/contract";

@storage
const ownedBy = new Cell<Account>("owner");
/** The account to which ownership was offered. */
@storage
const heir = new Cell<Account>("heir");
@storage
const wait = new Cell<u64>("delay");
@storage
const current = new Map<string, Account>("current");
@storage
const coming = new Map<string, Next>("next");

const MAX_NAME = 64; // characters
const MAX_DELAY: u64 = 365 * 24 * 60 * 60; // seconds: a longer delay is a typing error
/**
 * The number of seconds after the delay in which an announcement may be activated. A forgotten one must be announced
 * again.
 */
const GRACE: u64 = 14 * 24 * 60 * 60;

/** The announced contract of a name, and the earliest activation in Unix seconds. */
@record
export class Next {
  constructor(
    public contract: Account,
    public from: u64,
  ) {}
}

@event
class Announced {
  constructor(
    public contract: Account,
    public name: string,
    public from: u64,
  ) {}
}

@event
class Cancelled {
  constructor(
    public contract: Account,
    public name: string,
  ) {}
}

@event
class Activated {
  constructor(
    public contract: Account,
    public name: string,
  ) {}
}

@event
class OwnerSet {
  constructor(public owner: Account) {}
}

/** The caller owns the names. A name changes the given number of seconds after the announcement. */
@init
export function init(delay: u64): void {
  require(delay > 0 && delay <= MAX_DELAY, "a delay is from a second to a year");
  wait.set(delay);
  setOwner(caller());
}

@read
export function owner(): Account {
  return ownedBy.get();
}

@read
export function delay(): u64 {
  return wait.get();
}

/** The contract to which a name points. */
@read
export function resolve(name: string): Account {
  require(current.has(name), "the name stands for nothing");
  return current.get(name);
}

/** The announced contract of a name, if there is an announcement that has not expired. */
@read
export function next(name: string): Option<Account> {
  if (!coming.has(name) || expired(coming.get(name))) return Option.none<Account>();
  return Option.some<Account>(coming.get(name).contract);
}

/** The time from which the announcement may be activated, in Unix seconds. */
@read
export function nextFrom(name: string): u64 {
  return announced(name).from;
}

/**
 * Announces a new contract for a name. It can be activated after the delay, or at once for a new name, on which nobody
 * relies yet. It replaces any earlier announcement.
 */
@write
export function announce(name: string, contract: Account): void {
  onlyOwner();
  require(name.length > 0 && name.length <= MAX_NAME, "a name has 1 to 64 characters");
  if (!codeHash(contract)) revert("there is no such contract");
  const from = add<u64>(blockTime(), current.has(name) ? wait.get() : 0);
  coming.set(name, new Next(contract, from));
  emit(new Announced(contract, name, from));
}

@write
export function cancel(name: string): void {
  onlyOwner();
  const contract = announced(name).contract;
  coming.delete(name);
  emit(new Cancelled(contract, name));
}

/** Points a name to the announced contract. Anybody may call this, for 14 days after the delay. */
@write
export function activate(name: string): void {
  const next = announced(name);
  require(blockTime() >= next.from, "the delay is not over");
  require(!expired(next), "the announcement has expired");
  coming.delete(name);
  current.set(name, next.contract);
  emit(new Activated(next.contract, name));
}

/** Offers the names to a new owner, who must accept: a typing error cannot give them away. */
@write
export function offer(to: Account): void {
  onlyOwner();
  heir.set(to);
}

@write
export function accept(): void {
  require(heir.exists() && heir.get() == caller(), "the names were not offered to the caller");
  heir.delete();
  setOwner(caller());
}

function onlyOwner(): void {
  require(caller() == ownedBy.get(), "only the owner may");
}

function setOwner(owner: Account): void {
  ownedBy.set(owner);
  emit(new OwnerSet(owner));
}

function announced(name: string): Next {
  require(coming.has(name), "nothing is announced");
  return coming.get(name);
}

function expired(next: Next): bool {
  return blockTime() > add<u64>(next.from, GRACE);
}
