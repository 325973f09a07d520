//! The reference NEP-20 token (docs/protocol.md, "Conventions above consensus").
//!
//! Who deploys it owns it and may mint; holders may burn what is theirs.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static NAME: Cell<Str> = Cell::new("name");
static SYMBOL: Cell<Str> = Cell::new("symbol");
static DECIMALS: Cell<u32> = Cell::new("decimals");
static OWNER: Cell<Account> = Cell::new("owner");
static SUPPLY: Cell<u64> = Cell::new("supply");
static BALANCES: Map<Account, u64> = Map::new("balance");
static ALLOWANCES: Map<(Account, Account), u64> = Map::new("allowance"); // of an owner, to a spender

contract! {
    events {
        /// Tokens moved; minted ones from the zero account, burned ones to it.
        Transfer { from: Account, to: Account, amount: u64 }
        /// An allowance was set.
        Approval { owner: Account, spender: Account, amount: u64 }
    }

    /// Mints the initial supply to the deployer, who is the owner.
    init fn init(name: Str, symbol: Str, decimals: u32, initialSupply: u64) {
        NAME.set(&name);
        SYMBOL.set(&symbol);
        DECIMALS.set(&decimals);
        let owner = caller();
        OWNER.set(&owner);
        mint_to(owner, initialSupply);
    }

    read fn name() -> Str {
        NAME.get()
    }

    read fn symbol() -> Str {
        SYMBOL.get()
    }

    read fn decimals() -> u32 {
        DECIMALS.get()
    }

    read fn totalSupply() -> u64 {
        SUPPLY.get()
    }

    read fn balanceOf(address: Account) -> u64 {
        BALANCES.get(&address)
    }

    read fn allowance(owner: Account, spender: Account) -> u64 {
        ALLOWANCES.get(&(owner, spender))
    }

    write fn transfer(to: Account, amount: u64) -> bool {
        move_tokens(caller(), to, amount);
        true
    }

    /// Sets what a spender may take of the caller's; it replaces what was set before.
    write fn approve(spender: Account, amount: u64) -> bool {
        let owner = caller();
        put(&ALLOWANCES, &(owner, spender), amount);
        Approval { owner, spender, amount }.emit();
        true
    }

    /// Moves what the caller is allowed to move, which also the owner must have allowed itself.
    write fn transferFrom(from: Account, to: Account, amount: u64) -> bool {
        let key = (from, caller());
        let left = ALLOWANCES.get(&key).checked_sub(amount).or_revert("allowance is too low");
        put(&ALLOWANCES, &key, left);
        move_tokens(from, to, amount);
        true
    }

    /// Makes tokens; the owner's right.
    write fn mint(to: Account, amount: u64) -> bool {
        require(caller() == OWNER.get(), "only the owner may mint");
        mint_to(to, amount);
        true
    }

    /// Destroys tokens of the caller.
    write fn burn(amount: u64) -> bool {
        let from = caller();
        take(from, amount);
        SUPPLY.set(&(SUPPLY.get() - amount)); // at least what one account has
        Transfer { from, to: Account::ZERO, amount }.emit();
        true
    }
}

fn move_tokens(from: Account, to: Account, amount: u64) {
    require(to != Account::ZERO, "the zero account cannot receive");
    take(from, amount);
    give(to, amount);
    Transfer { from, to, amount }.emit();
}

fn mint_to(to: Account, amount: u64) {
    require(to != Account::ZERO, "the zero account cannot receive");
    SUPPLY.set(&SUPPLY.get().checked_add(amount).or_revert("the supply overflows"));
    give(to, amount);
    Transfer { from: Account::ZERO, to, amount }.emit();
}

fn take(from: Account, amount: u64) {
    let left = BALANCES.get(&from).checked_sub(amount).or_revert("balance is too low");
    put(&BALANCES, &from, left);
}

fn give(to: Account, amount: u64) {
    put(&BALANCES, &to, BALANCES.get(&to) + amount); // at most the supply
}

/// Sets an entry; an entry of 0 is none.
fn put<K: Stored>(map: &Map<K, u64>, key: &K, amount: u64) {
    if amount == 0 {
        map.remove(key)
    } else {
        map.set(key, &amount)
    }
}
