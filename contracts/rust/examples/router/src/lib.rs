//! Swaps through one pool after the other. Each pool pays out first, then calls [`pay`] here, in the middle of
//! [`swap`]. So this contract is reentrant, and remembers its debt and the pool.
//!
//! For the attacks that it resists see docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::nep20::Token;
use cairn::*;

record! {
    /// The payment that the running pool may claim once.
    pub struct Debt { pool: Account, payer: Account, token: Account, amount: u64, paid: bool }
}

static POOL_CODE: Cell<Hash> = Cell::new("pool code");
static DEBT: Cell<Debt> = Cell::new("debt"); // set during a swap

interface! {
    Pool {
        write fn swap(tokenIn: Account, amountIn: u64, to: Account) -> u64;
    }
}

contract! {
    reentrant;

    /// The router calls only pools with this code. Code never changes, so its hash identifies its behaviour.
    init fn init(poolCode: Hash) {
        POOL_CODE.set(&poolCode);
    }

    read fn poolCode() -> Hash {
        POOL_CODE.get()
    }

    /// Swaps an amount of the path's first token, which the caller has approved to the router, to its last one. Each pool
    /// leads to the next token. Returns the amount that the caller received, and reverts if that is below the minimum.
    write fn swap(pools: &'static [Account], path: &'static [Account], amount: u64, minimum: u64, deadline: u64) -> u64 {
        require(DEBT.find().is_none(), "a swap is under way");
        require(block_time() <= deadline, "the deadline is over");
        require(!pools.is_empty() && path.len() == pools.len() + 1, "a path has one token more than pools");
        let (mut amount, mut payer) = (amount, caller());
        for (i, &pool) in pools.iter().enumerate() {
            require(code_hash(&pool) == Some(POOL_CODE.get()), "not a pool");
            DEBT.set(&Debt { pool, payer, token: path[i], amount, paid: false });
            let to = if i + 1 == pools.len() { caller() } else { this() };
            let held = || Token::at(path[i + 1]).balanceOf(to).or_fail();
            let before = held();
            Pool::at(pool).swap(path[i], amount, to).or_fail();
            amount = held().checked_sub(before).or_revert("the pool took what it was to give"); // measured, not reported
            payer = this();
        }
        DEBT.remove();
        require(amount >= minimum, "less than the minimum");
        amount
    }

    /// Pays a pool for its part of the swap: only the pool that is being called, only the promised amount, only once.
    write fn pay(token: Account, amount: u64) {
        let debt = DEBT.find().or_revert("nothing is to be paid");
        require(caller() == debt.pool && !debt.paid, "nothing is to be paid to this pool");
        require(token == debt.token && amount == debt.amount, "not what was promised");
        DEBT.set(&Debt { paid: true, ..debt });
        let token = Token::at(token);
        let moved = if debt.payer == this() {
            token.transfer(debt.pool, amount)
        } else {
            token.transferFrom(debt.payer, debt.pool, amount)
        };
        require(moved.or_fail(), "the token refused");
    }
}

#[cfg(test)]
#[path = "../../nep20/src/lib.rs"]
mod nep20;
#[cfg(test)]
#[path = "../../pool/src/lib.rs"]
mod pool;
#[cfg(test)]
mod tests;
