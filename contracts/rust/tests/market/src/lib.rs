//! A flawed contract for the fuzzer to break (kit/contracttest/fuzz): a market of two goods that rounds in the trader's
//! favour. The product of its reserves must never fall. Never use it as a pattern.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static RESERVE_A: Cell<u64> = Cell::new("a");
static RESERVE_B: Cell<u64> = Cell::new("b");

contract! {
    init fn init(a: u64, b: u64) {
        require(a > 0 && b > 0, "both goods are needed");
        RESERVE_A.set(&a);
        RESERVE_B.set(&b);
    }

    read fn reserves() -> &'static [u64] {
        let (a, b) = (RESERVE_A.get(), RESERVE_B.get());
        list(2, |i| if i == 0 { a } else { b })
    }

    /// Takes an amount of one good and pays with the other.
    write fn swap(sellA: bool, amount: u64) -> u64 {
        require(amount > 0, "nothing to sell");
        let (a, b) = (RESERVE_A.get(), RESERVE_B.get());
        let (taken, from) = if sellA { (a, b) } else { (b, a) };
        let after = taken.checked_add(amount).or_revert("too much");
        let left = (a as u128 * b as u128 / after as u128) as u64; // rounded down in the trader's favour
        require(left > 0, "too much");
        let (a, b) = if sellA { (after, left) } else { (left, after) };
        RESERVE_A.set(&a);
        RESERVE_B.set(&b);
        from - left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn::testing::fuzz;

    fn setup(w: &mut fuzz::World) {
        let alice = w.actor("alice");
        let market = w.deploy("market", alice, CONTRACT, &args! { a: 1_000_000u64, b: 2_000_000u64 }, 0);
        w.target(market, &[]);
        w.invariant("the product of the reserves never falls", move |chain| {
            let reserves = chain.view(market, "reserves", "")?;
            let numbers = reserves.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u128>().ok());
            if numbers.product::<u128>() < 2_000_000_000_000 { Err(reserves) } else { Ok(()) }
        });
    }

    #[test]
    fn the_fuzzer_finds_the_rounding() {
        for seed in 1..=5 {
            let config = fuzz::Config { seed, ..fuzz::Config::default() };
            let failure = fuzz::search(&config, &setup).expect("a market that loses");
            assert_eq!(failure.moves.lines().count(), 1, "{:?}", failure);
        }
    }
}
