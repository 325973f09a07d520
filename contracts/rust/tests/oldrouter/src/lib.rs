//! A flawed contract for the fuzzer (kit/contracttest/fuzz): an old version of the example `router`. It believes any
//! pretended pool, and pays it any token that the caller ever approved to the router. Never use it as a pattern.
//!
//! Each pool pays out first, then calls [`pay`] here, in the middle of [`swap`]. So this contract is reentrant, and
//! remembers the pool for which it waits.

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

    /// Swaps the amount approved to the router by the caller; reverts if the last pool pays less than the minimum.
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

    /// Pays a pool for its part of the swap. Only the pool that is being called may claim it, and only once.
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

