//! Coins held between a buyer and a seller: the buyer releases them, the seller returns them, or an arbiter decides.
//! From the deadline on, the buyer may take them back.
//!
//! For the attacks that it resists see docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

record! {
    /// The amount is in smallest units, 0 once it is paid out; the deadline in Unix seconds.
    pub struct Deal { buyer: Account, seller: Account, arbiter: Account, amount: u64, deadline: u64 }
}

static DEALS: List<Deal> = List::new("deals");

contract! {
    events {
        Opened { deal: u32, buyer: Account, seller: Account, amount: u64 }
        Closed { deal: u32, to: Account, amount: u64 }
    }

    /// Opens a deal that holds the coins of the call, and returns the deal's number.
    payable fn open(seller: Account, arbiter: Account, deadline: u64) -> u32 {
        let (buyer, amount) = (caller(), value());
        require(amount > 0, "a deal needs coins");
        require(deadline > block_time(), "the deadline is in the past");
        require(seller != Account::ZERO && arbiter != Account::ZERO, "nobody has the zero account");
        let three = buyer != seller && buyer != arbiter && seller != arbiter;
        require(three && seller != this(), "a deal is between three");
        let deal = DEALS.push(&Deal { buyer, seller, arbiter, amount, deadline });
        Opened { deal, buyer, seller, amount }.emit();
        deal
    }

    /// The coins that a deal holds; 0 once it is closed.
    read fn held(deal: u32) -> u64 {
        find(deal).amount
    }

    /// The accounts of a deal: buyer, seller, arbiter.
    read fn parties(deal: u32) -> &'static [Account] {
        let d = find(deal);
        list(3, |i| [d.buyer, d.seller, d.arbiter][i])
    }

    /// The time from which the buyer may take the coins back.
    read fn deadline(deal: u32) -> u64 {
        find(deal).deadline
    }

    /// Pays the seller. The buyer and the arbiter may call this.
    write fn release(deal: u32) {
        let d = find(deal);
        let by = caller();
        require(by == d.buyer || by == d.arbiter, "only the buyer and the arbiter may release");
        close(deal, d, d.seller);
    }

    /// Pays the buyer back. The seller and the arbiter may call this and, from the deadline on, the buyer.
    write fn refund(deal: u32) {
        let d = find(deal);
        let by = caller();
        let late = by == d.buyer && block_time() >= d.deadline;
        let may = late || by == d.seller || by == d.arbiter;
        require(may, "only the seller and the arbiter may refund before the deadline");
        close(deal, d, d.buyer);
    }
}

fn find(deal: u32) -> Deal {
    DEALS.get(deal).or_revert("the list has no such item")
}

/// A deal is paid out once, from its own coins. Coins of other deals, or sent here outside of any deal, stay untouched.
fn close(deal: u32, d: Deal, to: Account) {
    let amount = d.amount;
    require(amount > 0, "the deal is closed");
    DEALS.set(deal, &Deal { amount: 0, ..d });
    pay(&to, amount);
    Closed { deal, to, amount }.emit();
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::args;
    use cairn::testing::{account, Chain};
    use cairn::Account;

    const NOW: u64 = 1_700_000_000;

    struct Escrow(Chain, Account);

    impl Escrow {
        /// Two deals of 70 and 30 coins whose deadline is in a minute. The buyer has no other coins.
        fn new() -> Self {
            let chain = Chain::new();
            chain.fund(account("buyer"), 100);
            let id = chain.deploy(account("anyone"), CONTRACT, "", 0).unwrap();
            let escrow = Escrow(chain, id);
            assert_eq!(escrow.open("seller", "arbiter", NOW + 60, 70).unwrap(), "0");
            assert_eq!(escrow.open("seller", "arbiter", NOW + 60, 30).unwrap(), "1");
            escrow
        }
        fn open(&self, seller: &str, arbiter: &str, deadline: u64, coins: u64) -> Result<String, String> {
            let of = |name| if name == "zero" { Account::ZERO } else { account(name) };
            let terms = args! { seller: of(seller), arbiter: of(arbiter), deadline: deadline };
            self.0.call(account("buyer"), self.1, "open", &terms, coins)
        }
        fn call(&self, from: &str, function: &str, deal: u32) -> Result<String, String> {
            self.0.call(account(from), self.1, function, &args! { deal: deal }, 0)
        }
        fn coins(&self) -> [u64; 3] {
            [account("buyer"), account("seller"), self.1].map(|of| self.0.balance(of))
        }
    }

    #[test]
    fn the_buyer_and_the_arbiter_release() {
        let e = Escrow::new();
        for by in ["seller", "anyone"] {
            assert_eq!(e.call(by, "release", 0).unwrap_err(), "only the buyer and the arbiter may release");
        }
        e.call("buyer", "release", 0).unwrap();
        assert_eq!(e.coins(), [0, 70, 30]);
        e.call("arbiter", "release", 1).unwrap();
        assert_eq!(e.coins(), [0, 100, 0]);
    }

    #[test]
    fn a_deal_is_paid_once_and_of_its_own_coins() {
        let e = Escrow::new();
        e.0.fund(e.1, 1_000); // sent here outside of any deal
        e.call("seller", "refund", 0).unwrap();
        assert_eq!(e.coins(), [70, 0, 1_030]);
        for function in ["refund", "release"] {
            assert_eq!(e.call("arbiter", function, 0).unwrap_err(), "the deal is closed");
        }
        assert_eq!(e.0.view(e.1, "held", &args! { deal: 0u32 }).unwrap(), "0");
        assert_eq!(e.0.view(e.1, "held", &args! { deal: 1u32 }).unwrap(), "30");
    }

    #[test]
    fn the_buyer_takes_them_back_from_the_deadline_on() {
        let e = Escrow::new();
        assert_eq!(e.0.view(e.1, "deadline", &args! { deal: 0u32 }).unwrap(), (NOW + 60).to_string());
        let early = "only the seller and the arbiter may refund before the deadline";
        e.0.advance(1, 59);
        assert_eq!(e.call("buyer", "refund", 0).unwrap_err(), early);
        e.0.advance(1, 1);
        assert_eq!(e.call("anyone", "refund", 0).unwrap_err(), early);
        e.call("buyer", "refund", 0).unwrap();
        assert_eq!(e.coins(), [70, 0, 30]);
    }

    #[test]
    fn refuses_what_is_no_deal() {
        let e = Escrow::new();
        e.0.fund(account("buyer"), 10);
        for (seller, arbiter, deadline, coins, reason) in [
            ("seller", "arbiter", NOW + 1, 0, "a deal needs coins"),
            ("seller", "arbiter", NOW, 1, "the deadline is in the past"),
            ("zero", "arbiter", NOW + 1, 1, "nobody has the zero account"),
            ("seller", "zero", NOW + 1, 1, "nobody has the zero account"),
            ("seller", "buyer", NOW + 1, 1, "a deal is between three"),
            ("seller", "seller", NOW + 1, 1, "a deal is between three"),
            ("buyer", "arbiter", NOW + 1, 1, "a deal is between three"),
        ] {
            assert_eq!(e.open(seller, arbiter, deadline, coins).unwrap_err(), reason);
        }
        // With the escrow itself as the seller, the arbiter's release would lock the coins in for good.
        let with_itself = args! { seller: e.1, arbiter: account("arbiter"), deadline: NOW + 1 };
        let opened = e.0.call(account("buyer"), e.1, "open", &with_itself, 1);
        assert_eq!(opened.unwrap_err(), "a deal is between three");
        assert_eq!(e.call("buyer", "release", 2).unwrap_err(), "the list has no such item");
        let paid = e.0.call(account("buyer"), e.1, "release", &args! { deal: 0u32 }, 1);
        assert_eq!(paid.unwrap_err(), "the function takes no coins");
        assert_eq!(e.coins(), [10, 0, 100]);
    }
}
