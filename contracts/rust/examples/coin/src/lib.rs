//! A NEP-20 token whose code can be replaced, and that accepts permits.
//!
//! **Replacement**: the owner announces another contract, whose code this one will get. After a delay, in which everybody
//! can inspect it and leave, anybody may make the replacement (`replace_code`). Address and balances stay; the new code
//! must be able to read them. Without an owner (`setOwner` to the zero account), the token never changes again.
//!
//! **Permits**: a holder signs an allowance for a spender without paying a fee, and anybody brings it to the chain
//! (`account_verify`). This works for every kind of account.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

const MAX_DELAY: u64 = 365 * 24 * 60 * 60; // seconds: a longer delay is a typing error
/// The number of seconds after the delay for which an announcement is valid. A forgotten one must be announced again.
const GRACE: u64 = 14 * 24 * 60 * 60;

contract! {
    types {
        /// The announced contract, the hash of its code, and the start of validity in Unix seconds.
        record Next { template: Account, code: Hash, from: u64 }
    }

    storage {
        NAME: Cell<Str> = "name",
        SYMBOL: Cell<Str> = "symbol",
        OWNER: Cell<Account> = "owner",
        DELAY: Cell<u64> = "delay",
        SUPPLY: Cell<u64> = "supply",
        BALANCES: Map<Account, u64> = "balance",
        ALLOWANCES: Map<(Account, Account), u64> = "allowance",
        /// The number of used permits by account.
        NONCES: Map<Account, u64> = "nonce",
        NEXT: Cell<Next> = "next",
    }

    events {
        Transfer { from: Account, to: Account, amount: u64 }
        Approval { owner: Account, spender: Account, amount: u64 }
        Announced { template: Account, code: Hash, from: u64 }
        Cancelled { template: Account }
        OwnerSet { owner: Account }
    }

    /// Mints the supply to the deployer, the owner, who may announce new code.
    init fn init(name: Str, symbol: Str, supply: u64, delay: u64) {
        require(delay > 0 && delay <= MAX_DELAY, "a delay is from a second to a year");
        NAME.set(&name);
        SYMBOL.set(&symbol);
        DELAY.set(&delay);
        SUPPLY.set(&supply);
        OWNER.set(&caller());
        put(&BALANCES, &caller(), supply);
        Transfer { from: Account::ZERO, to: caller(), amount: supply }.emit();
    }

    read fn name() -> Str {
        NAME.get()
    }

    read fn symbol() -> Str {
        SYMBOL.get()
    }

    read fn decimals() -> u32 {
        2
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

    /// Sets a spender's allowance from the caller, in place of any earlier one.
    write fn approve(spender: Account, amount: u64) -> bool {
        set_allowance(caller(), spender, amount);
        true
    }

    /// Moves tokens of another account within the caller's allowance.
    write fn transferFrom(from: Account, to: Account, amount: u64) -> bool {
        require(amount > 0, "nothing to move");
        let key = (from, caller());
        let left = ALLOWANCES.get(&key).checked_sub(amount).or_revert("allowance is too low");
        put(&ALLOWANCES, &key, left);
        move_tokens(from, to, amount);
        true
    }

    /// The number of an account's next permit.
    read fn nonce(owner: Account) -> u64 {
        NONCES.get(&owner)
    }

    /// The message that an owner signs for a permit. Wallets show its spender, amount, number and deadline as text.
    read fn permitMessage(owner: Account, spender: Account, amount: u64, deadline: u64) -> Bytes {
        Bytes(permit_text(spender, amount, NONCES.get(&owner), deadline))
    }

    /// Sets a spender's allowance by a permit that the owner signed. A permit can be used once, until its deadline.
    write fn permit(owner: Account, spender: Account, amount: u64, deadline: u64, witness: Bytes) {
        require(block_time() <= deadline, "the permit has expired");
        let nonce = NONCES.get(&owner);
        let message = permit_text(spender, amount, nonce, deadline);
        require(account_verify(&owner, message, witness.0), "the owner has not signed it");
        NONCES.set(&owner, &(nonce + 1));
        set_allowance(owner, spender, amount);
    }

    read fn owner() -> Account {
        OWNER.get()
    }

    read fn delay() -> u64 {
        DELAY.get()
    }

    /// The announced code, if any.
    read fn next() -> Option<Next> {
        NEXT.find().filter(|next| block_time() <= next.from + GRACE)
    }

    /// Announces the contract whose code this one will get after the delay, in place of any earlier announcement.
    write fn announce(template: Account) {
        only_owner();
        let code = code_hash(&template).or_revert("there is no such contract");
        let from = block_time() + DELAY.get();
        NEXT.set(&Next { template, code, from });
        Announced { template, code, from }.emit();
    }

    write fn cancel() {
        only_owner();
        let next = NEXT.find().or_revert("nothing is announced");
        NEXT.remove();
        Cancelled { template: next.template }.emit();
    }

    /// Installs the announced code. Anybody may call this after the delay. It fails if the announced contract has
    /// changed its code since.
    write fn upgrade() {
        let next = NEXT.find().or_revert("nothing is announced");
        require(block_time() >= next.from, "the delay is not over");
        require(block_time() <= next.from + GRACE, "the announcement has expired");
        require(code_hash(&next.template) == Some(next.code), "it has another code by now");
        NEXT.remove();
        replace_code(&next.template);
    }

    /// Gives the owner's right to another account, or to the zero account for good.
    write fn setOwner(owner: Account) {
        only_owner();
        OWNER.set(&owner);
        OwnerSet { owner }.emit();
    }
}

fn only_owner() {
    require(caller() == OWNER.get(), "only the owner may");
}

fn set_allowance(owner: Account, spender: Account, amount: u64) {
    put(&ALLOWANCES, &(owner, spender), amount);
    Approval { owner, spender, amount }.emit();
}

fn move_tokens(from: Account, to: Account, amount: u64) {
    require(to != Account::ZERO, "the zero account cannot receive");
    let left = BALANCES.get(&from).checked_sub(amount).or_revert("balance is too low");
    put(&BALANCES, &from, left);
    put(&BALANCES, &to, BALANCES.get(&to) + amount); // cannot overflow: at most the supply
    Transfer { from, to, amount }.emit();
}

/// Sets an entry; 0 removes it.
fn put<K: Stored>(map: &Map<K, u64>, key: &K, amount: u64) {
    if amount == 0 {
        map.remove(key)
    } else {
        map.set(key, &amount)
    }
}

/// The message of a permit. The signed data already includes the contract, the chain and the owner.
fn permit_text(spender: Account, amount: u64, nonce: u64, deadline: u64) -> &'static [u8] {
    let mut text = Buffer::new();
    text.push(b"permit ");
    number(amount, &mut text);
    text.push(b" to 0x");
    for byte in spender.0 {
        text.push(&[digit(byte >> 4), digit(byte & 15)]);
    }
    text.push(b", number ");
    number(nonce, &mut text);
    text.push(b", until ");
    number(deadline, &mut text);
    text.bytes()
}

fn digit(n: u8) -> u8 {
    b"0123456789abcdef"[n as usize]
}

/// Appends a number in decimal.
fn number(n: u64, out: &mut Buffer) {
    if n > 9 {
        number(n / 10, out)
    }
    out.push(&[digit((n % 10) as u8)])
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::testing::{account, Chain, Signer};
    use cairn::{args, Account, Bytes};

    mod second {
        use cairn::*;
        static BALANCES: Map<Account, u64> = Map::new("balance");
        contract! {
            read fn balanceOf(address: Account) -> u64 {
                BALANCES.get(&address) * 100
            }
        }
    }

    struct Token(Chain, Account);

    impl Token {
        fn new() -> Self {
            let chain = Chain::new();
            let init = args! { name: "Coin", symbol: "CN", supply: 1_000u64, delay: 60u64 };
            let id = chain.deploy(account("alice"), CONTRACT, &init, 0).unwrap();
            Token(chain, id)
        }
        fn call(&self, from: Account, function: &str, args: &str) -> Result<String, String> {
            self.0.call(from, self.1, function, args, 0)
        }
        fn view(&self, function: &str, args: &str) -> String {
            self.0.view(self.1, function, args).unwrap()
        }
    }

    #[test]
    fn takes_a_permit_once() {
        let token = Token::new();
        let holder = Signer::new("holder");
        let (owner, spender) = (holder.account(), account("shop"));
        token.call(account("alice"), "transfer", &args! { to: owner, amount: 100u64 }).unwrap();
        let deadline = 1_700_000_050u64;
        let terms = args! { owner: owner, spender: spender, amount: 30u64, deadline: deadline };
        let message = token.view("permitMessage", &terms);
        let message: Vec<u8> = {
            let hex = message.trim_matches('"').trim_start_matches("0x");
            (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
        };
        assert!(String::from_utf8(message.clone()).unwrap().starts_with("permit 30 to 0x"));
        let witness: &'static [u8] = holder.sign(token.1, &message).leak();
        let permit = |amount: u64, spender: Account, witness: &'static [u8]| {
            let given = args! { owner: owner, spender: spender, amount: amount, deadline: deadline, witness: Bytes(witness) };
            token.call(account("anyone"), "permit", &given)
        };
        assert_eq!(permit(31, spender, witness).unwrap_err(), "the owner has not signed it");
        assert_eq!(permit(30, account("eve"), witness).unwrap_err(), "the owner has not signed it");
        assert_eq!(permit(30, spender, &witness[1..]).unwrap_err(), "the owner has not signed it");
        permit(30, spender, witness).unwrap();
        assert_eq!(permit(30, spender, witness).unwrap_err(), "the owner has not signed it");
        assert_eq!(token.view("nonce", &args! { owner: owner }), "1");
        let take = args! { from: owner, to: account("bob"), amount: 30u64 };
        token.call(spender, "transferFrom", &take).unwrap();
        assert_eq!(token.call(spender, "transferFrom", &take).unwrap_err(), "allowance is too low");
        token.0.advance(1, 51);
        assert_eq!(permit(30, spender, witness).unwrap_err(), "the permit has expired");
    }

    #[test]
    fn another_contract_takes_no_permit_of_this_one() {
        let (one, holder) = (Token::new(), Signer::new("holder"));
        let init = args! { name: "Other", symbol: "OT", supply: 1_000u64, delay: 60u64 };
        let other = one.0.deploy(account("alice"), CONTRACT, &init, 0).unwrap();
        let text = super::permit_text(account("shop"), 5, 0, u64::MAX);
        let witness = Bytes(holder.sign(one.1, text).leak());
        let given = args! {
            owner: holder.account(), spender: account("shop"), amount: 5u64, deadline: u64::MAX, witness: witness
        };
        let taken = one.0.call(account("anyone"), other, "permit", &given, 0);
        assert_eq!(taken.unwrap_err(), "the owner has not signed it");
        one.call(account("anyone"), "permit", &given).unwrap();
    }

    #[test]
    fn new_code_comes_after_the_delay() {
        let token = Token::new();
        let alice = account("alice");
        let next = token.0.deploy(account("anyone"), second::CONTRACT, "", 0).unwrap();
        let announce = args! { template: next };
        assert_eq!(token.call(account("eve"), "announce", &announce).unwrap_err(), "only the owner may");
        let none = args! { template: account("bob") };
        assert_eq!(token.call(alice, "announce", &none).unwrap_err(), "there is no such contract");
        assert_eq!(token.call(alice, "upgrade", "").unwrap_err(), "nothing is announced");
        token.call(alice, "announce", &announce).unwrap();
        token.call(alice, "cancel", "").unwrap();
        assert_eq!(token.call(alice, "cancel", "").unwrap_err(), "nothing is announced");
        token.call(alice, "announce", &announce).unwrap();
        token.0.advance(1, 59);
        assert_eq!(token.call(alice, "upgrade", "").unwrap_err(), "the delay is not over");
        token.0.advance(1, 1);
        let of = args! { address: alice };
        assert_eq!(token.view("balanceOf", &of), "1000");
        token.call(account("anyone"), "upgrade", "").unwrap();
        assert_eq!(token.view("balanceOf", &of), "100000"); // the new code reads the storage of the old code
        assert_eq!(token.call(alice, "transfer", &args! { to: alice, amount: 1u64 }).unwrap_err(), "no such function");
    }

    #[test]
    fn what_was_forgotten_expires_and_nobody_is_no_owner() {
        let token = Token::new();
        let alice = account("alice");
        let next = token.0.deploy(account("anyone"), second::CONTRACT, "", 0).unwrap();
        token.call(alice, "announce", &args! { template: next }).unwrap();
        token.0.advance(1, 60 + super::GRACE + 1);
        assert_eq!(token.call(alice, "upgrade", "").unwrap_err(), "the announcement has expired");
        assert_eq!(token.view("next", ""), "null");
        token.call(alice, "setOwner", &args! { owner: Account::ZERO }).unwrap();
        assert_eq!(token.call(alice, "announce", &args! { template: next }).unwrap_err(), "only the owner may");
    }
}
