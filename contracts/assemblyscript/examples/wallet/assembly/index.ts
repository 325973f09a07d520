// A wallet with session keys: an account that its owner lets other accounts use, each until a time and within limits on
// coins, tokens and callable functions. A session is an ordinary account, such as a key in a browser whose fees another
// account pays. Spending is counted before it happens, and the arguments of token transfers are read, so a session
// cannot exceed its limits.
import {
  Account, blockTime, Bytes, Call, caller, Cell, emit, Map, Option, pay, require, self,
} from "@cairn-chain/contract";

@storage
const ownedBy = new Cell<Account>("owner");
/** The number of sessions so far. It separates the permissions of each session from those of earlier ones. */
@storage
const newest = new Cell<u64>("number");
@storage
const sessions = new Map<Account, Session>("session");
@storage
const tokenLimits = new Map<OfToken, u64>("tokens");
@storage
const functions = new Map<OfFunction, bool>("rights");

const MAX_ITEMS = 32; // tokens, and functions, of a session
const MAX_STEPS = 16;
/** The first byte of arguments in the binary form (docs/protocol.md, "ABI"). */
const BINARY: u8 = 1;

/** The amount of a token that a session may transfer. */
@record
export class Limit {
  constructor(
    public token: Account,
    public amount: u64,
  ) {}
}

/** A function of a contract that a session may call. */
@record
export class Right {
  constructor(
    public contract: Account,
    public method: string,
  ) {}
}

/**
 * A call with coins, or a payment of coins if there is no method. The arguments are in the binary form without its
 * first byte.
 */
@record
export class Step {
  constructor(
    public to: Account,
    public method: string,
    public args: Bytes,
    public value: u64,
  ) {}
}

/** A session: the time of its end in Unix seconds, and the coins that it may still spend. */
@record
export class Session {
  constructor(
    public number: u64,
    public until: u64,
    public coins: u64,
  ) {}
}

@record
export class OfToken {
  constructor(
    public number: u64,
    public token: Account,
  ) {}
}

@record
export class OfFunction {
  constructor(
    public number: u64,
    public contract: Account,
    public method: string,
  ) {}
}

@event
class Allowed {
  constructor(
    public session: Account,
    public until: u64,
    public coins: u64,
  ) {}
}

@event
class Revoked {
  constructor(public session: Account) {}
}

@event
class Ran {
  constructor(
    public by: Account,
    public steps: u32,
  ) {}
}

@event
class OwnerSet {
  constructor(public owner: Account) {}
}

@init
export function init(owner: Account): void {
  handOver(owner);
}

@read
export function owner(): Account {
  return ownedBy.get();
}

/** A session that has not ended. */
@read
export function session(account: Account): Option<Session> {
  if (!sessions.has(account)) return Option.none<Session>();
  const found = sessions.get(account);
  return blockTime() <= found.until ? Option.some<Session>(found) : Option.none<Session>();
}

/** The amount of a token that a session may still transfer. */
@read
export function tokensLeft(account: Account, token: Account): u64 {
  return sessions.has(account) ? tokenLimits.get(new OfToken(sessions.get(account).number, token)) : 0;
}

/** Accepts coins. Coins sent to the account without a call can be spent too. */
@write
@payable
export function deposit(): void {}

/**
 * Lets an account act until a time, within the given coins, tokens and functions. This replaces all earlier permissions
 * of the account.
 */
@write
export function allow(session: Account, until: u64, coins: u64, tokens: Limit[], rights: Right[]): void {
  onlyOwner();
  require(until >= blockTime(), "the time has passed");
  require(session != self(), "the wallet is no session");
  require(tokens.length <= MAX_ITEMS && rights.length <= MAX_ITEMS, "at most 32 tokens and 32 functions");
  const number = newest.get() + 1;
  newest.set(number);
  sessions.set(session, new Session(number, until, coins));
  for (let i = 0; i < tokens.length; i++) {
    const key = new OfToken(number, tokens[i].token);
    require(!tokenLimits.has(key), "a token stands there twice");
    tokenLimits.set(key, tokens[i].amount);
  }
  for (let i = 0; i < rights.length; i++) {
    const right = rights[i];
    require(right.method.length > 0, "a function has a name");
    require(right.contract != self(), "a session may not call the wallet");
    require(!isOfTokens(right.method), "tokens have limits, not functions");
    functions.set(new OfFunction(number, right.contract, right.method), true);
  }
  emit(new Allowed(session, until, coins));
}

/** Ends a session. */
@write
export function revoke(session: Account): void {
  onlyOwner();
  require(sessions.has(session), "there is no such session");
  sessions.delete(session);
  emit(new Revoked(session));
}

/** Executes all steps of payments and calls, or none. The owner has no limits; a session stays within its own. */
@write
export function run(steps: Step[]): void {
  require(steps.length > 0 && steps.length <= MAX_STEPS, "a run has 1 to 16 steps");
  const by = caller();
  if (by != ownedBy.get()) spend(by, steps);
  for (let i = 0; i < steps.length; i++) take(steps[i]);
  emit(new Ran(by, steps.length));
}

/** Gives the wallet to a new owner. Sessions stay as they are. */
@write
export function setOwner(owner: Account): void {
  onlyOwner();
  handOver(owner);
}

function onlyOwner(): void {
  require(caller() == ownedBy.get(), "only the owner may");
}

function handOver(owner: Account): void {
  require(!owner.isZero(), "the zero account owns nothing");
  ownedBy.set(owner);
  emit(new OwnerSet(owner));
}

/** Whether a function moves tokens or lets others move them. A session may only call the transfer, within its limit. */
function isOfTokens(method: string): bool {
  return method == "transfer" || method == "approve" || method == "transferFrom" || method == "burn";
}

/** Counts the spending of all steps of a session, before any of them is executed. */
function spend(by: Account, steps: Step[]): void {
  require(sessions.has(by), "the caller is no session");
  const session = sessions.get(by);
  require(blockTime() <= session.until, "the session has ended");
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i];
    require(step.value <= session.coins, "more coins than the session has left");
    session.coins -= step.value;
    if (step.method.length == 0) {
      require(step.args.length == 0, "a payment has no arguments");
    } else if (isOfTokens(step.method)) {
      spendTokens(session.number, step);
    } else {
      require(functions.get(new OfFunction(session.number, step.to, step.method)), "the session may not call this function");
    }
  }
  sessions.set(by, session);
}

/** Counts a transfer of tokens: to[32] ‖ amount u64. */
function spendTokens(number: u64, step: Step): void {
  require(step.method == "transfer", "a session transfers tokens, and does nothing else with them");
  require(step.args.length == 40, "a transfer has an account and an amount");
  const amount = load<u64>(changetype<usize>(step.args), 32);
  const key = new OfToken(number, step.to);
  const left = tokenLimits.get(key);
  require(amount <= left, "more tokens than the session has left");
  tokenLimits.set(key, left - amount);
}

/** Executes a step, whose spending was counted before. */
function take(step: Step): void {
  if (step.method.length == 0) {
    pay(step.to, step.value);
    return;
  }
  const args = new StaticArray<u8>(1 + step.args.length);
  args[0] = BINARY;
  memory.copy(changetype<usize>(args) + 1, changetype<usize>(step.args), step.args.length);
  new Call(step.to, step.method).raw(args).value(step.value).send();
}
