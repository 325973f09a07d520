// Non-fungible tokens after NEP-11 (indivisible; docs/contracts.md, "Tokens of one each"). The deployer of the contract
// mints. A token's owner may move it, burn it, or approve another account to move it once.
import { Account, Bytes, Call, caller, CallStatus, Cell, emit, List, Map, Option, require } from "@cairn-chain/contract";

const tokenSymbol = new Cell<string>("symbol");
const minter = new Cell<Account>("minter");
const items = new Map<Bytes, Item>("item");
/** Stored apart, so that moves neither read nor write their bytes. */
const said = new Map<Bytes, string>("properties");
const all = new List<Bytes>("all");
/** The number of an owner's tokens. */
const counts = new Map<Account, u32>("count");
/** An owner's tokens, by index from 0 to the count − 1. */
const own = new Map<Slot, Bytes>("own");

const MAX_ID = 64; // bytes
const MAX_LISTED: u32 = 100;

@record
class Item {
  constructor(
    public owner: Account,
    /** The account that is approved to move it; the zero account if none is. */
    public approved: Account,
    /** Its index in the list of all tokens. */
    public amongAll: u32,
    /** Its index in its owner's list. */
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

/** A token moved: a minted one comes from the zero account, a burned one goes to it. The amount is 1. */
@event
class Transfer {
  constructor(
    public from: Account,
    public to: Account,
    public amount: u64,
    public tokenId: Bytes,
  ) {}
}

/** An account was approved to move a token once, or the approval was removed. */
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

/** The minter's description of a token: a JSON object with the member name, as in NEP-11. */
@read
export function properties(tokenId: Bytes): string {
  find(tokenId);
  return said.get(tokenId);
}

/** The account that is approved to move a token. */
@read
export function approved(tokenId: Bytes): Option<Account> {
  const account = find(tokenId).approved;
  return account.isZero() ? Option.none<Account>() : Option.some<Account>(account);
}

/** At most 100 tokens from a position on. */
@read
export function tokens(start: u32, count: u32): Bytes[] {
  const ids: Bytes[] = [];
  const n = listed(start, count, all.length);
  for (let i: u32 = 0; i < n; i++) ids.push(all.get(start + i));
  return ids;
}

/** At most 100 of an owner's tokens from a position on. */
@read
export function tokensOf(owner: Account, start: u32, count: u32): Bytes[] {
  const ids: Bytes[] = [];
  const n = listed(start, count, counts.get(owner));
  for (let i: u32 = 0; i < n; i++) ids.push(own.get(new Slot(owner, start + i)));
  return ids;
}

/** Mints a token. Only the minter may call this. */
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

/** Burns a token of the caller's. */
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

/** Approves an account to move a token once, or removes the approval. */
@write
export function approve(to: Option<Account>, tokenId: Bytes): void {
  const item = find(tokenId);
  require(caller() == item.owner, "only the owner may approve");
  item.approved = to.exists ? to.value : new Account();
  items.set(tokenId, item);
  emit(new Approval(item.owner, to, tokenId));
}

/**
 * Moves a token that the caller owns or is approved for. A receiving contract is notified, with the data, and can
 * refuse it.
 */
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

/** Removes a token from its owner's list; the last one takes its place. */
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

/** Appends a token to an account's list, and removes its approval. */
function put(to: Account, id: Bytes, item: Item): void {
  const count = counts.get(to);
  own.set(new Slot(to, count), id);
  counts.set(to, count + 1);
  items.set(id, new Item(to, new Account(), item.amongAll, count));
}

/**
 * Reports a move in an event, and to a receiving contract that asks to be notified, unless it moved the token itself.
 * This is the last action of a call, and the receiver cannot call this contract back meanwhile.
 */
function moved(from: Account, to: Account, id: Bytes, data: Option<Bytes>): void {
  emit(new Transfer(from, to, 1, id));
  if (to == caller()) return;
  // Any contract may receive a token, and every contract accepts JSON.
  const call = new Call(to, "onNEP11Payment").json().account("from", from).u64("amount", 1).bytes("tokenId", id);
  if (data.exists) call.bytes("data", data.value);
  const told = call.trySend();
  const silent = told.status == CallStatus.NoContract || told.status == CallStatus.NoFunction; // or it is a user
  if (!silent) told.check();
}

/** The number of tokens that a list returns from a position on. */
function listed(start: u32, count: u32, length: u32): u32 {
  return min(min(count, MAX_LISTED), start < length ? length - start : 0);
}
