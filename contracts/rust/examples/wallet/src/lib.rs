//! A wallet with session keys: an account that its owner lets other accounts use, each until a time and within limits
//! on coins, tokens and callable functions. A session is an ordinary account, such as a key in a browser whose fees
//! another account pays.
//!
//! Spending is counted before it happens, and the arguments of token transfers are read, so a session cannot exceed its
//! limits. For the attacks that it resists see docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

const MAX_ITEMS: usize = 32; // tokens, and functions, of a session
const MAX_STEPS: usize = 16;
/// The first byte of arguments in the binary form (docs/protocol.md, "ABI").
const BINARY: u8 = 1;
/// The functions that move tokens or let others move them. A session may only call the transfer, within its limit.
const OF_TOKENS: [&[u8]; 4] = [b"transfer", b"approve", b"transferFrom", b"burn"];

contract! {
    types {
        /// The amount of a token that a session may transfer.
        record Limit { token: Account, amount: u64 }
        /// A function of a contract that a session may call.
        record Right { contract: Account, method: Str }
        /// A call with coins, or a payment of coins if there is no method. The arguments are in the binary form without
        /// its first byte.
        record Step { to: Account, method: Str, args: Bytes, value: u64 }
        /// A session: the time of its end in Unix seconds, and the coins that it may still spend.
        record Session { number: u64, until: u64, coins: u64 }
    }

    storage {
        OWNER: Cell<Account> = "owner",
        /// The number of sessions so far. It separates the permissions of each session from those of earlier ones.
        NUMBER: Cell<u64> = "number",
        SESSIONS: Map<Account, Session> = "session",
        TOKENS: Map<(u64, Account), u64> = "tokens",
        RIGHTS: Map<(u64, Account, Str), bool> = "rights",
    }

    events {
        Allowed { session: Account, until: u64, coins: u64 }
        Revoked { session: Account }
        Ran { by: Account, steps: u32 }
        OwnerSet { owner: Account }
    }

    init fn init(owner: Account) {
        set_owner(owner);
    }

    read fn owner() -> Account {
        OWNER.get()
    }

    /// A session that has not ended.
    read fn session(account: Account) -> Option<Session> {
        SESSIONS.find(&account).filter(|s| block_time() <= s.until)
    }

    /// The amount of a token that a session may still transfer.
    read fn tokensLeft(account: Account, token: Account) -> u64 {
        SESSIONS.find(&account).map_or(0, |s| TOKENS.get(&(s.number, token)))
    }

    /// Accepts coins. Coins sent to the account without a call can be spent too.
    payable fn deposit() {}

    /// Lets an account act until a time, within the given coins, tokens and functions. This replaces all earlier
    /// permissions of the account.
    write fn allow(session: Account, until: u64, coins: u64, tokens: &'static [Limit], rights: &'static [Right]) {
        only_owner();
        require(until >= block_time(), "the time has passed");
        require(session != this(), "the wallet is no session");
        require(tokens.len() <= MAX_ITEMS && rights.len() <= MAX_ITEMS, "at most 32 tokens and 32 functions");
        let number = NUMBER.get() + 1;
        NUMBER.set(&number);
        SESSIONS.set(&session, &Session { number, until, coins });
        for limit in tokens {
            require(TOKENS.find(&(number, limit.token)).is_none(), "a token stands there twice");
            TOKENS.set(&(number, limit.token), &limit.amount);
        }
        for right in rights {
            require(!right.method.is_empty(), "a function has a name");
            require(right.contract != this(), "a session may not call the wallet");
            require(!is_of_tokens(&right.method), "tokens have limits, not functions");
            RIGHTS.set(&(number, right.contract, right.method), &true);
        }
        Allowed { session, until, coins }.emit();
    }

    /// Ends a session.
    write fn revoke(session: Account) {
        only_owner();
        require(SESSIONS.find(&session).is_some(), "there is no such session");
        SESSIONS.remove(&session);
        Revoked { session }.emit();
    }

    /// Executes all steps of payments and calls, or none. The owner has no limits; a session stays within its own.
    write fn run(steps: &'static [Step]) {
        require(!steps.is_empty() && steps.len() <= MAX_STEPS, "a run has 1 to 16 steps");
        let by = caller();
        if by != OWNER.get() {
            spend(by, steps);
        }
        for step in steps {
            take(step);
        }
        Ran { by, steps: steps.len() as u32 }.emit();
    }

    /// Gives the wallet to a new owner. Sessions stay as they are.
    write fn setOwner(owner: Account) {
        only_owner();
        set_owner(owner);
    }
}

fn only_owner() {
    require(caller() == OWNER.get(), "only the owner may");
}

fn set_owner(owner: Account) {
    require(owner != Account::ZERO, "the zero account owns nothing");
    OWNER.set(&owner);
    OwnerSet { owner }.emit();
}

fn is_of_tokens(method: &Str) -> bool {
    OF_TOKENS.contains(&method.as_bytes())
}

/// Counts the spending of all steps of a session, before any of them is executed.
fn spend(by: Account, steps: &[Step]) {
    let mut session = SESSIONS.find(&by).or_revert("the caller is no session");
    require(block_time() <= session.until, "the session has ended");
    for step in steps {
        session.coins = session.coins.checked_sub(step.value).or_revert("more coins than the session has left");
        if step.method.is_empty() {
            require(step.args.0.is_empty(), "a payment has no arguments");
        } else if is_of_tokens(&step.method) {
            spend_tokens(session.number, step);
        } else {
            let key = (session.number, step.to, step.method);
            require(RIGHTS.get(&key), "the session may not call this function");
        }
    }
    SESSIONS.set(&by, &session);
}

/// Counts a transfer of tokens: to[32] ‖ amount u64.
fn spend_tokens(number: u64, step: &Step) {
    require(step.method.as_bytes() == OF_TOKENS[0], "a session transfers tokens, and does nothing else with them");
    require(step.args.0.len() == 40, "a transfer has an account and an amount");
    let mut amount = [0; 8];
    amount.copy_from_slice(&step.args.0[32..]);
    let key = (number, step.to);
    let left = TOKENS.get(&key).checked_sub(u64::from_le_bytes(amount)).or_revert("more tokens than the session has left");
    TOKENS.set(&key, &left);
}

/// Executes a step, whose spending was counted before.
fn take(step: &Step) {
    if step.method.is_empty() {
        return pay(&step.to, step.value);
    }
    let mut args = Buffer::new();
    args.push_array(&[BINARY]);
    args.push(step.args.0);
    call(&step.to, step.method, args.bytes(), step.value, u64::MAX).or_fail();
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::testing::{account, Chain};
    use cairn::{args, Account};

    mod token {
        use cairn::*;
        static BALANCES: Map<Account, u64> = Map::new("balance");
        contract! {
            init fn init() {
                BALANCES.set(&caller(), &1_000);
            }
            read fn balanceOf(address: Account) -> u64 {
                BALANCES.get(&address)
            }
            write fn transfer(to: Account, amount: u64) -> bool {
                BALANCES.set(&caller(), &BALANCES.get(&caller()).checked_sub(amount).or_revert("too few"));
                BALANCES.set(&to, &(BALANCES.get(&to) + amount));
                true
            }
            write fn approve(spender: Account, amount: u64) -> bool {
                let _ = (spender, amount);
                true
            }
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{:02x}", b)).collect()
    }

    /// A wallet with 1,000 coins and 1,000 tokens, and a session with 100 coins, 50 tokens and the function balanceOf.
    struct Wallet {
        chain: Chain,
        id: Account,
        token: Account,
    }

    impl Wallet {
        fn new() -> Self {
            let chain = Chain::new();
            let id = chain.deploy(account("owner"), CONTRACT, &args! { owner: account("owner") }, 0).unwrap();
            let token = chain.deploy(account("minter"), token::CONTRACT, "", 0).unwrap();
            chain.call(account("minter"), token, "transfer", &args! { to: id, amount: 1_000u64 }, 0).unwrap();
            chain.fund(id, 1_000);
            let wallet = Wallet { chain, id, token };
            wallet.allow("session", 100, 50, "balanceOf").unwrap();
            wallet
        }
        fn allow(&self, session: &str, coins: u64, tokens: u64, method: &str) -> Result<String, String> {
            let until = 1_700_000_100;
            let (token, session) = (hex(self.token.0), hex(account(session).0));
            let given = format!(
                "{{\"session\":\"0x{}\",\"until\":{},\"coins\":{},\"tokens\":[{{\"token\":\"0x{}\",\"amount\":{}}}],\
                 \"rights\":[{{\"contract\":\"0x{}\",\"method\":\"{}\"}}]}}",
                session, until, coins, token, tokens, token, method
            );
            self.chain.call(account("owner"), self.id, "allow", &given, 0)
        }
        fn run(&self, from: &str, steps: &[String]) -> Result<String, String> {
            let given = format!("{{\"steps\":[{}]}}", steps.join(","));
            self.chain.call(account(from), self.id, "run", &given, 0)
        }
        fn transfer(&self, amount: u64) -> String {
            let data = [&account("shop").0[..], &amount.to_le_bytes()].concat();
            step(self.token, "transfer", &data, 0)
        }
        fn tokens_of(&self, who: Account) -> String {
            self.chain.view(self.token, "balanceOf", &args! { address: who }).unwrap()
        }
    }

    fn step(to: Account, method: &str, data: &[u8], value: u64) -> String {
        let (to, data) = (hex(to.0), hex(data));
        format!("{{\"to\":\"0x{}\",\"method\":\"{}\",\"args\":\"0x{}\",\"value\":{}}}", to, method, data, value)
    }

    #[test]
    fn a_session_spends_to_the_unit_and_no_further() {
        let w = Wallet::new();
        let pay = |value| step(account("shop"), "", b"", value);
        w.run("session", &[pay(60), w.transfer(20)]).unwrap();
        assert_eq!(w.run("session", &[pay(41)]).unwrap_err(), "more coins than the session has left");
        assert_eq!(w.run("session", &[pay(20), pay(21)]).unwrap_err(), "more coins than the session has left");
        assert_eq!(w.run("session", &[w.transfer(31)]).unwrap_err(), "more tokens than the session has left");
        assert_eq!(w.run("session", &[w.transfer(20), w.transfer(11)]).unwrap_err(), "more tokens than the session has left");
        w.run("session", &[pay(40), w.transfer(30)]).unwrap();
        assert_eq!(w.run("session", &[pay(1)]).unwrap_err(), "more coins than the session has left");
        assert_eq!((w.chain.balance(account("shop")), w.tokens_of(account("shop"))), (100, "50".to_string()));
        w.run("owner", &[pay(900), w.transfer(950)]).unwrap();
        assert_eq!(w.chain.balance(w.id), 0);
    }

    #[test]
    fn a_step_that_fails_costs_no_allowance() {
        let w = Wallet::new();
        let pay = |value| step(account("shop"), "", b"", value);
        let nowhere = step(w.token, "balanceOf", b"", 0); // a call without its argument
        assert!(w.run("session", &[pay(100), nowhere]).is_err());
        w.run("session", &[pay(100)]).unwrap();
    }

    #[test]
    fn a_session_does_only_what_it_may() {
        let w = Wallet::new();
        let data = [&account("eve").0[..], &1u64.to_le_bytes()].concat();
        for (made, reason) in [
            (step(w.token, "approve", &data, 0), "a session transfers tokens, and does nothing else with them"),
            (step(w.token, "transfer", &data[..39], 0), "a transfer has an account and an amount"),
            (step(w.token, "init", b"", 0), "the session may not call this function"),
            (step(w.id, "setOwner", account("session").0, 0), "the session may not call this function"),
            (step(account("shop"), "", b"x", 1), "a payment has no arguments"),
            (step(account("other token"), "transfer", &data, 0), "more tokens than the session has left"),
        ] {
            assert_eq!(w.run("session", &[made]).unwrap_err(), reason);
        }
        assert_eq!(w.run("eve", &[w.transfer(1)]).unwrap_err(), "the caller is no session");
        assert_eq!(w.run("session", &[]).unwrap_err(), "a run has 1 to 16 steps");
        w.run("session", &[step(w.token, "balanceOf", account("shop").0, 0)]).unwrap();
        assert_eq!(w.allow("eve", 0, 0, "approve").unwrap_err(), "tokens have limits, not functions");
    }

    #[test]
    fn a_session_ends() {
        let w = Wallet::new();
        let revoke = |from| w.chain.call(account(from), w.id, "revoke", &args! { session: account("session") }, 0);
        assert_eq!(revoke("session").unwrap_err(), "only the owner may");
        revoke("owner").unwrap();
        assert_eq!(w.run("session", &[w.transfer(1)]).unwrap_err(), "the caller is no session");
        w.allow("session", 0, 1, "balanceOf").unwrap(); // a session that expired stays expired
        assert_eq!(w.run("session", &[w.transfer(2)]).unwrap_err(), "more tokens than the session has left");
        w.chain.advance(1, 100);
        w.run("session", &[w.transfer(1)]).unwrap();
        w.chain.advance(1, 1);
        assert_eq!(w.run("session", &[w.transfer(0)]).unwrap_err(), "the session has ended");
    }
}
