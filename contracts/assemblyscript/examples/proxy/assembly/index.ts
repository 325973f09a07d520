// An address that stays while the code behind it is replaced. It holds the coins and the data, and forwards calls to
// its logic: the contract to which a name in a registry points. The logic reads and writes the data here, and stores
// nothing itself. A contract that only needs replaceable code uses `replaceCode`, as the example `coin` does: it keeps
// its address, its storage and the price of a plain call. Use a proxy to separate code and data. The chain cannot run
// another contract's code on a contract's own storage. So the logic requests its data by calling back in the middle of
// `forward`, and this contract is therefore reentrant. For the attacks that it resists see docs/contracts.md, "What the
// examples defend against".
import { Account, Bytes, Call, caller, Cell, codeHash, Map, Option, pay, require, revert, value } from "@cairn-chain/contract";

const names = new Cell<Account>("registry");
const called = new Cell<string>("name");
/** The logic during a call. */
const serving = new Cell<Account>("serving");
const held = new Map<Bytes, Bytes>("data");

/** The first byte of arguments in the binary form (docs/protocol.md, "ABI"). */
const BINARY: u8 = 1;

/** Its export allows calls of the contract while it is on the call stack. */
export function _reentrant(): void {}

/** Neither can be changed: the owner of the registry decides what this contract does. */
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

/** The name of the logic in the registry. */
@read
export function name(): string {
  return called.get();
}

/** The contract to which calls are forwarded. */
@read
export function logic(): Account {
  return new Call(names.get(), "resolve").string("name", called.get()).view().account();
}

/**
 * Calls a function of the logic with the caller, the amount of coins received, which stay here, and the arguments in
 * the binary form without its first byte. It returns the logic's result.
 */
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

/** Like [[forward]], for functions that change nothing. */
@read
export function view(method: string, args: Bytes): Bytes {
  return new Call(logic(), method).raw(told(args)).view().data();
}

/** The value under a key. Everybody may read it, like everything on a chain. */
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

/** Encodes the caller and the coins, which the logic believes the proxy, and then the arguments. */
function told(args: Bytes): Bytes {
  const all = new StaticArray<u8>(41 + args.length);
  const at = changetype<usize>(all);
  store<u8>(at, BINARY);
  memory.copy(at + 1, changetype<usize>(caller()), 32);
  store<u64>(at + 33, value());
  memory.copy(at + 41, changetype<usize>(args), args.length);
  return all;
}

/** Only the logic of the running call may change anything here, even if the name now points to another contract. */
function onlyLogic(): void {
  require(serving.exists() && serving.get() == caller(), "only the logic may, and only in a call");
}
