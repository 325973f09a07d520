// The logic behind a proxy: coins that people put aside. It holds no data and no coins, so another version can take its
// place while everybody's savings stay where they are.
// It shows what a proxy takes; where a contract may change its own code, `replaceCode` is simpler (example `coin`).
// Each function begins with what the proxy tells: who calls, and the coins that came.
import { Account, add, Bytes, Call, caller, Cell, require } from "@cairn-chain/contract";

/** The only contract that this one works for. */
const worksFor = new Cell<Account>("proxy");

@init
export function init(proxy: Account): void {
  worksFor.set(proxy);
}

/** Puts the coins that came aside. Gives what the caller has saved. */
@write
export function deposit(by: Account, coins: u64): u64 {
  onlyProxy();
  require(coins > 0, "no coins came");
  const total = add<u64>(saved(by), coins);
  save(by, total);
  return total;
}

/** Pays the caller. */
@write
export function withdraw(by: Account, coins: u64, amount: u64): u64 {
  onlyProxy();
  require(coins == 0, "the function takes no coins");
  const had = saved(by);
  require(had >= amount, "less is saved");
  save(by, had - amount); // before the payment
  new Call(worksFor.get(), "send").account("to", by).u64("amount", amount).send();
  return had - amount;
}

/** What an account has saved. */
@read
export function savings(by: Account, coins: u64, owner: Account): u64 {
  onlyProxy();
  return saved(owner);
}

/** Anybody else could say that he is whoever he likes. */
function onlyProxy(): void {
  require(caller() == worksFor.get(), "only by the proxy");
}

function key(owner: Account): Bytes {
  const key = new StaticArray<u8>(38);
  const at = changetype<usize>(key);
  memory.copy(at, memory.data<u8>([115, 97, 118, 101, 100, 32]), 6); // "saved "
  memory.copy(at + 6, changetype<usize>(owner), 32);
  return key;
}

function saved(owner: Account): u64 {
  const found = new Call(worksFor.get(), "get").bytes("key", key(owner)).view().unpack();
  if (!found.bool()) return 0;
  const data = found.bytes();
  require(data.length == 8, "another version wrote this");
  return load<u64>(changetype<usize>(data));
}

function save(owner: Account, total: u64): void {
  const data = new StaticArray<u8>(8);
  store<u64>(changetype<usize>(data), total);
  new Call(worksFor.get(), "put").bytes("key", key(owner)).bytes("data", data).send();
}
