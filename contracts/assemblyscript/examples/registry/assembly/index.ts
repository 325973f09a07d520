// Names for contracts that may be replaced by others. Who wants to mend a contract whose code never changes deploys another,
// and has a name stand for that one: after a delay, in which everybody can see what comes, and leave.
// A contract that replaces its own code (`replaceCode`, as the example `coin` does) needs no name: its address and its
// storage stay. A registry is for what must be another contract.
// What it defends against is in docs/contracts.md, "What the examples defend against".
import { Account, add, blockTime, caller, Cell, codeHash, emit, Map, Option, require, revert } from "@cairn-chain/contract";

@storage
const ownedBy = new Cell<Account>("owner");
/** Who was offered to be the owner. */
@storage
const heir = new Cell<Account>("heir");
@storage
const wait = new Cell<u64>("delay");
@storage
const current = new Map<string, Account>("current");
@storage
const coming = new Map<string, Next>("next");

const MAX_NAME = 64; // characters
const MAX_DELAY: u64 = 365 * 24 * 60 * 60; // seconds: a longer one is a typing error
/** For so many seconds behind the delay an announcement may be activated. One that was forgotten must be made, and seen, again. */
const GRACE: u64 = 14 * 24 * 60 * 60;

/** What a name will stand for, and from when on, in Unix seconds. */
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

/** The caller owns the names. What one stands for changes so many seconds after it was announced. */
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

/** The contract that a name stands for. */
@read
export function resolve(name: string): Account {
  require(current.has(name), "the name stands for nothing");
  return current.get(name);
}

/** The contract that a name will stand for, if anything was announced and has not expired. */
@read
export function next(name: string): Option<Account> {
  if (!coming.has(name) || expired(coming.get(name))) return Option.none<Account>();
  return Option.some<Account>(coming.get(name).contract);
}

/** From when on what was announced may be activated, in Unix seconds. */
@read
export function nextFrom(name: string): u64 {
  return announced(name).from;
}

/** Says what a name will stand for: after the delay, or at once if it stands for nothing, as nobody relies on it yet.
 * It takes the place of what was announced before. */
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

/** Has a name stand for what was announced. Anybody may, for 14 days behind the delay. */
@write
export function activate(name: string): void {
  const next = announced(name);
  require(blockTime() >= next.from, "the delay is not over");
  require(!expired(next), "the announcement has expired");
  coming.delete(name);
  current.set(name, next.contract);
  emit(new Activated(next.contract, name));
}

/** Offers the names to another owner, who must accept: so they are never owned by a typing error. */
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
