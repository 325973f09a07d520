// A counter that anyone may raise.
import { Account, caller, Cell, emit, require } from "@cairn-chain/contract";

const count = new Cell<u64>("count");

@event
class Increased {
  constructor(
    public by: Account,
    public amount: u64,
    public count: u64,
  ) {}
}

@init
export function init(start: u64): void {
  count.set(start);
}

/** The current count. */
@read
export function get(): u64 {
  return count.get();
}

/** Adds an amount and returns the new count. */
@write
export function increase(amount: u64): u64 {
  const before = count.get();
  require(amount <= u64.MAX_VALUE - before, "the count overflows");
  count.set(before + amount);
  emit(new Increased(caller(), amount, before + amount));
  return before + amount;
}
