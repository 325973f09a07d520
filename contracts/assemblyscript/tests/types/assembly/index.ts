// Every type of the ABI, storage of every kind, and calls of other contracts, for the tests of the SDK.
import {
  Account, add, Bytes, Call, CallStatus, Cell, debug, emit, fail as failWith, Hash, I128, keccak256, List, Map, mul, mulDiv, Option, require,
  revert, self, sha256, sub, U128,
} from "@cairn-chain/contract";

@read
export function bool_(v: bool): bool {
  return v;
}

@read
export function u8_(v: u8): u8 {
  return v;
}

@read
export function u16_(v: u16): u16 {
  return v;
}

@read
export function i8_(v: i8): i8 {
  return v;
}

@read
export function i16_(v: i16): i16 {
  return v;
}

@read
export function i32_(v: i32): i32 {
  return v;
}

@read
export function u128_(v: U128): U128 {
  return v;
}

@read
export function i128_(v: I128): I128 {
  return v;
}

@bytes(4)
export class Four {}

@read
export function four(v: Four): Four {
  return v;
}

@union
export class State {}

@variant("Open")
export class Opened extends State {}

@variant
export class Sold extends State {
  constructor(
    public to: Account,
    public price: u64,
  ) {
    super();
  }
}

@read
export function state(v: State): State {
  return v;
}

@read
export function states(v: State[]): State[] {
  return v;
}

/** The payment; none if the state is open. */
@read
export function paid(v: State): Option<u64> {
  return v instanceof Sold ? Option.some<u64>((v as Sold).price) : Option.none<u64>();
}

@read
export function u32_(v: u32): u32 {
  return v;
}

@read
export function u64_(v: u64): u64 {
  return v;
}

@read
export function i64_(v: i64): i64 {
  return v;
}

@read
export function string_(v: string): string {
  return v;
}

@read
export function bytes_(v: Bytes): Bytes {
  return v;
}

@read
export function account_(v: Account): Account {
  return v;
}

@read
export function hash_(v: Hash): Hash {
  return v;
}

@read
export function list_(v: Array<Array<u8>>): Array<Array<u8>> {
  return v;
}

@read
export function option_(v: Option<u64>): Option<u64> {
  return v;
}

@read
export function options_(v: Array<Option<string>>): Array<Option<string>> {
  return v;
}

@event
class Everything {
  constructor(
    public flag: bool,
    public low: i64,
    public hash: Hash,
    public late: u64,
    public list: Array<u32>,
  ) {}
}

@write
export function announce(low: i64, hash: Hash): void {
  emit(new Everything(true, low, hash, 7, [1, 2]));
}

@record
class Inner {
  constructor(public data: Bytes) {}
}

@record
class Entry {
  constructor(
    public flag: bool,
    public text: string,
    public count: i64,
    public inner: Inner,
    public hash: Hash,
  ) {}
}

const entries = new Map<string, Entry>("entries");
@storage
const names = new List<string>("names");
@storage
const last = new Cell<Bytes>("last");

@write
export function keep(key: string, text: string, count: i64, data: Bytes, hash: Hash): u32 {
  entries.set(key, new Entry(count < 0, text, count, new Inner(data), hash));
  last.set(data);
  return names.push(key);
}

@read
export function kept(key: string): Array<string> {
  const e = entries.get(key);
  require(e.flag == e.count < 0 && e.hash == sha256(e.inner.data), "the record is not what was kept");
  return [e.text, names.get(names.length - 1)];
}

@write
export function drop(key: string): string {
  require(entries.has(key) && last.exists(), "nothing is kept");
  entries.delete(key);
  last.delete();
  require(!entries.has(key) && !last.exists() && last.get().length == 0, "something is left");
  return names.pop();
}

@write
export function fail(reason: string): void {
  keep("fail", "", 0, new StaticArray<u8>(0), new Hash());
  revert(reason);
}

@write
export function raise(reason: string): void {
  throw new Error(reason);
}

/** Calls another contract of this kind in JSON. */
@write
export function relay(to: Account, text: string): string {
  require(new Call(to, "u64_").json().u64("v", u64.MAX_VALUE).view().u64() == u64.MAX_VALUE, "another number");
  require(new Call(to, "account_").json().account("v", self()).send().account() == self(), "another account");
  require(!new Call(to, "nowhere").trySend().ok, "a function that is not there");
  require(new Call(to, "fail").json().string("reason", "why").trySend().status == CallStatus.Reverted, "another status");
  return new Call(to, "string_").json().string("v", text).send().string();
}

@write
export function relayFailure(to: Account, reason: string): void {
  new Call(to, "fail").string("reason", reason).send();
}

@read
export function misread(to: Account): bool {
  return new Call(to, "u8_").json().u64("v", 1).view().bool();
}

@read
export function keccak(v: Bytes): Hash {
  return keccak256(v);
}

@tuple
export class Pair {
  constructor(
    public number: u64,
    public flag: bool,
  ) {}
}

@record
export class Offer {
  constructor(
    public seller: Account,
    public price: u64,
    public note: Option<string>,
  ) {}
}

export enum Mood {
  Calm,
  Angry,
}

@record
export class Deal {
  constructor(
    public offers: Array<Offer>,
    public mood: Mood,
    public pair: Pair,
    public wide: U128,
  ) {}
}

@read
export function pairs(v: Array<Pair>): Array<Pair> {
  return v;
}

@read
export function offer(v: Offer): Offer {
  return v;
}

@read
export function offers(v: Array<Offer>): Array<Offer> {
  return v;
}

@read
export function mood(v: Mood): Mood {
  return v;
}

@read
export function deal(v: Deal): Deal {
  return v;
}

@event
class Dealt {
  constructor(
    public small: i8,
    public wide: U128,
    public mood: Mood,
    public deal: Deal,
  ) {}
}

@write
export function deals(v: Deal): void {
  emit(new Dealt(-1, v.wide, v.mood, v));
}

@error(2)
class TooLow {
  constructor(
    public have: u64,
    public need: u64,
  ) {}
}

@error(3)
class Closed {
  constructor() {}
}

@write
export function refuse(have: u64, need: u64): void {
  if (have < need) failWith(new TooLow(have, need));
  failWith(new Closed());
}

@write
export function relayRefusal(to: Account, have: u64, need: u64, binary: bool): void {
  const call = new Call(to, "refuse");
  if (!binary) call.json();
  call.u64("have", have).u64("need", need).send();
}

/** Calls another contract of this kind in the binary form. */
@write
export function relayPacked(to: Account, text: string): string {
  require(new Call(to, "u16_").u16("v", 513).view().u16() == 513, "another number");
  require(new Call(to, "bool_").bool("v", true).send().bool(), "another bool");
  const wide = U128.product(u64.MAX_VALUE, u64.MAX_VALUE);
  require(new Call(to, "u128_").u128("v", wide).view().u128() == wide, "another wide number");
  require(new Call(to, "account_").account("v", self()).send().account() == self(), "another account");
  return new Call(to, "string_").string("v", text).send().string();
}

@read
export function arithmetic(kind: string, a: U128, b: U128): U128 {
  if (kind == "+") return a + b;
  if (kind == "-") return a - b;
  if (kind == "*") return a * b;
  if (kind == "/") return a / b;
  return a % b;
}

@read
export function checkedUnsigned(kind: string, a: u64, b: u64): u64 {
  return kind == "+" ? add(a, b) : kind == "-" ? sub(a, b) : mul(a, b);
}

@read
export function checkedSigned(kind: string, a: i64, b: i64): i64 {
  return kind == "+" ? add(a, b) : kind == "-" ? sub(a, b) : mul(a, b);
}

@read
export function checkedSmall(kind: string, a: i8, b: i8): i8 {
  return kind == "+" ? add(a, b) : kind == "-" ? sub(a, b) : mul(a, b);
}

@storage
const supplies = new Map<Account, U128>("supplies");
@storage
const below = new Map<i16, string>("below");
@storage
const wide = new Map<U128, bool>("wide");
@storage
const byText = new Map<string, i64>("byText");

@write
export function describe(small: i16, big: U128, text: string): void {
  below.set(small, text);
  wide.set(big, true);
  byText.set(text, small);
}

@write
export function addSupply(to: Account, amount: U128): U128 {
  supplies.set(to, supplies.get(to) + amount);
  return supplies.get(to);
}

@read
export function signedArithmetic(kind: string, a: I128, b: I128): I128 {
  if (kind == "+") return a + b;
  if (kind == "-") return a - b;
  if (kind == "*") return a * b;
  if (kind == "/") return a / b;
  return a % b;
}

@read
export function wideMulDiv(a: U128, b: U128, c: U128): U128 {
  return U128.mulDiv(a, b, c);
}

@read
export function narrowMulDiv(a: u64, b: u64, c: u64): u64 {
  return mulDiv(a, b, c);
}

/** A record with all types, stored as a whole. */
@record
export class Shelf {
  constructor(
    public deals: Deal[],
    public state: State,
    public four: Four,
    public below: I128,
  ) {}
}

@storage
const shelves = new Map<Four, Shelf>("shelves");
@storage
const states_ = new Cell<State>("state");

@event
class Shelved {
  constructor(
    public below: I128,
    public four: Four,
    public state: State,
  ) {}
}

@write
export function shelve(at: Four, shelf: Shelf): void {
  shelves.set(at, shelf);
  states_.set(shelf.state);
  require(shelf.four == shelves.get(at).four, "other bytes");
  emit(new Shelved(shelf.below, shelf.four, shelf.state));
}

@read
export function shelf(at: Four): Shelf {
  return shelves.get(at);
}

@read
export function lastState(): State {
  return states_.get();
}

/** Requests objects from another contract of this kind, in either form. */
@write
export function relayObjects(to: Account, v: State, binary: bool): State {
  const call = new Call(to, "state");
  if (!binary) call.json();
  return call.object<State>("v", v).view().object<State>();
}

@write
export function say(times: u32): void {
  debug("0123456789".repeat(times));
}

/** A name that is known only at run time. */
@write
export function keepUnder(name: string, value: u64): u64 {
  const cell = new Cell<u64>(name);
  cell.set(value);
  return new Cell<u64>(name).get();
}
