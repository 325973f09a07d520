// Coins held between a buyer and a seller: the buyer releases them, the seller returns them, or an arbiter decides.
// From the deadline on, the buyer may take them back. For the attacks that it resists see docs/contracts.md, "What the
// examples defend against".
import { Account, blockTime, caller, emit, List, pay, require, self, value } from "@cairn-chain/contract";

const deals = new List<Deal>("deals");

@record
class Deal {
  constructor(
    public buyer: Account,
    public seller: Account,
    public arbiter: Account,
    /** The coins held, in smallest units; 0 once they are paid out. */
    public amount: u64,
    /** Unix seconds. */
    public deadline: u64,
  ) {}
}

@event
class Opened {
  constructor(
    public deal: u32,
    public buyer: Account,
    public seller: Account,
    public amount: u64,
  ) {}
}

@event
class Closed {
  constructor(
    public deal: u32,
    public to: Account,
    public amount: u64,
  ) {}
}

/** Opens a deal that holds the coins of the call, and returns the deal's number. */
@write
@payable
export function open(seller: Account, arbiter: Account, deadline: u64): u32 {
  const buyer = caller();
  require(value() > 0, "a deal needs coins");
  require(deadline > blockTime(), "the deadline is in the past");
  require(!seller.isZero() && !arbiter.isZero(), "nobody has the zero account");
  const three = buyer != seller && buyer != arbiter && seller != arbiter;
  require(three && seller != self(), "a deal is between three");
  const number = deals.push(new Deal(buyer, seller, arbiter, value(), deadline));
  emit(new Opened(number, buyer, seller, value()));
  return number;
}

/** The coins that a deal holds; 0 once it is closed. */
@read
export function held(deal: u32): u64 {
  return deals.get(deal).amount;
}

/** The accounts of a deal: buyer, seller, arbiter. */
@read
export function parties(deal: u32): Account[] {
  const d = deals.get(deal);
  return [d.buyer, d.seller, d.arbiter];
}

/** The time from which the buyer may take the coins back. */
@read
export function deadline(deal: u32): u64 {
  return deals.get(deal).deadline;
}

/** Pays the seller. The buyer and the arbiter may call this. */
@write
export function release(deal: u32): void {
  const d = deals.get(deal);
  require(caller() == d.buyer || caller() == d.arbiter, "only the buyer and the arbiter may release");
  close(deal, d, d.seller);
}

/** Pays the buyer back. The seller and the arbiter may call this and, from the deadline on, the buyer. */
@write
export function refund(deal: u32): void {
  const d = deals.get(deal);
  const late = caller() == d.buyer && blockTime() >= d.deadline;
  require(late || caller() == d.seller || caller() == d.arbiter, "only the seller and the arbiter may refund before the deadline");
  close(deal, d, d.buyer);
}

/**
 * A deal is paid out once, from its own coins. Coins of other deals, or sent here outside of any deal, stay untouched.
 */
function close(number: u32, deal: Deal, to: Account): void {
  const amount = deal.amount;
  require(amount > 0, "the deal is closed");
  deal.amount = 0;
  deals.set(number, deal);
  pay(to, amount);
  emit(new Closed(number, to, amount));
}
