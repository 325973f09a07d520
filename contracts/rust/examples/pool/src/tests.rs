use super::{nep20, CONTRACT};
use cairn::testing::{account, Chain, Contract};
use cairn::{args, Account};

/// The caller of a swap. It pays the amount that the test sets, and may try to call the pool back in the middle.
mod trader {
    use cairn::nep20::Token;
    use cairn::*;

    static SHORT: Cell<u64> = Cell::new("short"); // shortfall of its payment
    static COMES_BACK: Cell<bool> = Cell::new("comes back");

    interface! {
        Pool {
            read fn quote(tokenIn: Account, amountIn: u64) -> u64;
            write fn swap(tokenIn: Account, amountIn: u64, to: Account) -> u64;
        }
    }

    contract! {
        reentrant;

        write fn swap(pool: Account, tokenIn: Account, amountIn: u64, short: u64, comesBack: bool) -> u64 {
            SHORT.set(&short);
            COMES_BACK.set(&comesBack);
            Pool::at(pool).swap(tokenIn, amountIn, this()).or_fail()
        }

        write fn pay(token: Account, amount: u64) {
            if COMES_BACK.get() {
                Pool::at(caller()).quote(token, amount).or_fail();
            }
            require(Token::at(token).transfer(caller(), amount - SHORT.get()).or_fail(), "refused");
        }
    }
}

/// A token that keeps a hundredth of each transfer by a spender.
mod taxed {
    use cairn::*;

    static BALANCES: Map<Account, u64> = Map::new("balance");

    contract! {
        init fn init() {
            BALANCES.set(&caller(), &1_000_000);
        }

        read fn balanceOf(address: Account) -> u64 {
            BALANCES.get(&address)
        }

        write fn transferFrom(from: Account, to: Account, amount: u64) -> bool {
            BALANCES.set(&from, &(BALANCES.get(&from) - amount));
            BALANCES.set(&to, &(BALANCES.get(&to) + amount - amount / 100));
            true
        }
    }
}

const LATE: u64 = u64::MAX;

struct Market {
    chain: Chain,
    a: Account,
    b: Account,
    pool: Account,
    trader: Account,
}

impl Market {
    /// A pool of two tokens, and a trader. Of the given supply of each token, "eve" and "bob" have a third each.
    fn new(supply: u64) -> Self {
        let chain = Chain::new();
        let alice = account("alice");
        let init = args! { name: "T", symbol: "T", decimals: 18u32, initialSupply: supply };
        let [a, b] = [0, 1].map(|_| chain.deploy(alice, nep20::CONTRACT, &init, 0).unwrap());
        let pool = chain.deploy(alice, CONTRACT, &args! { tokenA: a, tokenB: b }, 0).unwrap();
        let trader = chain.deploy(alice, trader::CONTRACT, "", 0).unwrap();
        for token in [a, b] {
            for to in [account("eve"), account("bob"), trader] {
                chain.call(alice, token, "transfer", &args! { to: to, amount: supply / 3 }, 0).unwrap();
                chain.call(to, token, "approve", &args! { spender: pool, amount: u64::MAX }, 0).unwrap();
            }
        }
        Market { chain, a, b, pool, trader }
    }

    fn add(&self, by: &str, max_a: u64, max_b: u64, min_shares: u64, deadline: u64) -> Result<u64, String> {
        let given = args! { maxA: max_a, maxB: max_b, minShares: min_shares, deadline: deadline };
        self.chain.call(account(by), self.pool, "add", &given, 0).map(number)
    }

    fn remove(&self, by: &str, shares: u64, min_a: u64, min_b: u64, deadline: u64) -> Result<(), String> {
        let given = args! { shares: shares, minA: min_a, minB: min_b, deadline: deadline };
        self.chain.call(account(by), self.pool, "remove", &given, 0).map(|_| ())
    }

    fn swap(&self, token: Account, amount: u64, short: u64, back: bool) -> Result<u64, String> {
        let given = args! { pool: self.pool, tokenIn: token, amountIn: amount, short: short, comesBack: back };
        self.chain.call(account("eve"), self.trader, "swap", &given, 0).map(number)
    }

    fn has(&self, who: Account) -> [u64; 2] {
        [self.a, self.b].map(|t| number(self.chain.view(t, "balanceOf", &args! { address: who }).unwrap()))
    }

    fn shares_of(&self, who: Account) -> u64 {
        number(self.chain.view(self.pool, "sharesOf", &args! { address: who }).unwrap())
    }

    fn reserves(&self) -> String {
        self.chain.view(self.pool, "reserves", "").unwrap()
    }
}

fn number(text: String) -> u64 {
    text.trim_matches('"').parse().unwrap()
}

#[test]
fn adds_and_removes() {
    let m = Market::new(3_000_000);
    assert_eq!(m.add("bob", 1_000, 1_000, 0, LATE).unwrap_err(), "too little");
    assert_eq!(m.add("bob", 10, 10, 0, LATE).unwrap_err(), "too little for a first deposit");
    assert_eq!(m.add("bob", 40_000, 90_000, 0, LATE).unwrap(), 59_000); // 60,000 shares minus the locked ones
    assert_eq!(m.shares_of(Account::ZERO), 1_000);
    // The depositor keeps the rest of the offered amount.
    assert_eq!(m.add("eve", u64::MAX, 9, 6, LATE).unwrap(), 6);
    assert_eq!(m.has(account("eve")), [1_000_000 - 4, 1_000_000 - 9]);
    m.remove("eve", 6, 4, 9, LATE).unwrap();
    assert_eq!(m.has(account("eve")), [1_000_000; 2]);
    assert_eq!(m.remove("eve", 1, 0, 0, LATE).unwrap_err(), "too few shares");
    assert_eq!(m.remove("eve", 0, 0, 0, LATE).unwrap_err(), "no shares");
    m.remove("bob", 59_000, 0, 0, LATE).unwrap();
    assert_eq!((m.reserves(), m.has(m.pool)), ("[667,1500]".into(), [667, 1_500])); // the part of the locked shares
}

#[test]
fn the_first_depositor_cannot_make_shares_dear() {
    let m = Market::new(3_000_000);
    // The attack: hold the only share, make it worth as much as the next deposit, and gain from the rounding.
    assert_eq!(m.add("eve", 1, 2, 0, LATE).unwrap_err(), "too little for a first deposit");
    assert_eq!(m.add("eve", 1_001, 1_001, 0, LATE).unwrap(), 1);
    m.swap(m.a, 100_000, 0, false).unwrap();

    let before = m.has(account("bob"));
    let shares = m.add("bob", 50_000, 50_000, 1, LATE).unwrap();
    m.remove("bob", shares, 0, 0, LATE).unwrap();
    let lost = before[0] - m.has(account("bob"))[0];
    m.remove("eve", 1, 0, 0, LATE).unwrap();
    let gained = m.has(account("eve"))[0] as i64 - (1_000_000 - 1_001);
    assert!(lost <= 101 && gained < 200, "bob lost {}, eve has {} for what she paid 100,000 for", lost, gained);
}

#[test]
fn a_donation_moves_no_price_and_no_share() {
    let m = Market::new(3_000_000);
    m.add("bob", 10_000, 10_000, 0, LATE).unwrap();
    let reserves = m.reserves();
    let gift = args! { to: m.pool, amount: 500_000u64 };
    m.chain.call(account("eve"), m.a, "transfer", &gift, 0).unwrap();
    assert_eq!(m.reserves(), reserves);
    assert_eq!(m.add("bob", 1_000, 1_000, 0, LATE).unwrap(), 1_000);
    // The attack does not pay with a swap either.
    assert_eq!(m.swap(m.a, 1_000, 1, false).unwrap_err(), "it was not paid");
}

#[test]
fn deposits_and_withdrawals_keep_their_bounds() {
    let m = Market::new(3_000_000);
    m.add("bob", 10_000, 10_000, 0, LATE).unwrap();
    m.swap(m.a, 10_000, 0, false).unwrap(); // before eve's deposit, which was computed for the old ratio
    assert_eq!(m.add("eve", 1_000, 1_000, 900, LATE).unwrap_err(), "fewer shares than the minimum");
    assert_eq!(m.remove("bob", 1_000, 900, 900, LATE).unwrap_err(), "less than the minimum");
    assert_eq!(m.add("eve", 1_000, 1_000, 0, 1_699_999_999).unwrap_err(), "the deadline is over");
    assert_eq!(m.remove("bob", 1_000, 0, 0, 1_699_999_999).unwrap_err(), "the deadline is over");
    m.remove("bob", 1_000, 0, 0, 1_700_000_000).unwrap();
}

#[test]
fn a_swap_must_be_paid_and_cannot_come_back() {
    let m = Market::new(3_000_000);
    m.add("bob", 10_000, 20_000, 0, LATE).unwrap();
    assert_eq!(m.swap(m.a, 100, 1, false).unwrap_err(), "it was not paid");
    assert_eq!(m.swap(m.a, 100, 0, true).unwrap_err(), "re-entry refused");
    assert_eq!(m.swap(m.a, 1, 0, false).unwrap_err(), "too little");
    assert_eq!(m.swap(m.pool, 100, 0, false).unwrap_err(), "not a token of this market");
    assert_eq!(m.swap(m.a, 100, 0, false).unwrap(), 99 * 20_000 / 10_099);
    assert_eq!(m.reserves(), "[10100,19804]");
}

#[test]
fn deposits_and_withdrawals_are_rounded_for_the_pool() {
    let m = Market::new(3_000_000);
    m.add("bob", 40_000, 90_000, 0, LATE).unwrap();
    // 7 of 60,000 shares are worth 4.67 A and 10.5 B.
    assert_eq!(m.add("eve", u64::MAX, 11, 7, LATE).unwrap(), 7);
    assert_eq!(m.has(account("eve")), [1_000_000 - 5, 1_000_000 - 11]);
    m.remove("eve", 7, 0, 0, LATE).unwrap();
    assert_eq!(m.has(account("eve")), [1_000_000 - 1, 1_000_000 - 1]);
}

#[test]
fn the_product_never_falls() {
    let m = Market::new(3_000_000);
    m.add("bob", 5_003, 7_001, 0, LATE).unwrap();
    let mut product = 5_003 * 7_001;
    for i in 0..60 {
        let _ = m.swap([m.a, m.b][i % 2], 1 + (i as u64 * 7_919) % 641, 0, false); // too small deposits are refused
        let [a, b] = m.has(m.pool);
        assert!(a * b >= product, "{} · {}", a, b);
        product = a * b;
    }
}

#[test]
fn tokens_of_18_decimals_fit() {
    let m = Market::new(u64::MAX);
    let (third, tokens) = (u64::MAX / 3, 3_000_000_000_000_000_000);
    m.add("bob", tokens, tokens, 0, LATE).unwrap();
    let got = m.swap(m.a, tokens, 0, false).unwrap();
    assert!(got > 1_497_000_000_000_000_000 && got < 1_500_000_000_000_000_000, "{}", got);
    assert_eq!(m.has(m.trader), [third - tokens, third + got]);
    assert_eq!(m.swap(m.a, u64::MAX, 0, false).unwrap_err(), "too much");
}

#[test]
fn a_pool_of_one_token_would_be_paid_with_what_it_gave() {
    let m = Market::new(3_000_000);
    let same = m.chain.deploy(account("eve"), CONTRACT, &args! { tokenA: m.a, tokenB: m.a }, 0);
    assert_eq!(same.unwrap_err(), "a market has two tokens");
}

#[test]
fn a_token_that_keeps_a_part_is_refused() {
    let chain = Chain::new();
    let alice = account("alice");
    let [a, b] = [0, 1].map(|_| chain.deploy(alice, taxed::CONTRACT as Contract, "", 0).unwrap());
    let pool = chain.deploy(alice, CONTRACT, &args! { tokenA: a, tokenB: b }, 0).unwrap();
    let given = args! { maxA: 10_000u64, maxB: 10_000u64, minShares: 0u64, deadline: LATE };
    assert_eq!(chain.call(alice, pool, "add", &given, 0).unwrap_err(), "it was not paid");
}
