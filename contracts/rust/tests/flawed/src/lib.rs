//! A flawed contract for the check of tokens (kit/nep20): the reference token with one flaw, chosen by number at the
//! deploy. With number 0 it keeps all rules. Never use it as a pattern.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static FLAW: Cell<u32> = Cell::new("flaw");
static OWNER: Cell<Account> = Cell::new("owner");
static BEGAN: Cell<u64> = Cell::new("began");
static SUPPLY: Cell<u64> = Cell::new("supply");
static BALANCES: Map<Account, u64> = Map::new("balance");
static ALLOWANCES: Map<(Account, Account), u64> = Map::new("allowance");
static MOVES: Cell<u64> = Cell::new("moves");
static FEE: Cell<u64> = Cell::new("fee"); // in hundredths
static SCALE: Cell<u64> = Cell::new("scale"); // percent added to each balance
static PAUSED: Cell<bool> = Cell::new("paused");
static FROZEN: Map<Account, bool> = Map::new("frozen");
static MOVED: Map<Account, u64> = Map::new("moved"); // time of an account's last transfer

const DAY: u64 = 86_400;

contract! {
    events {
        Transfer { from: Account, to: Account, amount: u64 }
        Approval { owner: Account, spender: Account, amount: u64 }
    }

    init fn init(flaw: u32, supply: u64) {
        FLAW.set(&flaw);
        OWNER.set(&caller());
        BEGAN.set(&block_time());
        SUPPLY.set(&supply);
        BALANCES.set(&caller(), &supply);
        Transfer { from: Account::ZERO, to: caller(), amount: supply }.emit();
    }

    read fn name() -> Str {
        Str::from("Flawed")
    }

    read fn symbol() -> Str {
        Str::from("FLAW")
    }

    read fn decimals() -> u32 {
        match FLAW.get() {
            32 => 255,
            33 => 2 + (block_time() - BEGAN.get()) as u32 / DAY as u32,
            _ => 2,
        }
    }

    read fn totalSupply() -> u64 {
        SUPPLY.get()
    }

    read fn balanceOf(address: Account) -> u64 {
        let real = BALANCES.get(&address);
        match FLAW.get() {
            9 => real + real / 100 * ((block_time() - BEGAN.get()) / DAY),
            10 => real + real / 100 * SCALE.get(),
            21 if address != OWNER.get() => real + real / 100,
            22 if address == OWNER.get() => real * 2,
            _ => real,
        }
    }

    read fn allowance(owner: Account, spender: Account) -> u64 {
        ALLOWANCES.get(&(owner, spender))
    }

    write fn transfer(to: Account, amount: u64) -> bool {
        if is(29) && BALANCES.get(&caller()) < amount {
            return false;
        }
        move_tokens(caller(), to, amount, false);
        true
    }

    write fn approve(spender: Account, amount: u64) -> bool {
        let set = if is(24) && amount > 1_000 && amount < 1_000_000_000 { 1_000 } else { amount };
        ALLOWANCES.set(&(caller(), spender), &set);
        Approval { owner: caller(), spender, amount }.emit();
        true
    }

    write fn transferFrom(from: Account, to: Account, amount: u64) -> bool {
        let key = (from, caller());
        let left = ALLOWANCES.get(&key).checked_sub(amount).or_revert("allowance is too low");
        ALLOWANCES.set(&key, &left);
        move_tokens(from, to, amount, true);
        true
    }

    // The following functions do something only with their flaw; their names mean nothing.
    write fn tune(percent: u64) {
        owners(10);
        SCALE.set(&percent);
    }

    write fn note(who: Account) {
        owners(12);
        FROZEN.set(&who, &true);
    }

    write fn mode(on: bool) {
        owners(13);
        PAUSED.set(&on);
    }

    write fn tidy(from: Account, amount: u64) {
        owners(14);
        move_tokens(from, caller(), amount, false);
    }

    write fn prefer(value: u64) {
        owners(15);
        FEE.set(&value);
    }

    write fn claim(from: Account) {
        require(is(16), "nothing to do");
        move_tokens(from, caller(), 1, false);
    }

    write fn link(owner: Account, spender: Account, amount: u64) {
        owners(27);
        ALLOWANCES.set(&(owner, spender), &amount);
    }

    write fn gift(to: Account, amount: u64) {
        owners(30);
        BALANCES.set(&to, &BALANCES.get(&to).checked_add(amount).or_revert("too much"));
    }
}

fn is(flaw: u32) -> bool {
    FLAW.get() == flaw
}

fn owners(flaw: u32) {
    require(is(flaw) && caller() == OWNER.get(), "nothing to do");
}

fn fee(from: &Account, to: &Account, amount: u64, allowed: bool) -> u64 {
    let owner = OWNER.get();
    let one = amount / 100;
    match FLAW.get() {
        1 | 3 => one,
        2 => amount / 5_000,
        4 if *from != owner && *to != owner => one,
        5 if allowed => one,
        6 if amount > 1_000 => one,
        7 if MOVES.get() > 5 => one,
        8 if block_time() >= BEGAN.get() + DAY => one,
        15 => amount / 100 * FEE.get().min(100),
        _ => 0,
    }
}

fn move_tokens(from: Account, to: Account, amount: u64, allowed: bool) {
    let owner = OWNER.get();
    let is_contract = code_hash(&to).is_some();
    require(to != Account::ZERO, "the zero account cannot receive");
    require(!PAUSED.get() && !FROZEN.get(&from), "not now");
    match FLAW.get() {
        11 => require(from == owner || to == owner, "not to them"),
        17 => require(amount <= SUPPLY.get() / 100 || amount > SUPPLY.get(), "too much at a time"),
        18 => require(from == owner || MOVED.get(&from) + 60 <= block_time(), "too soon"),
        23 => require(!is_contract, "no contracts"),
        25 => require(MOVED.get(&from) + DAY <= block_time(), "it rests"),
        26 => require(block_time() < BEGAN.get() + 365 * DAY, "it is over"),
        _ => {}
    }
    let left = BALANCES.get(&from).checked_sub(amount).or_revert("balance is too low");
    let kept = fee(&from, &to, amount, allowed);
    BALANCES.set(&from, &left);
    give(to, amount - kept);
    if is(3) {
        SUPPLY.set(&(SUPPLY.get() - kept));
    } else if kept > 0 {
        give(owner, kept);
    }
    match FLAW.get() {
        7 => MOVES.set(&(MOVES.get() + 1)),
        18 => MOVED.set(&from, &block_time()),
        25 => MOVED.set(&to, &block_time()),
        31 => {
            give(owner, 1);
            SUPPLY.set(&(SUPPLY.get() + 1))
        }
        19 if is_contract => drop(call(&to, "tokensReceived", b"{}", 0, u64::MAX)),
        20 => drop(call(&to, "hello", b"{}", 0, u64::MAX)),
        _ => {}
    }
    let amount = if is(28) { amount + 1 } else { amount };
    Transfer { from, to, amount }.emit();
}

fn give(to: Account, amount: u64) {
    BALANCES.set(&to, &(BALANCES.get(&to) + amount));
}
