//! What the fuzzer must find (client/contracttest/fuzz): a bank that pays before it notes that it did. Who is called
//! with the coins asks again, and gets what others put in. Never a pattern to follow.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static OWED: Map<Account, u64> = Map::new("owed");
static TOTAL: Cell<u64> = Cell::new("total");

interface! {
    /// A contract that is told of the coins that it gets.
    Receiver {
        write fn received();
    }
}

contract! {
    reentrant;

    invariants {
        /// What is owed is there.
        fn solvent() {
            require(balance(&this()) >= TOTAL.get(), "the bank owes more than it has");
        }
    }

    payable fn deposit() -> u64 {
        let by = caller();
        let owed = OWED.get(&by) + value();
        OWED.set(&by, &owed);
        TOTAL.set(&(TOTAL.get() + value()));
        owed
    }

    write fn withdraw() -> u64 {
        let by = caller();
        let owed = OWED.get(&by);
        require(owed > 0, "nothing to withdraw");
        if code_hash(&by).is_some() {
            Receiver::at(by).with_value(owed).received().or_fail();
        } else {
            pay(&by, owed);
        }
        TOTAL.set(&(TOTAL.get() - OWED.get(&by))); // too late
        OWED.remove(&by);
        owed
    }

    read fn owed(address: Account) -> u64 {
        OWED.get(&address)
    }
}
