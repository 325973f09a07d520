//! The logic of a savings account behind a proxy. It holds no data and no coins, so another version can replace it
//! while everybody's savings stay.
//!
//! It shows the use of a proxy. If a contract may change its own code, `replace_code` is simpler (example `coin`).
//!
//! The first parameters of each function come from the proxy: the caller, and the coins received.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

/// The proxy, the only contract that may call this one.
static PROXY: Cell<Account> = Cell::new("proxy");

interface! {
    Proxy {
        read fn get(key: Bytes) -> Option<Bytes>;
        write fn put(key: Bytes, data: Bytes);
        write fn send(to: Account, amount: u64);
    }
}

contract! {
    init fn init(proxy: Account) {
        PROXY.set(&proxy);
    }

    /// Saves the received coins. Returns the caller's savings.
    write fn deposit(by: Account, coins: u64) -> u64 {
        let proxy = only_proxy();
        require(coins > 0, "no coins came");
        let total = saved(&proxy, &by) + coins;
        save(&proxy, &by, total);
        total
    }

    /// Pays savings to the caller.
    write fn withdraw(by: Account, coins: u64, amount: u64) -> u64 {
        let proxy = only_proxy();
        require(coins == 0, "the function takes no coins");
        let left = saved(&proxy, &by).checked_sub(amount).or_revert("less is saved");
        save(&proxy, &by, left); // recorded before the payment
        proxy.send(by, amount).or_fail();
        left
    }

    /// The savings of an account.
    read fn savings(by: Account, coins: u64, owner: Account) -> u64 {
        let _ = (by, coins);
        saved(&only_proxy(), &owner)
    }
}

/// Any other caller could pretend to be somebody else.
fn only_proxy() -> Proxy {
    require(caller() == PROXY.get(), "only by the proxy");
    Proxy::at(PROXY.get())
}

fn key(of: &Account) -> Bytes {
    let mut key = Buffer::new();
    key.push(b"saved ");
    key.push_array(of.0);
    Bytes(key.bytes())
}

fn saved(proxy: &Proxy, of: &Account) -> u64 {
    match proxy.get(key(of)).or_fail() {
        Some(Bytes(data)) => u64::from_le_bytes(data.try_into().ok().or_revert("another version wrote this")),
        None => 0,
    }
}

fn save(proxy: &Proxy, of: &Account, total: u64) {
    let mut data = Buffer::new();
    data.push_array(&total.to_le_bytes());
    proxy.put(key(of), Bytes(data.bytes())).or_fail()
}

// The tests of the example proxy test it behind a proxy.
#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::args;
    use cairn::testing::{account, Chain};

    #[test]
    fn works_for_its_proxy_only() {
        let (chain, alice) = (Chain::new(), account("alice"));
        let id = chain.deploy(alice, CONTRACT, &args! { proxy: account("proxy") }, 0).unwrap();
        for (function, terms) in [
            ("deposit", args! { by: alice, coins: 5u64 }),
            ("withdraw", args! { by: alice, coins: 0u64, amount: 5u64 }),
            ("savings", args! { by: alice, coins: 0u64, owner: alice }),
        ] {
            assert_eq!(chain.call(alice, id, function, &terms, 0).unwrap_err(), "only by the proxy");
        }
    }
}
