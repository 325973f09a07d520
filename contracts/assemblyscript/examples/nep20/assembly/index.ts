// The reference token for NEP-20 (docs/protocol.md, "Conventions above consensus").
import { Account, caller, Cell, emit, Map, require } from "@cairn-chain/contract";

const tokenName = new Cell<string>("name");
const tokenSymbol = new Cell<string>("symbol");
const tokenDecimals = new Cell<u32>("decimals");
const supply = new Cell<u64>("supply");
const owner = new Cell<Account>("owner");
const balances = new Map<Account, u64>("balance");
/** By owner and spender. */
const allowances = new Map<Pair, u64>("allowance");

@record
class Pair {
  constructor(
    public owner: Account,
    public spender: Account,
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
class Approval {
  constructor(
    public owner: Account,
    public spender: Account,
    public amount: u64,
  ) {}
}

/** Mints the initial supply to the deployer, who is the owner. */
@init
export function init(name: string, symbol: string, decimals: u32, initialSupply: u64): void {
  tokenName.set(name);
  tokenSymbol.set(symbol);
  tokenDecimals.set(decimals);
  owner.set(caller());
  create(caller(), initialSupply);
}

@read
export function name(): string {
  return tokenName.get();
}

@read
export function symbol(): string {
  return tokenSymbol.get();
}

@read
export function decimals(): u32 {
  return tokenDecimals.get();
}

@read
export function totalSupply(): u64 {
  return supply.get();
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

/** Replaces the allowance; it does not add. */
@write
export function approve(spender: Account, amount: u64): bool {
  const from = caller();
  setAllowance(new Pair(from, spender), amount);
  emit(new Approval(from, spender, amount));
  return true;
}

/** An owner who calls this needs an allowance too. */
@write
export function transferFrom(from: Account, to: Account, amount: u64): bool {
  // With an amount of 0, anyone could fill an owner's history with transfers that the owner never made.
  require(amount > 0, "nothing to move");
  const pair = new Pair(from, caller());
  const allowed = allowances.get(pair);
  require(allowed >= amount, "allowance is too low");
  setAllowance(pair, allowed - amount);
  move(from, to, amount);
  return true;
}

/** Mints tokens. Only the owner may call this. */
@write
export function mint(to: Account, amount: u64): bool {
  require(caller() == owner.get(), "only the owner may mint");
  create(to, amount);
  return true;
}

/** Burns tokens of the caller. */
@write
export function burn(amount: u64): bool {
  const from = caller();
  take(from, amount);
  supply.set(supply.get() - amount);
  emit(new Transfer(from, new Account(), amount));
  return true;
}

function create(to: Account, amount: u64): void {
  require(!to.isZero(), "the zero account cannot receive");
  const before = supply.get();
  require(amount <= u64.MAX_VALUE - before, "the supply overflows");
  supply.set(before + amount);
  give(to, amount);
  emit(new Transfer(new Account(), to, amount));
}

function move(from: Account, to: Account, amount: u64): void {
  require(!to.isZero(), "the zero account cannot receive");
  take(from, amount);
  give(to, amount);
  emit(new Transfer(from, to, amount));
}

function take(from: Account, amount: u64): void {
  const before = balances.get(from);
  require(before >= amount, "balance is too low");
  setBalance(from, before - amount);
}

/** No balance is above the supply, so the sum fits. */
function give(to: Account, amount: u64): void {
  if (amount > 0) setBalance(to, balances.get(to) + amount);
}

/** Nothing is stored for a balance of 0. */
function setBalance(holder: Account, amount: u64): void {
  if (amount > 0) balances.set(holder, amount);
  else balances.delete(holder);
}

/** Nothing is stored for an allowance of 0. */
function setAllowance(pair: Pair, amount: u64): void {
  if (amount > 0) allowances.set(pair, amount);
  else allowances.delete(pair);
}
