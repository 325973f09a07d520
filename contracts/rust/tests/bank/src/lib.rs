//! A flawed contract for the fuzzer to break (kit/contracttest/fuzz): a bank that pays before it records the payment. A
//! contract that receives the coins can withdraw again, and gets the deposits of others. Never use it as a pattern.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static OWED: Map<Account, u64> = Map::new("owed");
static TOTAL: Cell<u64> = Cell::new("total");

interface! {
    /// A contract that is notified of the coins that it receives.
    Receiver {
        write fn received();
    }
}

contract! {
    reentrant;

    invariants {
        /// The bank has the coins that it owes.
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
        TOTAL.set(&(TOTAL.get() - OWED.get(&by))); // too late: the payment comes before
        OWED.remove(&by);
        owed
    }

    read fn owed(address: Account) -> u64 {
        OWED.get(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn::testing::fuzz;

    fn setup(w: &mut fuzz::World) {
        let (alice, bob) = (w.actor("alice"), w.actor("bob"));
        let bank = w.deploy("bank", alice, CONTRACT, "", 0);
        w.chain.call(bob, bank, "deposit", "", 1_000).unwrap();
        w.target(bank, &[]);
        w.adversary("mallory", &[("received", "")]);
    }

    #[test]
    fn the_fuzzer_finds_who_comes_back() {
        for seed in 1..=5 {
            let config = fuzz::Config { seed, calls: 100_000, ..fuzz::Config::default() };
            let failure = fuzz::search(&config, &setup).expect("a bank that pays twice");
            println!("{:?}", failure);
            let moves = failure.moves.lines().filter(|line| !line.starts_with(' ')).count();
            assert!(failure.invariant == "solvent" && moves <= 3, "{:?}", failure);
            fuzz::replay(&setup, &failure.moves).unwrap_err();
            let (_, last) = failure.moves.trim().rsplit_once('\n').unwrap();
            fuzz::replay(&setup, &failure.moves.replace(last, "")).unwrap();
        }
    }

    #[test]
    fn a_seed_decides_all() {
        let search = |seed| format!("{:?}", fuzz::search(&fuzz::Config { seed, calls: 50_000, depth: 10 }, &setup));
        assert_eq!(search(3), search(3));
    }

    #[test]
    fn what_is_no_move_is_told() {
        for moves in ["alice", "eve bank deposit 1 {}", "alice bank deposit", "  run bank deposit 1 {}", "pass x 1", "alice bank deposit x {}"] {
            assert!(fuzz::replay(&setup, moves).unwrap_err().contains("no"), "{}", moves);
        }
        fuzz::replay(&setup, "pass 1 60\nalice bank deposit 5 {}\nalice bank withdraw 0 {}").unwrap();
    }
}
