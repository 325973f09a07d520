//! Tokens of others (NEP-20; docs/protocol.md, "Conventions above consensus").

use crate::{Account, Str};

crate::interface! {
    /// A NEP-20 token.
    Token {
        /// Its name.
        read fn name() -> Str;
        /// Its symbol.
        read fn symbol() -> Str;
        /// How many digits of an amount are behind the point.
        read fn decimals() -> u32;
        /// The sum of all balances.
        read fn totalSupply() -> u64;
        /// What an account has.
        read fn balanceOf(address: Account) -> u64;
        /// What a spender may move of an owner's.
        read fn allowance(owner: Account, spender: Account) -> u64;
        /// Moves tokens of this contract.
        write fn transfer(to: Account, amount: u64) -> bool;
        /// Sets what a spender may move of this contract's.
        write fn approve(spender: Account, amount: u64) -> bool;
        /// Moves tokens that this contract is allowed to move.
        write fn transferFrom(from: Account, to: Account, amount: u64) -> bool;
    }
}
