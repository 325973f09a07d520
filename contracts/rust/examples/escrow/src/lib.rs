//! Coins that wait for a buyer and a seller to agree, or for an arbiter to decide.
//!
//! The buyer deploys and funds it. The seller gets the coins when the buyer or the arbiter releases them; the buyer gets
//! them back when the seller or the arbiter says so, or after the deadline.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

record! {
    pub struct Terms { buyer: Account, seller: Account, arbiter: Account, deadline: u64 }
}

static TERMS: Cell<Terms> = Cell::new("terms");

contract! {
    events {
        Funded { by: Account, amount: u64 }
        Released { to: Account, amount: u64 }
        Refunded { to: Account, amount: u64 }
    }

    /// Sets the terms; the deadline is in Unix seconds.
    init fn init(seller: Account, arbiter: Account, deadline: u64) {
        require(deadline > block_time(), "the deadline is over");
        TERMS.set(&Terms { buyer: caller(), seller, arbiter, deadline });
    }

    read fn seller() -> Account {
        terms().seller
    }

    read fn deadline() -> u64 {
        terms().deadline
    }

    /// The coins that wait.
    read fn held() -> u64 {
        balance(&this())
    }

    payable fn fund() {
        require(value() > 0, "no coins");
        Funded { by: caller(), amount: value() }.emit();
    }

    write fn release() {
        let terms = terms();
        let by = caller();
        require(by == terms.buyer || by == terms.arbiter, "only the buyer and the arbiter may release");
        let (to, amount) = (terms.seller, pay_all(&terms.seller));
        Released { to, amount }.emit();
    }

    write fn refund() {
        let terms = terms();
        let by = caller();
        let late = by == terms.buyer && block_time() >= terms.deadline;
        require(late || by == terms.seller || by == terms.arbiter, "the deadline is not over");
        let (to, amount) = (terms.buyer, pay_all(&terms.buyer));
        Refunded { to, amount }.emit();
    }
}

fn terms() -> Terms {
    TERMS.find().or_revert("no terms")
}

fn pay_all(to: &Account) -> u64 {
    let amount = balance(&this());
    require(amount > 0, "no coins");
    pay(to, amount);
    amount
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::args;
    use cairn::testing::{account, Chain};
    use cairn::Account;

    fn funded() -> (Chain, Account) {
        let chain = Chain::new();
        let buyer = account("buyer");
        chain.fund(buyer, 100);
        let terms = args! { seller: account("seller"), arbiter: account("arbiter"), deadline: 1_700_000_060u64 };
        let escrow = chain.deploy(buyer, CONTRACT, &terms, 0).unwrap();
        chain.call(buyer, escrow, "fund", "", 70).unwrap();
        assert_eq!(chain.view(escrow, "held", "").unwrap(), "70");
        (chain, escrow)
    }

    #[test]
    fn releases() {
        let (chain, escrow) = funded();
        let refused = chain.call(account("seller"), escrow, "release", "", 0).unwrap_err();
        assert_eq!(refused, "only the buyer and the arbiter may release");
        chain.call(account("buyer"), escrow, "release", "", 0).unwrap();
        assert_eq!((chain.balance(account("seller")), chain.balance(escrow)), (70, 0));
        assert_eq!(chain.call(account("buyer"), escrow, "release", "", 0).unwrap_err(), "no coins");
    }

    #[test]
    fn refunds_after_the_deadline() {
        let (chain, escrow) = funded();
        let buyer = account("buyer");
        assert_eq!(chain.call(buyer, escrow, "refund", "", 0).unwrap_err(), "the deadline is not over");
        chain.advance(1, 60);
        chain.call(buyer, escrow, "refund", "", 0).unwrap();
        assert_eq!(chain.balance(buyer), 100);
    }

    #[test]
    fn takes_coins_only_where_it_says_so() {
        let (chain, escrow) = funded();
        let refused = chain.call(account("buyer"), escrow, "release", "", 1).unwrap_err();
        assert_eq!(refused, "the function takes no coins");
    }
}
