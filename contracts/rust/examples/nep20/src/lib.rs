//! The reference NEP-20 token (docs/protocol.md, "Conventions above consensus").
//!
//! The deployer owns it and may mint; holders may burn their own tokens.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static NAME: Cell<Str> = Cell::new("name");
static SYMBOL: Cell<Str> = Cell::new("symbol");
static DECIMALS: Cell<u32> = Cell::new("decimals");
static OWNER: Cell<Account> = Cell::new("owner");
static SUPPLY: Cell<u64> = Cell::new("supply");
static BALANCES: Map<Account, u64> = Map::new("balance");
static ALLOWANCES: Map<(Account, Account), u64> = Map::new("allowance"); // by owner and spender

contract! {
    events {
        /// Tokens moved: minted ones come from the zero account, burned ones go to it.
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

    /// Sets a spender's allowance from the caller, in place of any earlier one.
    write fn approve(spender: Account, amount: u64) -> bool {
        let owner = caller();
        put(&ALLOWANCES, &(owner, spender), amount);
        Approval { owner, spender, amount }.emit();
        true
    }

    /// Moves tokens of an owner within the caller's allowance. An owner who calls this needs an allowance too.
    write fn transferFrom(from: Account, to: Account, amount: u64) -> bool {
        // With an amount of 0, anyone could fill an owner's history with transfers that the owner never made.
        require(amount > 0, "nothing to move");
        let key = (from, caller());
        let left = ALLOWANCES.get(&key).checked_sub(amount).or_revert("allowance is too low");
        put(&ALLOWANCES, &key, left);
        move_tokens(from, to, amount);
        true
    }

    /// Mints tokens. Only the owner may call this.
    write fn mint(to: Account, amount: u64) -> bool {
        require(caller() == OWNER.get(), "only the owner may mint");
        mint_to(to, amount);
        true
    }

    /// Burns tokens of the caller.
    write fn burn(amount: u64) -> bool {
        let from = caller();
        take(from, amount);
        SUPPLY.set(&(SUPPLY.get() - amount)); // cannot underflow: the supply is at least one account's balance
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
    put(&BALANCES, &to, BALANCES.get(&to) + amount); // cannot overflow: at most the supply
}

/// Sets an entry; 0 removes it.
fn put<K: Stored>(map: &Map<K, u64>, key: &K, amount: u64) {
    if amount == 0 {
        map.remove(key)
    } else {
        map.set(key, &amount)
    }
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::testing::{account, Chain};
    use cairn::{args, Account};

    struct Token(Chain, Account);

    impl Token {
        fn new(supply: u64) -> Self {
            let chain = Chain::new();
            let init = args! { name: "Gold", symbol: "GLD", decimals: 2u32, initialSupply: supply };
            let id = chain.deploy(account("alice"), CONTRACT, &init, 0).unwrap();
            Token(chain, id)
        }
        fn view(&self, function: &str, args: &str) -> String {
            self.0.view(self.1, function, args).unwrap()
        }
        fn call(&self, from: &str, function: &str, args: &str) -> Result<String, String> {
            self.0.call(account(from), self.1, function, args, 0)
        }
        fn balances(&self) -> Vec<String> {
            ["alice", "bob", "carol"].iter().map(|n| self.view("balanceOf", &args! { address: account(n) })).collect()
        }
    }

    #[test]
    fn begins_with_the_supply_at_its_owner() {
        let token = Token::new(1_000);
        assert_eq!(token.view("name", ""), "\"Gold\"");
        assert_eq!(token.view("symbol", "{}"), "\"GLD\"");
        assert_eq!(token.view("decimals", ""), "2");
        assert_eq!(token.view("totalSupply", ""), "1000");
        assert_eq!(token.balances(), ["1000", "0", "0"]);
        let minted = token.0.events();
        assert_eq!(minted[0].topics[..2], [[0; 32], *account("alice").0]);
        assert_eq!((minted[0].topics[2][30], minted[0].topics[2][31]), (3, 232));
    }

    #[test]
    fn transfers() {
        let token = Token::new(1_000);
        let give = |to, amount: u64| args! { to: to, amount: amount };
        assert_eq!(token.call("alice", "transfer", &give(account("bob"), 300)).unwrap(), "true");
        assert_eq!(token.call("bob", "transfer", &give(account("bob"), 300)).unwrap(), "true");
        assert_eq!(token.call("bob", "transfer", &give(account("carol"), 0)).unwrap(), "true");
        assert_eq!(token.balances(), ["700", "300", "0"]);
        assert_eq!(token.call("bob", "transfer", &give(account("carol"), 301)).unwrap_err(), "balance is too low");
        let zero = token.call("bob", "transfer", &give(Account::ZERO, 1)).unwrap_err();
        assert_eq!(zero, "the zero account cannot receive");
        assert_eq!(token.0.events().len(), 4);
    }

    #[test]
    fn spends_allowances() {
        let token = Token::new(1_000);
        let take = args! { from: account("alice"), to: account("carol"), amount: 60u64 };
        assert_eq!(token.call("bob", "transferFrom", &take).unwrap_err(), "allowance is too low");
        assert_eq!(token.call("alice", "transferFrom", &take).unwrap_err(), "allowance is too low");
        token.call("alice", "approve", &args! { spender: account("bob"), amount: u64::MAX }).unwrap();
        token.call("alice", "approve", &args! { spender: account("bob"), amount: 100u64 }).unwrap();
        assert_eq!(token.call("bob", "transferFrom", &take).unwrap(), "true");
        let left = args! { owner: account("alice"), spender: account("bob") };
        assert_eq!(token.view("allowance", &left), "40");
        assert_eq!(token.balances(), ["940", "0", "60"]);
    }

    #[test]
    fn nobody_makes_transfers_of_others_appear() {
        let token = Token::new(1_000);
        token.0.events();
        let nothing = args! { from: account("alice"), to: account("eve"), amount: 0u64 };
        assert_eq!(token.call("eve", "transferFrom", &nothing).unwrap_err(), "nothing to move");
        assert_eq!(token.0.events(), []);
    }

    #[test]
    fn mints_and_burns() {
        let token = Token::new(1_000);
        let mint = |amount: u64| args! { to: account("bob"), amount: amount };
        assert_eq!(token.call("bob", "mint", &mint(1)).unwrap_err(), "only the owner may mint");
        assert_eq!(token.call("alice", "mint", &mint(u64::MAX)).unwrap_err(), "the supply overflows");
        assert_eq!(token.call("alice", "mint", &mint(50)).unwrap(), "true");
        assert_eq!(token.call("bob", "burn", &args! { amount: 51u64 }).unwrap_err(), "balance is too low");
        assert_eq!(token.call("bob", "burn", &args! { amount: 20u64 }).unwrap(), "true");
        assert_eq!(token.view("totalSupply", ""), "1030");
    }

    #[test]
    fn refuses_malformed_arguments() {
        let token = Token::new(1_000);
        let bob: String = account("bob").0.iter().map(|b| format!("{:02x}", b)).collect();
        for (args, reason) in [
            ("", "to: missing"),
            ("[]", "arguments: not a JSON object"),
            ("{\"to\":\"0xBOB\"}", "amount: missing"),
            ("{\"to\":\"0xBOB\",\"amount\":1,\"to\":\"0xBOB\"}", "to: given twice"),
            ("{\"to\":\"0xBOB\",\"amount\":1,\"memo\":\"\"}", "unknown argument memo"),
            ("{\"to\":\"BOB\",\"amount\":1}", "to: not a valid account"),
            ("{\"to\":\"0xBOB\",\"amount\":1.0}", "amount: not a valid u64"),
            ("{\"to\":\"0xBOB\",\"amount\":01}", "amount: not a valid u64"),
            ("{\"to\":\"0xBOB\",\"amount\":-1}", "amount: not a valid u64"),
            ("{\"to\":\"0xBOB\",\"amount\":18446744073709551616}", "amount: not a valid u64"),
            ("{\"to\":\"0xBOB\",\"amount\":\"1 \"}", "amount: not a valid u64"),
            ("{\"to\":\"0xBOB\",\"amount\":{}}", "amount: not a valid u64"),
            ("{\"to\":\"0xBOB\",\"amount\":1} x", "arguments: malformed JSON"),
            ("{\"to\":\"0xBOB\",\"amount\":1,}", "arguments: malformed JSON"),
            ("{\"to\":\"0xBOB\",\"amount\":1", "arguments: malformed JSON"),
        ] {
            let got = token.call("alice", "transfer", &args.replace("BOB", &bob)).unwrap_err();
            assert_eq!(got, reason, "{}", args);
        }
        let args = " { \"amount\" : \"18\" , \"\\u0074o\" : \"0xBOB\" } ".replace("BOB", &bob);
        assert_eq!(token.call("alice", "transfer", &args).unwrap(), "true");
    }
}
