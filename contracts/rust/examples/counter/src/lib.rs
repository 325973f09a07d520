//! A counter that anyone may add to.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static COUNT: Cell<u64> = Cell::new("count");

contract! {
    events {
        Added { by: Account, amount: u64, count: u64 }
    }

    /// The sum of all additions.
    read fn count() -> u64 {
        COUNT.get()
    }

    /// Adds to the counter and returns the new count.
    write fn add(amount: u64) -> u64 {
        let count = COUNT.get().checked_add(amount).or_revert("the count overflows");
        COUNT.set(&count);
        Added { by: caller(), amount, count }.emit();
        count
    }
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::args;
    use cairn::testing::{account, Chain};

    #[test]
    fn counts() {
        let chain = Chain::new();
        let alice = account("alice");
        let counter = chain.deploy(alice, CONTRACT, "", 0).unwrap();
        assert_eq!(chain.view(counter, "count", "").unwrap(), "0");
        assert_eq!(chain.call(alice, counter, "add", &args! { amount: 5u64 }, 0).unwrap(), "5");
        assert_eq!(chain.call(alice, counter, "add", &args! { amount: 2u64 }, 0).unwrap(), "7");
        assert_eq!(chain.events()[1].data, format!("{{\"by\":\"0x{}\",\"amount\":2,\"count\":7}}", hex(alice.0)));
        let refused = chain.call(alice, counter, "add", &args! { amount: u64::MAX }, 0);
        assert_eq!(refused.unwrap_err(), "the count overflows");
        assert_eq!(chain.view(counter, "count", "").unwrap(), "7");
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{:02x}", b)).collect()
    }
}
