// Coins that vest over time: nothing before a cliff, all at the end, and in between in proportion to the time since the
// start. A revocable grant can be revoked: the vested part stays the beneficiary's, and the rest goes back. For the
// attacks that it resists see docs/contracts.md, "What the examples defend against".
import { Account, blockTime, caller, emit, List, pay, require, self, value } from "@cairn-chain/contract";

const grants = new List<Grant>("grants");

/** Amounts are in smallest units, times in Unix seconds. */
@record
class Grant {
  constructor(
    public from: Account,
    public to: Account,
    public amount: u64,
    public released: u64,
    public start: u64,
    public cliff: u64,
    public end: u64,
    public revocable: bool,
  ) {}
}

@event
class Granted {
  constructor(
    public id: u32,
    public from: Account,
    public to: Account,
    public amount: u64,
  ) {}
}

@event
class Released {
  constructor(
    public id: u32,
    public to: Account,
    public amount: u64,
  ) {}
}

@event
class Revoked {
  constructor(
    public id: u32,
    public to: Account,
    public amount: u64,
  ) {}
}

/** Grants the coins of the call, and returns the grant's number. */
@write
@payable
export function grant(to: Account, start: u64, cliff: u64, end: u64, revocable: bool): u32 {
  const from = caller();
  const amount = value();
  require(amount > 0, "a grant needs coins");
  require(!to.isZero() && to != self(), "nobody could take the coins");
  require(start <= cliff && cliff <= end && start < end, "the times are start, cliff and end, in this order");
  require(end - start <= u64(u32.MAX_VALUE), "a grant is over in 136 years");
  const id = grants.push(new Grant(from, to, amount, 0, start, cliff, end, revocable));
  emit(new Granted(id, from, to, amount));
  return id;
}

/** The amount vested so far, whether released or not. */
@read
export function vested(id: u32): u64 {
  return vestedOf(find(id));
}

/** The amount that can be released now. */
@read
export function releasable(id: u32): u64 {
  const g = find(id);
  return vestedOf(g) - g.released;
}

/** The amount of the grant; less after a revocation. */
@read
export function amount(id: u32): u64 {
  return find(id).amount;
}

/** The start, the cliff and the end. */
@read
export function times(id: u32): u64[] {
  const g = find(id);
  return [g.start, g.cliff, g.end];
}

/** Pays the vested and unreleased amount to the beneficiary. Anybody may call this. */
@write
export function release(id: u32): u64 {
  const g = find(id);
  const due = vestedOf(g) - g.released;
  require(due > 0, "nothing to release");
  g.released += due;
  grants.set(id, g);
  pay(g.to, due);
  emit(new Released(id, g.to, due));
  return due;
}

/** Returns the unvested amount to the grantor. Only the grantor may call this. */
@write
export function revoke(id: u32): u64 {
  const g = find(id);
  require(g.revocable, "the grant cannot be revoked");
  require(caller() == g.from, "only who granted it may");
  const kept = vestedOf(g);
  const rest = g.amount - kept;
  require(rest > 0, "all of it is vested");
  // The vested amount never falls over time, so a revocation takes nothing that has vested.
  g.amount = kept;
  g.start = 0;
  g.cliff = 0;
  g.end = 1;
  grants.set(id, g);
  pay(g.from, rest);
  emit(new Revoked(id, g.from, rest));
  return rest;
}

function find(id: u32): Grant {
  require(id < grants.length, "no such grant");
  return grants.get(id);
}

/** amount · elapsed / duration, rounded down, in two parts that do not overflow, as both times are below 2³². */
function vestedOf(g: Grant): u64 {
  const now = blockTime();
  if (now < g.cliff || now < g.start) return 0;
  if (now >= g.end) return g.amount;
  const elapsed = now - g.start;
  const duration = g.end - g.start;
  return (g.amount / duration) * elapsed + ((g.amount % duration) * elapsed) / duration;
}
