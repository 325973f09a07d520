//! Coins that vest over time: nothing before a cliff, all at the end, and in between in proportion to the time since
//! the start. A revocable grant can be revoked: the vested part stays the beneficiary's, and the rest goes back.
//!
//! For the attacks that it resists see docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

record! {
    /// Amounts are in smallest units, times in Unix seconds.
    pub struct Grant {
        from: Account, to: Account, amount: u64, released: u64, start: u64, cliff: u64, end: u64, revocable: bool
    }
}

static GRANTS: List<Grant> = List::new("grants");

contract! {
    events {
        Granted { id: u32, from: Account, to: Account, amount: u64 }
        Released { id: u32, to: Account, amount: u64 }
        Revoked { id: u32, to: Account, amount: u64 }
    }

    /// Grants the coins of the call, and returns the grant's number.
    payable fn grant(to: Account, start: u64, cliff: u64, end: u64, revocable: bool) -> u32 {
        let (from, amount) = (caller(), value());
        require(amount > 0, "a grant needs coins");
        require(to != Account::ZERO && to != this(), "nobody could take the coins");
        require(start <= cliff && cliff <= end && start < end, "the times are start, cliff and end, in this order");
        require(end - start <= u32::MAX as u64, "a grant is over in 136 years");
        let id = GRANTS.push(&Grant { from, to, amount, released: 0, start, cliff, end, revocable });
        Granted { id, from, to, amount }.emit();
        id
    }

    /// The amount vested so far, whether released or not.
    read fn vested(id: u32) -> u64 {
        vested_of(&find(id))
    }

    /// The amount that can be released now.
    read fn releasable(id: u32) -> u64 {
        let g = find(id);
        vested_of(&g) - g.released
    }

    /// The amount of the grant; less after a revocation.
    read fn amount(id: u32) -> u64 {
        find(id).amount
    }

    /// The start, the cliff and the end.
    read fn times(id: u32) -> &'static [u64] {
        let g = find(id);
        list(3, |i| [g.start, g.cliff, g.end][i])
    }

    /// Pays the vested and unreleased amount to the beneficiary. Anybody may call this.
    write fn release(id: u32) -> u64 {
        let g = find(id);
        let amount = vested_of(&g) - g.released;
        require(amount > 0, "nothing to release");
        GRANTS.set(id, &Grant { released: g.released + amount, ..g });
        pay(&g.to, amount);
        Released { id, to: g.to, amount }.emit();
        amount
    }

    /// Returns the unvested amount to the grantor. Only the grantor may call this.
    write fn revoke(id: u32) -> u64 {
        let g = find(id);
        require(g.revocable, "the grant cannot be revoked");
        require(caller() == g.from, "only who granted it may");
        let vested = vested_of(&g);
        let amount = g.amount - vested;
        require(amount > 0, "all of it is vested");
        // The vested amount never falls over time, so a revocation takes nothing that has vested.
        GRANTS.set(id, &Grant { amount: vested, start: 0, cliff: 0, end: 1, ..g });
        pay(&g.from, amount);
        Revoked { id, to: g.from, amount }.emit();
        amount
    }
}

fn find(id: u32) -> Grant {
    GRANTS.get(id).or_revert("no such grant")
}

/// amount · elapsed / duration, rounded down, in two parts that do not overflow, as both times are below 2³².
fn vested_of(g: &Grant) -> u64 {
    let now = block_time();
    if now < g.cliff || now < g.start {
        return 0;
    }
    if now >= g.end {
        return g.amount;
    }
    let (elapsed, duration) = (now - g.start, g.end - g.start);
    g.amount / duration * elapsed + g.amount % duration * elapsed / duration
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::args;
    use cairn::testing::{account, Chain};
    use cairn::Account;

    const NOW: u64 = 1_700_000_000;

    struct Vesting(Chain, Account);

    impl Vesting {
        fn new() -> Self {
            let chain = Chain::new();
            chain.fund(account("boss"), u64::MAX);
            let id = chain.deploy(account("anyone"), CONTRACT, "", 0).unwrap();
            Vesting(chain, id)
        }
        fn grant(&self, times: [u64; 3], revocable: bool, coins: u64) -> Result<String, String> {
            let terms = args! { to: account("worker"), start: times[0], cliff: times[1], end: times[2], revocable: revocable };
            self.0.call(account("boss"), self.1, "grant", &terms, coins)
        }
        fn call(&self, from: &str, function: &str, id: u32) -> Result<String, String> {
            self.0.call(account(from), self.1, function, &args! { id: id }, 0)
        }
        fn view(&self, function: &str, id: u32) -> u64 {
            self.0.view(self.1, function, &args! { id: id }).unwrap().trim_matches('"').parse().unwrap()
        }
    }

    #[test]
    fn coins_vest_little_by_little() {
        let v = Vesting::new();
        assert_eq!(v.grant([NOW, NOW + 25, NOW + 100], false, 1_001).unwrap(), "0");
        v.0.advance(1, 24);
        assert_eq!(v.call("worker", "release", 0).unwrap_err(), "nothing to release");
        v.0.advance(1, 1);
        assert_eq!(v.call("anyone", "release", 0).unwrap(), "250");
        assert_eq!(v.call("anyone", "release", 0).unwrap_err(), "nothing to release");
        v.0.advance(1, 74);
        assert_eq!((v.view("vested", 0), v.view("releasable", 0)), (990, 740));
        v.0.advance(1, 1);
        assert_eq!(v.call("worker", "release", 0).unwrap(), "751");
        assert_eq!((v.0.balance(account("worker")), v.0.balance(v.1)), (1_001, 0));
    }

    #[test]
    fn a_revoked_grant_keeps_what_is_vested() {
        let v = Vesting::new();
        v.grant([NOW, NOW, NOW + 100], true, 1_000).unwrap();
        v.grant([NOW, NOW, NOW + 100], false, 500).unwrap();
        v.0.advance(1, 30);
        v.call("worker", "release", 0).unwrap();
        v.0.advance(1, 10);
        assert_eq!(v.call("worker", "revoke", 0).unwrap_err(), "only who granted it may");
        assert_eq!(v.call("boss", "revoke", 1).unwrap_err(), "the grant cannot be revoked");
        assert_eq!(v.call("boss", "revoke", 0).unwrap(), "600");
        assert_eq!(v.call("boss", "revoke", 0).unwrap_err(), "all of it is vested");
        assert_eq!((v.view("amount", 0), v.view("releasable", 0)), (400, 100));
        v.0.advance(1, 1_000);
        assert_eq!(v.call("worker", "release", 0).unwrap(), "100");
        assert_eq!(v.0.balance(v.1), 500); // the coins of the other grant
    }

    #[test]
    fn the_largest_grant_is_exact() {
        let v = Vesting::new();
        let duration = u32::MAX as u64;
        v.grant([NOW, NOW, NOW + duration], false, u64::MAX).unwrap();
        let mut since = 0;
        for elapsed in [1, 2, duration / 3, duration - 1] {
            v.0.advance(1, elapsed - since);
            since = elapsed;
            assert_eq!(v.view("vested", 0) as u128, u64::MAX as u128 * elapsed as u128 / duration as u128);
        }
    }

    #[test]
    fn refuses_what_is_no_grant() {
        let v = Vesting::new();
        let order = "the times are start, cliff and end, in this order";
        for (times, coins, reason) in [
            ([NOW, NOW, NOW + 1], 0, "a grant needs coins"),
            ([NOW, NOW - 1, NOW + 1], 1, order),
            ([NOW, NOW + 2, NOW + 1], 1, order),
            ([NOW, NOW, NOW], 1, order),
            ([NOW, NOW, NOW + (1 << 32)], 1, "a grant is over in 136 years"),
        ] {
            assert_eq!(v.grant(times, true, coins).unwrap_err(), reason);
        }
        assert_eq!(v.call("boss", "release", 0).unwrap_err(), "no such grant");
        for nobody in [Account::ZERO, v.1] {
            let terms = args! { to: nobody, start: NOW, cliff: NOW, end: NOW + 1, revocable: true };
            assert_eq!(v.0.call(account("boss"), v.1, "grant", &terms, 1).unwrap_err(), "nobody could take the coins");
        }
    }
}
