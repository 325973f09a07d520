//! Other contracts' tokens (NEP-20; docs/protocol.md, "Conventions above consensus").

use crate::{Account, Str};

crate::interface! {
    /// A NEP-20 token.
    Token {
        /// Its name.
        read fn name() -> Str;
        /// Its symbol.
        read fn symbol() -> Str;
        /// The number of digits of an amount after the decimal point.
        read fn decimals() -> u32;
        /// The sum of all balances.
        read fn totalSupply() -> u64;
        /// The balance of an account.
        read fn balanceOf(address: Account) -> u64;
        /// The amount that a spender may still move from an owner.
        read fn allowance(owner: Account, spender: Account) -> u64;
        /// Moves tokens of this contract.
        write fn transfer(to: Account, amount: u64) -> bool;
        /// Sets the amount that a spender may move from this contract.
        write fn approve(spender: Account, amount: u64) -> bool;
        /// Moves tokens from an owner within this contract's allowance.
        write fn transferFrom(from: Account, to: Account, amount: u64) -> bool;
    }
}
