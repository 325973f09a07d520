// An account of several owners: it makes the calls and payments that a threshold of them has confirmed. It is reentrant
// because it changes its own owners by calling itself. Each function has finished its own changes before it makes a
// call, so that others may run in the middle of `execute`.
import {
  Account, add, blockTime, Bytes, Call, caller, Cell, emit, List, Map, pay, require, self, value as coins,
} from "@cairn-chain/contract";

const ownerList = new List<Account>("owners");
const needed = new Cell<u32>("threshold");
/** The number of changes of the owners. */
const era = new Cell<u32>("era");
const made = new List<Proposal>("proposals");
const confirmed = new Map<Confirmation, bool>("confirmed");

const MAX_OWNERS = 16;
const MAX_METHOD = 64; // characters
const MAX_AGE: u64 = 30 * 24 * 60 * 60; // seconds for which a proposal is valid
const MAX_ARGS = 7168; // bytes: the event has them in hex, within its limit of 16 KiB

@record
class Proposal {
  constructor(
    public to: Account,
    public method: string,
    public args: Bytes,
    public value: u64,
    public era: u32,
    public until: u64,
    public executed: bool,
  ) {}
}

@record
class Confirmation {
  constructor(
    public id: u32,
    public owner: Account,
  ) {}
}

@event
class Deposited {
  constructor(
    public from: Account,
    public amount: u64,
  ) {}
}

@event
class Proposed {
  constructor(
    public id: u32,
    public by: Account,
    public to: Account,
    public method: string,
    public args: Bytes,
    public value: u64,
  ) {}
}

@event
class Confirmed {
  constructor(
    public id: u32,
    public by: Account,
  ) {}
}

@event
class Revoked {
  constructor(
    public id: u32,
    public by: Account,
  ) {}
}

@event
class Executed {
  constructor(
    public id: u32,
    public by: Account,
  ) {}
}

@event
class OwnersSet {
  constructor(
    public era: u32,
    public threshold: u32,
    public owners: Account[],
  ) {}
}

/** Its export allows calls of the contract while it is on the call stack. */
export function _reentrant(): void {}

/** Sets the owners, and the threshold of confirmations. */
@init
export function init(owners: Account[], threshold: u32): void {
  change(owners, threshold);
}

@read
export function owners(): Account[] {
  const all: Account[] = [];
  for (let i: u32 = 0; i < ownerList.length; i++) all.push(ownerList.get(i));
  return all;
}

@read
export function threshold(): u32 {
  return needed.get();
}

@read
export function proposals(): u32 {
  return made.length;
}

/** The number of owners who have confirmed a proposal. */
@read
export function confirmations(id: u32): u32 {
  find(id);
  return count(id);
}

@read
export function isConfirmed(id: u32, owner: Account): bool {
  return confirmed.get(new Confirmation(id, owner));
}

@read
export function isExecuted(id: u32): bool {
  return find(id).executed;
}

/** Accepts coins. Coins sent to the account without a call can be spent too. */
@write
@payable
export function deposit(): void {
  emit(new Deposited(caller(), coins()));
}

/**
 * Proposes a call with encoded arguments and with coins, or a payment if there is no method. The caller confirms it at
 * the same time. It is valid for 30 days.
 */
@write
export function propose(to: Account, method: string, args: Bytes, value: u64): u32 {
  const by = owner();
  require(method.length <= MAX_METHOD && args.length <= MAX_ARGS, "too long");
  require(method.length > 0 || (args.length == 0 && value > 0), "a payment has coins and no arguments");
  const id = made.push(new Proposal(to, method, args, value, era.get(), add<u64>(blockTime(), MAX_AGE), false));
  emit(new Proposed(id, by, to, method, args, value));
  confirmed.set(new Confirmation(id, by), true);
  emit(new Confirmed(id, by));
  return id;
}

@write
export function confirm(id: u32): void {
  const by = owner();
  open(id);
  require(!isConfirmed(id, by), "confirmed already");
  confirmed.set(new Confirmation(id, by), true);
  emit(new Confirmed(id, by));
}

/** Withdraws the caller's confirmation. */
@write
export function revoke(id: u32): void {
  const by = owner();
  open(id);
  require(isConfirmed(id, by), "not confirmed");
  confirmed.delete(new Confirmation(id, by));
  emit(new Revoked(id, by));
}

/**
 * Executes a proposal that enough owners have confirmed. If it fails, nothing has changed, and it can be tried again.
 */
@write
export function execute(id: u32): void {
  const by = owner();
  const p = open(id);
  require(count(id) >= needed.get(), "too few confirmations");
  p.executed = true;
  made.set(id, p); // before the call, which may call this contract back
  emit(new Executed(id, by));
  if (p.method.length == 0) pay(p.to, p.value);
  else new Call(p.to, p.method).raw(p.args).value(p.value).send();
}

/** Changes the owners, only by a proposal of theirs. All earlier proposals become void. */
@write
export function setOwners(owners: Account[], threshold: u32): void {
  require(caller() == self(), "only by a proposal");
  change(owners, threshold);
}

function change(owners: Account[], threshold: u32): void {
  require(owners.length > 0 && owners.length <= MAX_OWNERS, "1 to 16 owners");
  require(threshold > 0 && threshold <= <u32>owners.length, "a threshold is from 1 to the number of owners");
  while (ownerList.length > 0) ownerList.pop();
  for (let i = 0; i < owners.length; i++) {
    require(!owners[i].isZero() && owners[i] != self(), "not an owner");
    for (let j = 0; j < i; j++) require(owners[i] != owners[j], "an owner is given twice");
    ownerList.push(owners[i]);
  }
  needed.set(threshold);
  era.set(era.get() + 1);
  emit(new OwnersSet(era.get(), threshold, owners));
}

/** The caller, who must be an owner. */
function owner(): Account {
  const by = caller();
  const length = ownerList.length;
  for (let i: u32 = 0; i < length; i++) if (ownerList.get(i) == by) return by;
  require(false, "only an owner may");
  return by;
}

function find(id: u32): Proposal {
  require(id < made.length, "no such proposal");
  return made.get(id);
}

/** A proposal that is still valid. */
function open(id: u32): Proposal {
  const p = find(id);
  require(!p.executed, "executed already");
  require(p.era == era.get(), "the owners have changed since");
  require(blockTime() <= p.until, "the proposal has expired");
  return p;
}

function count(id: u32): u32 {
  let n: u32 = 0;
  const length = ownerList.length;
  for (let i: u32 = 0; i < length; i++) if (isConfirmed(id, ownerList.get(i))) n++;
  return n;
}
