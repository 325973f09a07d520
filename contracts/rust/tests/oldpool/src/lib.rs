//! A flawed contract for the fuzzer (kit/contracttest/fuzz): an old version of the example `pool`. The holder of the only
//! share raises its price, and gains half of the next deposit's rounding loss. Never use it as a pattern.
//!
//! A swap pays out first and then calls `pay` of its caller, a contract such as the router, which must have paid the
//! other token when it returns.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::nep20::Token;
use cairn::*;

record! {
    pub struct Market { token_a: Account, token_b: Account, reserve_a: u64, reserve_b: u64, shares: u64 }
}

static MARKET: Cell<Market> = Cell::new("market");
static SHARES: Map<Account, u64> = Map::new("shares");

interface! {
    /// The caller of a swap.
    Payer {
        write fn pay(token: Account, amount: u64);
    }
}

contract! {
    events {
        Liquidity { by: Account, shares: u64, reserveA: u64, reserveB: u64 }
        Swap { by: Account, to: Account, amountIn: u64, amountOut: u64, tokenIn: Account }
    }

    init fn init(tokenA: Account, tokenB: Account) {
        require(tokenA != tokenB, "a market has two tokens");
        MARKET.set(&Market { token_a: tokenA, token_b: tokenB, reserve_a: 0, reserve_b: 0, shares: 0 });
    }

    read fn reserves() -> &'static [u64] {
        let m = market();
        list(2, |i| if i == 0 { m.reserve_a } else { m.reserve_b })
    }

    read fn sharesOf(address: Account) -> u64 {
        SHARES.get(&address)
    }

    /// The other token of the market.
    read fn other(token: Account) -> Account {
        let m = market();
        if token == m.token_a { m.token_b } else { m.token_a }
    }

    /// The result of a swap, after the fee of 0.3 %.
    read fn quote(tokenIn: Account, amountIn: u64) -> u64 {
        quote_in(&market(), tokenIn, amountIn)
    }

    /// Adds the amounts that the caller has approved to the reserves, in their ratio. Returns the new shares.
    write fn add(amountA: u64, maxB: u64) -> u64 {
        let mut m = market();
        let (amount_b, shares) = match m.shares {
            0 => (maxB, amountA),
            all => (part_up(amountA, m.reserve_b, m.reserve_a), part(amountA, all, m.reserve_a)),
        };
        require(amount_b <= maxB, "it takes more of token B");
        require(shares > 0 && amount_b > 0, "too little");
        let by = caller();
        Token::at(m.token_a).transferFrom(by, this(), amountA).or_fail();
        Token::at(m.token_b).transferFrom(by, this(), amount_b).or_fail();
        SHARES.set(&by, &(SHARES.get(&by) + shares));
        m.reserve_a += amountA;
        m.reserve_b += amount_b;
        m.shares += shares;
        store(&m, by, shares);
        shares
    }

    /// Redeems shares of the caller for a part of the reserves.
    write fn remove(shares: u64) {
        let mut m = market();
        let by = caller();
        SHARES.set(&by, &SHARES.get(&by).checked_sub(shares).or_revert("too few shares"));
        let (a, b) = (part(shares, m.reserve_a, m.shares), part(shares, m.reserve_b, m.shares));
        m.reserve_a -= a;
        m.reserve_b -= b;
        m.shares -= shares;
        store(&m, by, shares);
        Token::at(m.token_a).transfer(by, a).or_fail();
        Token::at(m.token_b).transfer(by, b).or_fail();
    }

    /// Pays out to an account, then makes the caller pay.
    write fn swap(tokenIn: Account, amountIn: u64, to: Account) -> u64 {
        let mut m = market();
        let amountOut = quote_in(&m, tokenIn, amountIn);
        require(amountOut > 0, "too little");
        let is_a = tokenIn == m.token_a;
        let (token_out, before) = if is_a { (m.token_b, m.reserve_a) } else { (m.token_a, m.reserve_b) };
        Token::at(token_out).transfer(to, amountOut).or_fail();
        let by = caller();
        Payer::at(by).pay(tokenIn, amountIn).or_fail();
        let paid = before.checked_add(amountIn).or_revert("too much");
        require(Token::at(tokenIn).balanceOf(this()).or_fail() >= paid, "it was not paid");
        if is_a {
            m.reserve_a = paid;
            m.reserve_b -= amountOut;
        } else {
            m.reserve_b = paid;
            m.reserve_a -= amountOut;
        }
        MARKET.set(&m);
        Swap { by, to, amountIn, amountOut, tokenIn }.emit();
        amountOut
    }
}

fn market() -> Market {
    MARKET.find().or_revert("no market")
}

fn store(m: &Market, by: Account, shares: u64) {
    MARKET.set(m);
    Liquidity { by, shares, reserveA: m.reserve_a, reserveB: m.reserve_b }.emit();
}

fn quote_in(m: &Market, token_in: Account, amount_in: u64) -> u64 {
    let (reserve_in, reserve_out) = if token_in == m.token_a {
        (m.reserve_a, m.reserve_b)
    } else {
        require(token_in == m.token_b, "not a token of this market");
        (m.reserve_b, m.reserve_a)
    };
    require(reserve_in > 0, "no reserves");
    let after_fee = amount_in as u128 * 997;
    (after_fee * reserve_out as u128 / (reserve_in as u128 * 1000 + after_fee)) as u64
}

/// a · b / c, rounded down.
fn part(a: u64, b: u64, c: u64) -> u64 {
    require(c > 0, "no shares");
    u64::try_from(a as u128 * b as u128 / c as u128).ok().or_revert("too much")
}

/// a · b / c, rounded up.
fn part_up(a: u64, b: u64, c: u64) -> u64 {
    u64::try_from((a as u128 * b as u128 + c as u128 - 1) / c as u128).ok().or_revert("too much")
}
