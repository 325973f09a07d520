// A token of which there is one each, after NEP-11 (indivisible; docs/contracts.md, "Tokens of one each").
// Who deploys the contract mints; who owns a token may move it, burn it, or approve another to move it once.
import { Account, Bytes, Call, caller, CallStatus, Cell, emit, List, Map, Option, require } from "@cairn-chain/contract";

const tokenSymbol = new Cell<string>("symbol");
const minter = new Cell<Account>("minter");
const items = new Map<Bytes, Item>("item");
/** Apart: moves read and write none of their bytes. */
const said = new Map<Bytes, string>("properties");
const all = new List<Bytes>("all");
/** Of an owner's tokens. */
const counts = new Map<Account, u32>("count");
/** An owner's tokens, from 0 to below the count. */
const own = new Map<Slot, Bytes>("own");

const MAX_ID = 64; // bytes
const MAX_LISTED: u32 = 100;

@record
class Item {
  constructor(
    public owner: Account,
    /** Who else may move it; the zero account for nobody. */
    public approved: Account,
    /** Where it is in the list of all tokens. */
    public amongAll: u32,
    /** Where it is in its owner's. */
    public amongOwn: u32,
  ) {}
}

@record
class Slot {
  constructor(
    public owner: Account,
    public index: u32,
  ) {}
}

/** A token moved; a minted one from the zero account, a burned one to it. The amount is 1. */
@event
class Transfer {
  constructor(
    public from: Account,
    public to: Account,
    public amount: u64,
    public tokenId: Bytes,
  ) {}
}

/** Another than the owner may move a token once, or nobody. */
@event
class Approval {
  constructor(
    public owner: Account,
    public approved: Option<Account>,
    public tokenId: Bytes,
  ) {}
}

@init
export function init(symbol: string): void {
  tokenSymbol.set(symbol);
  minter.set(caller());
}

@read
export function symbol(): string {
  return tokenSymbol.get();
}

/** 0: a token cannot be divided. */
@read
export function decimals(): u32 {
  return 0;
}

@read
export function totalSupply(): u64 {
  return all.length;
}

@read
export function balanceOf(owner: Account): u64 {
  return counts.get(owner);
}

@read
export function ownerOf(tokenId: Bytes): Account {
  return find(tokenId).owner;
}

/** What the minter said of a token: the JSON of an object with the member name, as NEP-11 has it. */
@read
export function properties(tokenId: Bytes): string {
  find(tokenId);
  return said.get(tokenId);
}

/** Who else may move a token. */
@read
export function approved(tokenId: Bytes): Option<Account> {
  const account = find(tokenId).approved;
  return account.isZero() ? Option.none<Account>() : Option.some<Account>(account);
}

/** Tokens from a position on, at most 100. */
@read
export function tokens(start: u32, count: u32): Bytes[] {
  const ids: Bytes[] = [];
  const n = listed(start, count, all.length);
  for (let i: u32 = 0; i < n; i++) ids.push(all.get(start + i));
  return ids;
}

/** An owner's tokens from a position on, at most 100. */
@read
export function tokensOf(owner: Account, start: u32, count: u32): Bytes[] {
  const ids: Bytes[] = [];
  const n = listed(start, count, counts.get(owner));
  for (let i: u32 = 0; i < n; i++) ids.push(own.get(new Slot(owner, start + i)));
  return ids;
}

/** Makes a token; the minter's right. */
@write
export function mint(to: Account, tokenId: Bytes, properties: string): void {
  require(caller() == minter.get(), "only the minter may mint");
  require(tokenId.length > 0 && tokenId.length <= MAX_ID, "a token's ID has 1 to 64 bytes");
  require(!items.has(tokenId), "there is such a token");
  require(!to.isZero(), "the zero account cannot receive");
  said.set(tokenId, properties);
  put(to, tokenId, new Item(to, new Account(), all.push(tokenId), 0));
  moved(new Account(), to, tokenId, Option.none<Bytes>());
}

/** Destroys a token of the caller's. */
@write
export function burn(tokenId: Bytes): void {
  const item = find(tokenId);
  require(caller() == item.owner, "only the owner may burn");
  take(item);
  const last = all.pop();
  if (item.amongAll < all.length) {
    all.set(item.amongAll, last);
    const moving = find(last);
    moving.amongAll = item.amongAll;
    items.set(last, moving);
  }
  items.delete(tokenId);
  said.delete(tokenId);
  emit(new Transfer(item.owner, new Account(), 1, tokenId));
}

/** Lets an account move a token once, or nobody. */
@write
export function approve(to: Option<Account>, tokenId: Bytes): void {
  const item = find(tokenId);
  require(caller() == item.owner, "only the owner may approve");
  item.approved = to.exists ? to.value : new Account();
  items.set(tokenId, item);
  emit(new Approval(item.owner, to, tokenId));
}

/** Moves a token of the caller's, or one that the caller is approved for. A contract that gets it is told, with the
 * data, and can refuse it. */
@write
export function transfer(to: Account, tokenId: Bytes, data: Option<Bytes>): bool {
  const item = find(tokenId);
  require(caller() == item.owner || caller() == item.approved, "not the owner's, nor approved");
  require(!to.isZero(), "the zero account cannot receive");
  take(item);
  put(to, tokenId, item);
  moved(item.owner, to, tokenId, data);
  return true;
}

function find(id: Bytes): Item {
  require(id.length <= MAX_ID && items.has(id), "no such token");
  return items.get(id);
}

/** Takes a token out of its owner's, whose last one takes its place. */
function take(item: Item): void {
  const last = counts.get(item.owner) - 1;
  const end = new Slot(item.owner, last);
  if (item.amongOwn != last) {
    const id = own.get(end);
    own.set(new Slot(item.owner, item.amongOwn), id);
    const moving = find(id);
    moving.amongOwn = item.amongOwn;
    items.set(id, moving);
  }
  own.delete(end);
  if (last == 0) counts.delete(item.owner);
  else counts.set(item.owner, last);
}

/** Puts a token behind an account's others; nobody is approved for it any more. */
function put(to: Account, id: Bytes, item: Item): void {
  const count = counts.get(to);
  own.set(new Slot(to, count), id);
  counts.set(to, count + 1);
  items.set(id, new Item(to, new Account(), item.amongAll, count));
}

/** Says that a token moved: in an event, and to a contract that gets it from another and wants to know. That is the last
 * thing a call does, and the receiver cannot call this contract back meanwhile. */
function moved(from: Account, to: Account, id: Bytes, data: Option<Bytes>): void {
  emit(new Transfer(from, to, 1, id));
  if (to == caller()) return;
  // Anybody's contract may get a token, and every contract takes JSON.
  const call = new Call(to, "onNEP11Payment").json().account("from", from).u64("amount", 1).bytes("tokenId", id);
  if (data.exists) call.bytes("data", data.value);
  const told = call.trySend();
  const silent = told.status == CallStatus.NoContract || told.status == CallStatus.NoFunction; // a user, or one that does not ask
  if (!silent) told.check();
}

/** How many of a list's tokens from a position on are given. */
function listed(start: u32, count: u32, length: u32): u32 {
  return min(min(count, MAX_LISTED), start < length ? length - start : 0);
}
