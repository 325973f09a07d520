use super::{nep20, pool, CONTRACT};
use cairn::testing::{account, Chain, Contract};
use cairn::{args, list, Account};

/// Pretends to be a pool, and claims a token that is not part of the swap.
mod stranger {
    use cairn::*;

    record! {
        pub struct Wants { token: Account, amount: u64, times: u32 }
    }
    static WANTS: Cell<Wants> = Cell::new("wants");

    interface! {
        Router {
            write fn pay(token: Account, amount: u64);
        }
    }

    contract! {
        init fn init(token: Account, amount: u64, times: u32) {
            WANTS.set(&Wants { token, amount, times });
        }

        write fn swap(tokenIn: Account, amountIn: u64, to: Account) -> u64 {
            let wants = WANTS.find().or_revert("wants nothing");
            require(tokenIn != to && amountIn > 0, "a swap");
            for _ in 0..wants.times {
                Router::at(caller()).pay(wants.token, wants.amount).or_fail();
            }
            1_000_000 // a false report
        }
    }
}

/// A pool that, in the middle of a swap, lets another contract claim the payment or begins another swap.
mod nested {
    use cairn::*;

    static HELPER: Cell<Account> = Cell::new("helper"); // the zero account means: begin another swap
    static TOKENS: List<Account> = List::new("tokens");

    interface! {
        Router {
            write fn pay(token: Account, amount: u64);
            write fn swap(
                pools: &'static [Account], path: &'static [Account], amount: u64, minimum: u64, deadline: u64
            ) -> u64;
        }
        Helper {
            write fn help(router: Account, token: Account, amount: u64);
        }
    }

    contract! {
        init fn init(helper: Account, path: &'static [Account]) {
            HELPER.set(&helper);
            path.iter().for_each(|token| {
                TOKENS.push(token);
            });
        }

        write fn swap(tokenIn: Account, amountIn: u64, to: Account) -> u64 {
            require(to != this(), "a swap");
            let (helper, router) = (HELPER.get(), caller());
            if helper == Account::ZERO {
                let path = list(2, |i| TOKENS.get(i as u32).unwrap());
                return Router::at(router).swap(list(1, |_| this()), path, amountIn, 0, u64::MAX).or_fail();
            }
            Helper::at(helper).help(router, tokenIn, amountIn).or_fail();
            amountIn
        }

        write fn help(router: Account, token: Account, amount: u64) {
            Router::at(router).pay(token, amount).or_fail();
        }
    }
}

/// Returns the hash of an account's code.
mod teller {
    use cairn::*;

    contract! {
        read fn of(address: Account) -> Option<Hash> {
            code_hash(&address)
        }
    }
}

const LATE: u64 = u64::MAX;

struct World {
    chain: Chain,
    tokens: [Account; 3],
    pools: [Account; 2],
    router: Account,
}

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
    let add = args! { maxA: 50_000u64, maxB: 100_000u64, minShares: 0u64, deadline: LATE };
    chain.call(alice, id, "add", &add, 0).unwrap();
    id
}

/// A router that accepts pools with the code of this contract.
fn router(chain: &Chain, of: Account) -> Account {
    let teller = chain.deploy(account("alice"), teller::CONTRACT, "", 0).unwrap();
    let hash = chain.view(teller, "of", &args! { address: of }).unwrap();
    chain.deploy(account("alice"), CONTRACT, &format!("{{\"poolCode\":{}}}", hash), 0).unwrap()
}

impl World {
    /// Bob has 1,000 of each token, and has approved all of his A and C to the router.
    fn new() -> Self {
        let chain = Chain::new();
        let (alice, bob) = (account("alice"), account("bob"));
        let tokens = ["A", "B", "C"].map(|name| token(&chain, name));
        let pools = [0, 1].map(|i| market(&chain, tokens[i], tokens[i + 1]));
        let world = World { router: router(&chain, pools[0]), chain, tokens, pools };
        for token in tokens {
            world.chain.call(alice, token, "transfer", &args! { to: bob, amount: 1_000u64 }, 0).unwrap();
        }
        world.approves(world.router);
        world
    }

    fn approves(&self, router: Account) {
        for token in [self.tokens[0], self.tokens[2]] {
            self.chain.call(account("bob"), token, "approve", &args! { spender: router, amount: 1_000u64 }, 0).unwrap();
        }
    }

    fn swap(&self, router: Account, pools: &[Account], path: &[Account], minimum: u64, deadline: u64) -> Result<String, String> {
        let (pools, path) = (list(pools.len(), |i| pools[i]), list(path.len(), |i| path[i]));
        let given = args! { pools: pools, path: path, amount: 1_000u64, minimum: minimum, deadline: deadline };
        self.chain.call(account("bob"), router, "swap", &given, 0)
    }

    fn of_bob(&self) -> [String; 3] {
        self.tokens.map(|t| self.chain.view(t, "balanceOf", &args! { address: account("bob") }).unwrap())
    }
}

#[test]
fn swaps_through_two_pools() {
    let w = World::new();
    let refused = w.swap(w.router, &w.pools, &w.tokens, 4_000, LATE).unwrap_err();
    assert_eq!(refused, "less than the minimum");
    // 1000 -> 997 · 100000 / 50997 = 1955 (rounded down) -> (1955 · 997 / 1000 = 1949) · 100000 / 51949 = 3751
    assert_eq!(w.swap(w.router, &w.pools, &w.tokens, 3_751, LATE).unwrap(), "3751");
    assert_eq!(w.of_bob(), ["0", "1000", "4751"]);
    assert_eq!(w.chain.view(w.pools[0], "reserves", "").unwrap(), "[51000,98045]");
    let left = w.chain.view(w.tokens[1], "balanceOf", &args! { address: w.router }).unwrap();
    assert_eq!(left, "0");
}

#[test]
fn refuses_what_is_no_pool() {
    let w = World::new();
    let wants = args! { token: w.tokens[2], amount: 1_000u64, times: 1u32 };
    let stranger = w.chain.deploy(account("eve"), stranger::CONTRACT, &wants, 0).unwrap();
    for pool in [stranger, w.tokens[0], w.router, account("eve")] {
        assert_eq!(w.swap(w.router, &[pool], &w.tokens[..2], 0, LATE).unwrap_err(), "not a pool");
    }
    assert_eq!(w.of_bob(), ["1000"; 3]);
}

#[test]
fn a_lying_pool_gets_no_more_than_it_was_promised() {
    // A router that accepts the strangers as pools, so that only its record of its debt protects bob.
    for (token, amount, times, reason) in [
        (2, 1_000, 1, "not what was promised"), // an old allowance for another token
        (0, 1_001, 1, "not what was promised"),
        (0, 1_000, 2, "nothing is to be paid to this pool"),
        (0, 1_000, 1, "less than the minimum"), // its false report brings no tokens
    ] {
        let w = World::new();
        let wants = args! { token: w.tokens[token], amount: amount as u64, times: times as u32 };
        let stranger = w.chain.deploy(account("eve"), stranger::CONTRACT as Contract, &wants, 0).unwrap();
        let router = router(&w.chain, stranger);
        w.approves(router);
        let refused = w.swap(router, &[stranger], &w.tokens[..2], 1, LATE).unwrap_err();
        assert_eq!(refused, reason, "{} of token {}, {} times", amount, token, times);
        assert_eq!(w.of_bob(), ["1000"; 3]);
    }
}

#[test]
fn a_swap_in_a_swap_and_a_payment_for_another_are_refused() {
    let w = World::new();
    let path = list(2, |i| w.tokens[i]);
    let mine = |helper: Account| {
        let init = args! { helper: helper, path: path };
        w.chain.deploy(account("eve"), nested::CONTRACT as Contract, &init, 0).unwrap()
    };
    let again = mine(Account::ZERO);
    for (pool, reason) in [(again, "a swap is under way"), (mine(again), "nothing is to be paid to this pool")] {
        let router = router(&w.chain, pool);
        w.approves(router);
        assert_eq!(w.swap(router, &[pool], path, 0, LATE).unwrap_err(), reason);
        assert_eq!(w.of_bob(), ["1000"; 3]);
    }
}

#[test]
fn pays_only_in_a_swap() {
    let w = World::new();
    let pay = args! { token: w.tokens[0], amount: 1u64 };
    for _ in 0..2 {
        let refused = w.chain.call(account("eve"), w.router, "pay", &pay, 0).unwrap_err();
        assert_eq!(refused, "nothing is to be paid");
        w.swap(w.router, &w.pools, &w.tokens, 0, LATE).ok(); // the second time there is nothing left to swap
    }
}

#[test]
fn keeps_bounds_of_time_and_form() {
    let w = World::new();
    assert_eq!(w.swap(w.router, &w.pools, &w.tokens, 0, 1_699_999_999).unwrap_err(), "the deadline is over");
    for (pools, path) in [(&w.pools[..1], &w.tokens[..]), (&w.pools[..], &w.tokens[..2]), (&[], &w.tokens[..1])] {
        assert_eq!(w.swap(w.router, pools, path, 0, LATE).unwrap_err(), "a path has one token more than pools");
    }
    let [a, b, c] = w.tokens;
    assert_eq!(w.swap(w.router, &w.pools[..1], &[a, a], 0, LATE).unwrap_err(), "the pool took what it was to give");
    assert_eq!(w.swap(w.router, &w.pools[..1], &[c, b], 0, LATE).unwrap_err(), "not a token of this market");
    assert_eq!(w.swap(w.router, &w.pools, &w.tokens, 3_751, 1_700_000_000).unwrap(), "3751");
}
