// A contract that misuses the proxy: as its logic, or as an unrelated contract that somebody calls.
import { Account, Bytes, Call, caller } from "@cairn-chain/contract";

/** As a logic: is replaced during its own call, and still writes. */
@write
export function replaced(by: Account, coins: u64, registry: Account): void {
  new Call(registry, "activate").string("name", "savings").send();
  const one = new StaticArray<u8>(1);
  new Call(caller(), "put").bytes("key", one).bytes("data", one).send();
}

/** As a contract that alice calls: takes her savings if it can pass for her. */
@write
export function lure(proxy: Account, amount: u64): void {
  const args = new StaticArray<u8>(8);
  store<u64>(changetype<usize>(args), amount);
  new Call(proxy, "forward").string("method", "withdraw").bytes("args", args).send();
}
