//! A contract that calls another by generated bindings.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

mod typed;

use typed::{Closed, Offer, State, TooLow, Typed};

contract! {
    write fn keep(other: Account, id: u16, seller: Account, price: u64) -> u64 {
        let other = Typed::at(other);
        let offer = Offer { seller, price, note: Some("kept") };
        other.keep(id, offer, State::Sold { to: this(), price }).or_fail();
        match other.kept(id).or_fail() {
            (Some(kept), Some(State::Sold { to, price })) if kept == offer && to == this() => price,
            _ => revert("something else was kept"),
        }
    }

    /// The missing amount; none if the other contract is closed.
    write fn missing(other: Account, have: u64, need: u64) -> Option<u64> {
        let failure = match Typed::at(other).refuse(have, need) {
            Err(failure) => failure,
            Ok(()) => revert("nothing was refused"),
        };
        match (TooLow::of(&failure), Closed::of(&failure)) {
            (Some(low), None) => Some(low.need - low.have),
            (None, Some(_)) => None,
            _ => revert("it failed otherwise"),
        }
    }
}

#[cfg(test)]
#[path = "../../types/src/lib.rs"]
mod types;

#[cfg(test)]
mod tests {
    use super::{types, CONTRACT};
    use cairn::args;
    use cairn::testing::{account, Chain};

    #[test]
    fn calls_by_the_bindings() {
        let chain = Chain::new();
        let alice = account("alice");
        let other = chain.deploy(alice, types::CONTRACT, "", 0).unwrap();
        let caller = chain.deploy(alice, CONTRACT, "", 0).unwrap();
        let kept = chain.call(alice, caller, "keep", &args! { other: other, id: 7u16, seller: alice, price: 5u64 }, 0);
        assert_eq!(kept.unwrap(), "5");
        let missing = |have: u64, need: u64| {
            chain.call(alice, caller, "missing", &args! { other: other, have: have, need: need }, 0).unwrap()
        };
        assert_eq!(missing(7, 10), "3");
        assert_eq!(missing(10, 10), "null");
    }
}
