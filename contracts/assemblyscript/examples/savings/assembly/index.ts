// The logic of a savings account behind a proxy. It holds no data and no coins, so another version can replace it while
// everybody's savings stay. It shows the interface to a proxy; for a contract that may change its own code,
// `replaceCode` is simpler (example `coin`). The first parameters of each function come from the proxy: the caller, and
// the coins received.
import { Account, add, Bytes, Call, caller, Cell, require } from "@cairn-chain/contract";

/** The proxy, the only contract that may call this one. */
const worksFor = new Cell<Account>("proxy");

@init
export function init(proxy: Account): void {
  worksFor.set(proxy);
}

/** Saves the received coins. Returns the caller's savings. */
@write
export function deposit(by: Account, coins: u64): u64 {
  onlyProxy();
  require(coins > 0, "no coins came");
  const total = add<u64>(saved(by), coins);
  save(by, total);
  return total;
}

/** Pays savings to the caller. */
@write
export function withdraw(by: Account, coins: u64, amount: u64): u64 {
  onlyProxy();
  require(coins == 0, "the function takes no coins");
  const had = saved(by);
  require(had >= amount, "less is saved");
  save(by, had - amount); // recorded before the payment
  new Call(worksFor.get(), "send").account("to", by).u64("amount", amount).send();
  return had - amount;
}

/** The savings of an account. */
@read
export function savings(by: Account, coins: u64, owner: Account): u64 {
  onlyProxy();
  return saved(owner);
}

/** Any other caller could pretend to be somebody else. */
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
