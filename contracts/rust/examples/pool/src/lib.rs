//! A market of two tokens whose price follows from its reserves: their product never falls (as in Uniswap v2).
//!
//! A swap pays out first and then calls `pay` of its caller, a contract such as the router, which must have paid the
//! other token when it returns. Users swap through a router, which enforces their minimum and their deadline.
//!
//! For the attacks that it resists see docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::nep20::Token;
use cairn::*;

/// Shares of the first deposit that stay locked for ever. They make an attack expensive that raises the price of one
/// share until later deposits round down to none: the attacker pays a thousand times what one share gains.
const LOCKED: u64 = 1_000;

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
        /// Shares were minted for a deposit.
        Added { by: Account, shares: u64, amountA: u64, amountB: u64 }
        /// Shares were redeemed.
        Removed { by: Account, shares: u64, amountA: u64, amountB: u64 }
        Swap { by: Account, to: Account, amountIn: u64, amountOut: u64, tokenIn: Account }
    }

    init fn init(tokenA: Account, tokenB: Account) {
        require(tokenA != tokenB, "a market has two tokens");
        MARKET.set(&Market { token_a: tokenA, token_b: tokenB, reserve_a: 0, reserve_b: 0, shares: 0 });
    }

    /// The two tokens.
    read fn tokens() -> &'static [Account] {
        let m = market();
        list(2, |i| if i == 0 { m.token_a } else { m.token_b })
    }

    /// The amounts that determine prices, from deposits and swaps. They exclude tokens sent here outside of these.
    read fn reserves() -> &'static [u64] {
        let m = market();
        list(2, |i| if i == 0 { m.reserve_a } else { m.reserve_b })
    }

    read fn totalShares() -> u64 {
        market().shares
    }

    read fn sharesOf(address: Account) -> u64 {
        SHARES.get(&address)
    }

    /// The result of a swap now, after the fee of 0.3 %. Anyone can move this price within a transaction, so do not
    /// lend or settle by it.
    read fn quote(tokenIn: Account, amountIn: u64) -> u64 {
        quote_in(&market(), tokenIn, amountIn)
    }

    /// Adds to the reserves, in their ratio, at most the given amounts of the tokens that the caller has approved to
    /// the pool. It returns the new shares. The first deposit decides the ratio.
    write fn add(maxA: u64, maxB: u64, minShares: u64, deadline: u64) -> u64 {
        in_time(deadline);
        let mut m = market();
        let by = caller();
        let (shares, amountA, amountB) = if m.shares == 0 {
            let all = root(maxA as u128 * maxB as u128);
            SHARES.set(&Account::ZERO, &LOCKED);
            m.shares = LOCKED;
            (all.checked_sub(LOCKED).or_revert("too little for a first deposit"), maxA, maxB)
        } else {
            let shares = fits(part(maxA, m.shares, m.reserve_a).min(part(maxB, m.shares, m.reserve_b)));
            (shares, part_up(shares, m.reserve_a, m.shares), part_up(shares, m.reserve_b, m.shares))
        };
        require(shares > 0, "too little");
        require(shares >= minShares, "fewer shares than the minimum");
        m.reserve_a = sum(m.reserve_a, amountA);
        m.reserve_b = sum(m.reserve_b, amountB);
        m.shares = sum(m.shares, shares);
        MARKET.set(&m);
        SHARES.set(&by, &(SHARES.get(&by) + shares)); // cannot overflow: at most all shares
        take(m.token_a, by, amountA);
        take(m.token_b, by, amountB);
        Added { by, shares, amountA, amountB }.emit();
        shares
    }

    /// Redeems shares of the caller for a part of the reserves, at least the given amount of each token.
    write fn remove(shares: u64, minA: u64, minB: u64, deadline: u64) {
        in_time(deadline);
        let mut m = market();
        let by = caller();
        require(shares > 0, "no shares");
        let left = SHARES.get(&by).checked_sub(shares).or_revert("too few shares");
        let (amountA, amountB) = (fits(part(shares, m.reserve_a, m.shares)), fits(part(shares, m.reserve_b, m.shares)));
        require(amountA >= minA && amountB >= minB, "less than the minimum");
        if left == 0 {
            SHARES.remove(&by)
        } else {
            SHARES.set(&by, &left)
        }
        m.reserve_a -= amountA;
        m.reserve_b -= amountB;
        m.shares -= shares;
        MARKET.set(&m);
        give(m.token_a, by, amountA);
        give(m.token_b, by, amountB);
        Removed { by, shares, amountA, amountB }.emit();
    }

    /// Pays out to an account, then makes the caller pay.
    write fn swap(tokenIn: Account, amountIn: u64, to: Account) -> u64 {
        let mut m = market();
        let amountOut = quote_in(&m, tokenIn, amountIn);
        require(amountOut > 0, "too little");
        let token_out = if tokenIn == m.token_a {
            m.reserve_a = sum(m.reserve_a, amountIn);
            m.reserve_b -= amountOut;
            m.token_b
        } else {
            m.reserve_b = sum(m.reserve_b, amountIn);
            m.reserve_a -= amountOut;
            m.token_a
        };
        MARKET.set(&m);
        give(token_out, to, amountOut);
        let by = caller();
        brings(tokenIn, amountIn, || Payer::at(by).pay(tokenIn, amountIn).or_fail());
        Swap { by, to, amountIn, amountOut, tokenIn }.emit();
        amountOut
    }
}

fn market() -> Market {
    MARKET.find().or_revert("no market")
}

fn in_time(deadline: u64) {
    require(block_time() <= deadline, "the deadline is over")
}

fn give(token: Account, to: Account, amount: u64) {
    require(Token::at(token).transfer(to, amount).or_fail(), "the token refused");
}

fn take(token: Account, from: Account, amount: u64) {
    brings(token, amount, || require(Token::at(token).transferFrom(from, this(), amount).or_fail(), "the token refused"))
}

/// Runs a payment that must bring an amount of a token. The amount that arrived counts, so a token that keeps a part of
/// each transfer cannot be traded here.
fn brings(token: Account, amount: u64, pay: impl FnOnce()) {
    let held = || Token::at(token).balanceOf(this()).or_fail();
    let before = held();
    pay();
    require(held() >= sum(before, amount), "it was not paid");
}

/// The amount paid out is rounded down, and so is the part of the payment that counts.
fn quote_in(m: &Market, token_in: Account, amount_in: u64) -> u64 {
    let (reserve_in, reserve_out) = if token_in == m.token_a {
        (m.reserve_a, m.reserve_b)
    } else {
        require(token_in == m.token_b, "not a token of this market");
        (m.reserve_b, m.reserve_a)
    };
    require(m.shares > 0, "no reserves");
    let after_fee = amount_in as u128 * 997 / 1000;
    (after_fee * reserve_out as u128 / (reserve_in as u128 + after_fee)) as u64 // fits: below the reserve
}

fn sum(a: u64, b: u64) -> u64 {
    a.checked_add(b).or_revert("too much")
}

fn fits(amount: u128) -> u64 {
    u64::try_from(amount).ok().or_revert("too much")
}

/// a · b / c, rounded down.
fn part(a: u64, b: u64, c: u64) -> u128 {
    a as u128 * b as u128 / c as u128
}

/// a · b / c, rounded up.
fn part_up(a: u64, b: u64, c: u64) -> u64 {
    fits((a as u128 * b as u128 + (c as u128 - 1)) / c as u128)
}

/// The square root, rounded down, bit by bit.
fn root(n: u128) -> u64 {
    let mut root = 0_u64;
    for bit in (0..64).rev() {
        let more = root | 1 << bit;
        if more as u128 * more as u128 <= n {
            root = more
        }
    }
    root
}

#[cfg(test)]
#[path = "../../nep20/src/lib.rs"]
mod nep20;
#[cfg(test)]
mod tests;
