//! A flawed contract for the fuzzer to break (kit/contracttest/fuzz): an auction of sealed bids that counts a bid each
//! time it is opened. To reach the fault, a search must open a commitment. Never use it as a pattern.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static SEALED: Map<Account, Hash> = Map::new("sealed");
static OPENED: Cell<u64> = Cell::new("opened");

/// The commitment to a bid: SHA-256 of the bidder, the amount and a secret salt.
fn commitment(by: Account, amount: u64, salt: Hash) -> Hash {
    let mut message = [0; 72];
    message[..32].copy_from_slice(by.0);
    message[32..40].copy_from_slice(&amount.to_le_bytes());
    message[40..].copy_from_slice(salt.0);
    sha256(&message)
}

contract! {
    invariants {
        /// The contract has the coins of every opened bid.
        fn covered() {
            require(OPENED.get() <= balance(&this()), "more bids were opened than were paid for");
        }
    }

    /// Bids the coins of the call.
    payable fn bid(seal: Hash) {
        require(value() > 0, "a bid needs coins");
        SEALED.set(&caller(), &seal);
    }

    write fn open(amount: u64, salt: Hash) {
        let by = caller();
        let seal = SEALED.find(&by).or_revert("there is no bid");
        require(commitment(by, amount, salt) == seal, "it is another bid");
        require(amount <= balance(&this()), "the bid is not paid for");
        OPENED.set(&(OPENED.get() + amount)); // the bid stays, so it can be opened again
    }

    /// The total of the opened bids.
    read fn opened() -> u64 {
        OPENED.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn::testing::fuzz;

    #[test]
    fn the_fuzzer_opens_its_commitments() {
        for seed in 1..=5 {
            let config = fuzz::Config { seed, calls: 100_000, ..fuzz::Config::default() };
            let failure = fuzz::search(&config, &|w| {
                let alice = w.actor("alice");
                w.actor("bob");
                let sealed = w.deploy("sealed", alice, CONTRACT, "", 0);
                w.target(sealed, &[]);
            });
            let failure = failure.expect("a bid that is opened twice");
            println!("{:?}", failure);
            assert_eq!(failure.invariant, "covered", "{:?}", failure);
        }
    }
}
