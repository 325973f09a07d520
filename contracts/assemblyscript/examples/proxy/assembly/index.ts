// An address that stays while the code behind it is replaced. It has the coins and the data, and forwards calls to the
// contract that a name of a registry stands for: its logic, which reads and writes the data here, and keeps nothing itself.
// A contract that only wants to be mended uses `replaceCode`, as the example `coin` does: it keeps its address, its storage
// and the price of a plain call. A proxy is for who wants the code and the data apart.
// The chain has no way to run another contract's code on one's own storage, so the logic asks for what it needs, by calls
// back in the middle of `forward`: that is why this contract is reentrant.
// What it defends against is in docs/contracts.md, "What the examples defend against".
import { Account, Bytes, Call, caller, Cell, codeHash, Map, Option, pay, require, revert, value } from "@cairn-chain/contract";

const names = new Cell<Account>("registry");
const called = new Cell<string>("name");
/** The logic, from the beginning of a call to its end. */
const serving = new Cell<Account>("serving");
const held = new Map<Bytes, Bytes>("data");

/** The first byte of arguments in the binary form (docs/protocol.md, "ABI"). */
const BINARY: u8 = 1;

/** Lets the contract be called while it is on the call stack. */
export function _reentrant(): void {}

/** Both are for good: who owns the registry decides what this contract does. */
@init
export function init(registry: Account, name: string): void {
  if (!codeHash(registry)) revert("there is no such registry");
  names.set(registry);
  called.set(name);
}

@read
export function registry(): Account {
  return names.get();
}

/** What the logic is called in the registry. */
@read
export function name(): string {
  return called.get();
}

/** The contract that calls are forwarded to. */
@read
export function logic(): Account {
  return new Call(names.get(), "resolve").string("name", called.get()).view().account();
}

/** Calls a function of the logic: with the caller, the coins that came, which stay here, and the arguments that are
 * given in the binary form without its first byte. Gives what the logic gave. */
@write
@payable
export function forward(method: string, args: Bytes): Bytes {
  require(!serving.exists(), "a call is under way");
  const to = logic();
  serving.set(to);
  const result = new Call(to, method).raw(told(args)).send();
  serving.delete();
  return result.data();
}

/** Like [[forward]] for functions that change nothing. */
@read
export function view(method: string, args: Bytes): Bytes {
  return new Call(logic(), method).raw(told(args)).view().data();
}

/** What is held under a key. Everybody may read it, like everything on a chain. */
@read
export function get(key: Bytes): Option<Bytes> {
  return held.has(key) ? Option.some<Bytes>(held.get(key)) : Option.none<Bytes>();
}

@write
export function put(key: Bytes, data: Bytes): void {
  onlyLogic();
  held.set(key, data);
}

@write
export function remove(key: Bytes): void {
  onlyLogic();
  held.delete(key);
}

/** Pays coins out. */
@write
export function send(to: Account, amount: u64): void {
  onlyLogic();
  pay(to, amount);
}

/** Arguments behind those that the logic takes the proxy's word for. */
function told(args: Bytes): Bytes {
  const all = new StaticArray<u8>(41 + args.length);
  const at = changetype<usize>(all);
  store<u8>(at, BINARY);
  memory.copy(at + 1, changetype<usize>(caller()), 32);
  store<u64>(at + 33, value());
  memory.copy(at + 41, changetype<usize>(args), args.length);
  return all;
}

/** Only the logic of the call that is under way may change anything here, whatever the name stands for meanwhile. */
function onlyLogic(): void {
  require(serving.exists() && serving.get() == caller(), "only the logic may, and only in a call");
}
