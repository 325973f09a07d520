//! Names for contracts that may be replaced by others. To correct a contract, its owner deploys another one and points
//! the name to it. This takes effect after a delay, in which everybody can inspect the new contract and leave.
//!
//! A contract that replaces its own code (`replace_code`, as the example `coin` does) needs no name: its address and its
//! storage stay. A registry is for replacements that must be a separate contract: one with its own storage, or one
//! whose code provably never changes.
//!
//! For the attacks that it resists see docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

const MAX_NAME: usize = 64; // bytes
const MAX_DELAY: u64 = 365 * 24 * 60 * 60; // seconds: a longer delay is a typing error
/// Seconds after the delay in which an announcement may be activated. A forgotten one must be announced again.
const GRACE: u64 = 14 * 24 * 60 * 60;

contract! {
    types {
        /// The announced contract of a name, and the earliest activation in Unix seconds.
        record Next { contract: Account, from: u64 }
    }

    storage {
        OWNER: Cell<Account> = "owner",
        /// The account to which ownership was offered.
        HEIR: Cell<Account> = "heir",
        DELAY: Cell<u64> = "delay",
        CURRENT: Map<Str, Account> = "current",
        NEXT: Map<Str, Next> = "next",
    }

    events {
        Announced { contract: Account, name: Str, from: u64 }
        Cancelled { contract: Account, name: Str }
        Activated { contract: Account, name: Str }
        OwnerSet { owner: Account }
    }

    /// The caller owns the names. A name changes the given number of seconds after the announcement.
    init fn init(delay: u64) {
        require(delay > 0 && delay <= MAX_DELAY, "a delay is from a second to a year");
        DELAY.set(&delay);
        set_owner(caller());
    }

    read fn owner() -> Account {
        OWNER.get()
    }

    read fn delay() -> u64 {
        DELAY.get()
    }

    /// The contract to which a name points.
    read fn resolve(name: Str) -> Account {
        CURRENT.find(&name).or_revert("the name stands for nothing")
    }

    /// The announced contract of a name, if there is an announcement that has not expired.
    read fn next(name: Str) -> Option<Account> {
        NEXT.find(&name).filter(|next| !expired(next)).map(|next| next.contract)
    }

    /// The time from which the announcement may be activated, in Unix seconds.
    read fn nextFrom(name: Str) -> u64 {
        announced(name).from
    }

    /// Announces a new contract for a name. It can be activated after the delay, or at once for a new name, on which
    /// nobody relies yet. It replaces any earlier announcement.
    write fn announce(name: Str, contract: Account) {
        only_owner();
        require(!name.is_empty() && name.len() <= MAX_NAME, "a name has 1 to 64 bytes");
        require(code_hash(&contract).is_some(), "there is no such contract");
        let delay = if CURRENT.find(&name).is_some() { DELAY.get() } else { 0 };
        let from = block_time() + delay;
        NEXT.set(&name, &Next { contract, from });
        Announced { contract, name, from }.emit();
    }

    write fn cancel(name: Str) {
        only_owner();
        let next = announced(name);
        NEXT.remove(&name);
        Cancelled { contract: next.contract, name }.emit();
    }

    /// Points a name to the announced contract. Anybody may call this, for 14 days after the delay.
    write fn activate(name: Str) {
        let next = announced(name);
        require(block_time() >= next.from, "the delay is not over");
        require(!expired(&next), "the announcement has expired");
        NEXT.remove(&name);
        CURRENT.set(&name, &next.contract);
        Activated { contract: next.contract, name }.emit();
    }

    /// Offers the names to a new owner, who must accept: a typing error cannot give them away.
    write fn offer(to: Account) {
        only_owner();
        HEIR.set(&to);
    }

    write fn accept() {
        require(HEIR.find() == Some(caller()), "the names were not offered to the caller");
        HEIR.remove();
        set_owner(caller());
    }
}

fn only_owner() {
    require(caller() == OWNER.get(), "only the owner may");
}

fn set_owner(owner: Account) {
    OWNER.set(&owner);
    OwnerSet { owner }.emit();
}

fn announced(name: Str) -> Next {
    NEXT.find(&name).or_revert("nothing is announced")
}

fn expired(next: &Next) -> bool {
    block_time() > next.from + GRACE
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::args;
    use cairn::testing::{account, Chain};
    use cairn::Account;

    struct Registry(Chain, Account);

    impl Registry {
        /// A registry with a delay of a minute.
        fn new() -> Self {
            let chain = Chain::new();
            let id = chain.deploy(account("owner"), CONTRACT, &args! { delay: 60u64 }, 0).unwrap();
            Registry(chain, id)
        }
        fn contract(&self) -> Account {
            self.0.deploy(account("anyone"), CONTRACT, &args! { delay: 1u64 }, 0).unwrap()
        }
        fn announce(&self, from: &str, contract: Account) -> Result<String, String> {
            self.0.call(account(from), self.1, "announce", &args! { name: "bank", contract: contract }, 0)
        }
        fn call(&self, from: &str, function: &str) -> Result<String, String> {
            self.0.call(account(from), self.1, function, &args! { name: "bank" }, 0)
        }
        fn stands_for(&self) -> Result<String, String> {
            self.0.view(self.1, "resolve", &args! { name: "bank" })
        }
    }

    fn json(of: Account) -> String {
        let hex: String = of.0.iter().map(|b| format!("{:02x}", b)).collect();
        format!("\"0x{}\"", hex)
    }

    #[test]
    fn a_change_waits_and_the_first_does_not() {
        let r = Registry::new();
        let (one, two) = (r.contract(), r.contract());
        assert_eq!(r.stands_for().unwrap_err(), "the name stands for nothing");
        r.announce("owner", one).unwrap();
        assert_eq!(r.stands_for().unwrap_err(), "the name stands for nothing");
        r.call("anyone", "activate").unwrap();
        assert_eq!(r.stands_for().unwrap(), json(one));
        r.announce("owner", two).unwrap();
        r.0.advance(1, 59);
        assert_eq!(r.call("owner", "activate").unwrap_err(), "the delay is not over");
        assert_eq!(r.stands_for().unwrap(), json(one));
        r.0.advance(1, 1);
        r.call("anyone", "activate").unwrap();
        assert_eq!(r.stands_for().unwrap(), json(two));
        assert_eq!(r.call("anyone", "activate").unwrap_err(), "nothing is announced");
    }

    #[test]
    fn what_was_forgotten_expires() {
        let r = Registry::new();
        let (one, two) = (r.contract(), r.contract());
        r.announce("owner", one).unwrap();
        r.call("anyone", "activate").unwrap();
        let next = || r.0.view(r.1, "next", &args! { name: "bank" }).unwrap();
        r.announce("owner", two).unwrap();
        r.0.advance(1, 60 + super::GRACE + 1);
        assert_eq!(r.call("anyone", "activate").unwrap_err(), "the announcement has expired");
        assert_eq!(next(), "null");
        r.announce("owner", two).unwrap(); // a new announcement begins a new delay
        r.0.advance(1, 60 + super::GRACE);
        assert_eq!(next(), json(two));
        r.call("anyone", "activate").unwrap();
        assert_eq!(r.stands_for().unwrap(), json(two));
    }

    #[test]
    fn another_announcement_waits_anew() {
        let r = Registry::new();
        r.announce("owner", r.contract()).unwrap();
        r.call("owner", "activate").unwrap();
        r.announce("owner", r.contract()).unwrap();
        r.0.advance(1, 59);
        let evil = r.contract();
        r.announce("owner", evil).unwrap(); // it replaces the announcement that nobody had activated
        r.0.advance(1, 1);
        assert_eq!(r.call("owner", "activate").unwrap_err(), "the delay is not over");
        r.call("owner", "cancel").unwrap();
        r.0.advance(1, 60);
        assert_eq!(r.call("owner", "activate").unwrap_err(), "nothing is announced");
        assert_eq!(r.0.view(r.1, "next", &args! { name: "bank" }).unwrap(), "null");
    }

    #[test]
    fn only_the_owner_announces_and_only_contracts() {
        let r = Registry::new();
        assert_eq!(r.announce("anyone", r.contract()).unwrap_err(), "only the owner may");
        assert_eq!(r.announce("owner", account("bob")).unwrap_err(), "there is no such contract");
        assert_eq!(r.announce("owner", Account::ZERO).unwrap_err(), "there is no such contract");
        r.announce("owner", r.contract()).unwrap();
        assert_eq!(r.call("anyone", "cancel").unwrap_err(), "only the owner may");
        for name in ["".to_string(), "x".repeat(65)] {
            let name: &'static str = Box::leak(name.into_boxed_str());
            let terms = args! { name: name, contract: r.1 };
            let named = r.0.call(account("owner"), r.1, "announce", &terms, 0);
            assert_eq!(named.unwrap_err(), "a name has 1 to 64 bytes");
        }
        for delay in [0, super::MAX_DELAY + 1, u64::MAX] {
            let late = r.0.deploy(account("owner"), CONTRACT, &args! { delay: delay }, 0);
            assert_eq!(late.unwrap_err(), "a delay is from a second to a year");
        }
    }

    #[test]
    fn an_owner_must_accept() {
        let r = Registry::new();
        let offer = |from, to| r.0.call(account(from), r.1, "offer", &args! { to: account(to) }, 0);
        let accept = |from| r.0.call(account(from), r.1, "accept", "", 0);
        assert_eq!(offer("anyone", "anyone").unwrap_err(), "only the owner may");
        assert_eq!(accept("anyone").unwrap_err(), "the names were not offered to the caller");
        offer("owner", "heir").unwrap();
        assert_eq!(accept("anyone").unwrap_err(), "the names were not offered to the caller");
        r.announce("owner", r.contract()).unwrap(); // alice is still the owner
        accept("heir").unwrap();
        assert_eq!(accept("heir").unwrap_err(), "the names were not offered to the caller");
        assert_eq!(r.call("owner", "cancel").unwrap_err(), "only the owner may");
        r.call("heir", "cancel").unwrap();
    }
}
