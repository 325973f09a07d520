//! Swaps through one pool after the other. Each pool pays out first, then calls [`pay`] here, in the middle of [`swap`]:
//! that is why this contract is reentrant, and why it remembers which pool it waits for.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::nep20::Token;
use cairn::*;

record! {
    pub struct Waiting { pool: Account, payer: Account }
}

static WAITING: Cell<Waiting> = Cell::new("waiting");

interface! {
    Pool {
        read fn other(token: Account) -> Account;
        write fn swap(tokenIn: Account, amountIn: u64, to: Account) -> u64;
    }
}

contract! {
    reentrant;

    /// Swaps what the caller has approved to the router; reverts if the last pool gives less than the minimum.
    write fn swap(pools: &'static [Account], token: Account, amount: u64, minimum: u64) -> u64 {
        require(WAITING.find().is_none(), "a swap is under way");
        let (mut token, mut amount, mut payer) = (token, amount, caller());
        for (i, pool) in pools.iter().enumerate() {
            let to = if i + 1 == pools.len() { caller() } else { this() };
            WAITING.set(&Waiting { pool: *pool, payer });
            let next = Pool::at(*pool).other(token).or_fail();
            amount = Pool::at(*pool).swap(token, amount, to).or_fail();
            WAITING.remove();
            token = next;
            payer = this();
        }
        require(amount >= minimum, "less than the minimum");
        amount
    }

    /// Pays a pool for what it gave; only the pool that is waited for may ask, and only once.
    write fn pay(token: Account, amount: u64) {
        let waiting = WAITING.find().or_revert("nothing is to be paid");
        require(caller() == waiting.pool, "another pool is waited for");
        WAITING.set(&Waiting { pool: Account::ZERO, ..waiting });
        let token = Token::at(token);
        if waiting.payer == this() {
            token.transfer(waiting.pool, amount).or_fail();
        } else {
            token.transferFrom(waiting.payer, waiting.pool, amount).or_fail();
        }
    }
}

#[cfg(test)]
#[path = "../../nep20/src/lib.rs"]
mod nep20;
#[cfg(test)]
#[path = "../../pool/src/lib.rs"]
mod pool;

#[cfg(test)]
mod tests {
    use super::{nep20, pool, CONTRACT};
    use cairn::testing::{account, Chain};
    use cairn::{args, Account};

    fn token(chain: &Chain, name: cairn::Str) -> Account {
        let init = args! { name: name, symbol: name, decimals: 0u32, initialSupply: 1_000_000u64 };
        chain.deploy(account("alice"), nep20::CONTRACT, &init, 0).unwrap()
    }

    fn market(chain: &Chain, a: Account, b: Account) -> Account {
        let alice = account("alice");
        let id = chain.deploy(alice, pool::CONTRACT, &args! { tokenA: a, tokenB: b }, 0).unwrap();
        for token in [a, b] {
            chain.call(alice, token, "approve", &args! { spender: id, amount: 100_000u64 }, 0).unwrap();
        }
        let added = chain.call(alice, id, "add", &args! { amountA: 50_000u64, maxB: 100_000u64 }, 0).unwrap();
        assert_eq!(added, "50000");
        id
    }

    #[test]
    fn swaps_through_two_pools() {
        let chain = Chain::new();
        let (alice, bob) = (account("alice"), account("bob"));
        let (a, b, c) = (token(&chain, "A"), token(&chain, "B"), token(&chain, "C"));
        let markets = [market(&chain, a, b), market(&chain, b, c)];
        let pools = cairn::list(2, |i| markets[i]);
        let router = chain.deploy(alice, CONTRACT, "", 0).unwrap();
        chain.call(alice, a, "transfer", &args! { to: bob, amount: 1_000u64 }, 0).unwrap();
        chain.call(bob, a, "approve", &args! { spender: router, amount: 1_000u64 }, 0).unwrap();

        let want = |minimum: u64| args! { pools: pools, token: a, amount: 1_000u64, minimum: minimum };
        let refused = chain.call(bob, router, "swap", &want(4_000), 0).unwrap_err();
        assert_eq!(refused, "less than the minimum");
        // 1000 -> 997 * 100000 / 50997 = 1955 (rounded down: 1955.01) -> 1949.135 * 100000 / 51949.135 = 3752
        let first = 997_000u64 * 100_000 / (50_000_000 + 997_000);
        let second = first * 997 * 100_000 / (50_000_000 + first * 997);
        assert_eq!(chain.call(bob, router, "swap", &want(3_000), 0).unwrap(), second.to_string());
        assert_eq!(chain.view(c, "balanceOf", &args! { address: bob }).unwrap(), second.to_string());
        assert_eq!(chain.view(a, "balanceOf", &args! { address: bob }).unwrap(), "0");
        assert_eq!(chain.view(pools[0], "reserves", "").unwrap(), format!("[51000,{}]", 100_000 - first));
    }

    #[test]
    fn pays_only_the_pool_it_waits_for() {
        let chain = Chain::new();
        let router = chain.deploy(account("alice"), CONTRACT, "", 0).unwrap();
        let pay = args! { token: router, amount: 1u64 };
        assert_eq!(chain.call(account("eve"), router, "pay", &pay, 0).unwrap_err(), "nothing is to be paid");
    }
}
