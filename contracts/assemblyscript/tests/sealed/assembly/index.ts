// A flawed contract for the fuzzer to break (kit/contracttest/fuzz): an auction of sealed bids that counts a bid each
// time it is opened. To reach the fault, a search must open a commitment. Never use it as a pattern.
import { Account, balance, Bytes, caller, Cell, Hash, Map, require, self, sha256, value } from "@cairn-chain/contract";

const sealed = new Map<Account, Hash>("sealed");
const sum = new Cell<u64>("opened");

/** The commitment to a bid: SHA-256 of the bidder, the amount and a secret salt. */
function commitment(by: Account, amount: u64, salt: Hash): Hash {
  const message: Bytes = new StaticArray<u8>(72);
  const at = changetype<usize>(message);
  memory.copy(at, changetype<usize>(by), 32);
  store<u64>(at + 32, amount);
  memory.copy(at + 40, changetype<usize>(salt), 32);
  return sha256(message);
}

/** Bids the coins of the call. */
@write
@payable
export function bid(seal: Hash): void {
  require(value() > 0, "a bid needs coins");
  sealed.set(caller(), seal);
}

@write
export function open(amount: u64, salt: Hash): void {
  const by = caller();
  require(sealed.has(by), "there is no bid");
  require(commitment(by, amount, salt) == sealed.get(by), "it is another bid");
  require(amount <= balance(self()), "the bid is not paid for");
  sum.set(sum.get() + amount); // the bid stays, so it can be opened again
}

/** The total of the opened bids. */
@read
export function opened(): u64 {
  return sum.get();
}

/** The contract has the coins of every opened bid. */
@invariant
export function covered(): void {
  require(sum.get() <= balance(self()), "more bids were opened than were paid for");
}
