//! Non-fungible tokens after NEP-11 (indivisible; docs/contracts.md, "Tokens of one each").
//!
//! The deployer mints. A token's owner may move it, burn it, or approve another account to move it once.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

record! {
    /// A token's position in the list of all tokens and in its owner's list, so that it can be removed from both.
    pub struct Item { owner: Account, approved: Option<Account>, among_all: u32, among_own: u32 }
}

static SYMBOL: Cell<Str> = Cell::new("symbol");
static MINTER: Cell<Account> = Cell::new("minter");
static ITEMS: Map<Bytes, Item> = Map::new("item");
static PROPERTIES: Map<Bytes, Str> = Map::new("properties"); // moves do not touch their bytes
static ALL: List<Bytes> = List::new("all");
static COUNTS: Map<Account, u32> = Map::new("count"); // number of an owner's tokens
static OWN: Map<(Account, u32), Bytes> = Map::new("own"); // an owner's tokens, by index from 0 to the count − 1

const MAX_ID: usize = 64; // bytes
const MAX_LISTED: u32 = 100;

interface! {
    json; // any contract may receive a token, and every contract accepts JSON
    /// A contract that asks to be notified of the tokens that it receives.
    Receiver {
        write fn onNEP11Payment(from: Account, amount: u64, tokenId: Bytes, data: Option<Bytes>);
    }
}

contract! {
    events {
        /// A token moved: a minted one comes from the zero account, a burned one goes to it. The amount is 1.
        Transfer { from: Account, to: Account, amount: u64, tokenId: Bytes }
        /// An account was approved to move a token once, or the approval was removed.
        Approval { owner: Account, approved: Option<Account>, tokenId: Bytes }
    }

    init fn init(symbol: Str) {
        SYMBOL.set(&symbol);
        MINTER.set(&caller());
    }

    read fn symbol() -> Str {
        SYMBOL.get()
    }

    /// 0: a token cannot be divided.
    read fn decimals() -> u32 {
        0
    }

    read fn totalSupply() -> u64 {
        ALL.len() as u64
    }

    read fn balanceOf(owner: Account) -> u64 {
        COUNTS.get(&owner) as u64
    }

    read fn ownerOf(tokenId: Bytes) -> Account {
        item(&tokenId).owner
    }

    /// The minter's description of a token: a JSON object with the member name, as in NEP-11.
    read fn properties(tokenId: Bytes) -> Str {
        item(&tokenId);
        PROPERTIES.get(&tokenId)
    }

    /// The account that is approved to move a token.
    read fn approved(tokenId: Bytes) -> Option<Account> {
        item(&tokenId).approved
    }

    /// At most 100 tokens from a position on.
    read fn tokens(start: u32, count: u32) -> &'static [Bytes] {
        listed(start, count, ALL.len(), |i| ALL.get(i))
    }

    /// At most 100 of an owner's tokens from a position on.
    read fn tokensOf(owner: Account, start: u32, count: u32) -> &'static [Bytes] {
        listed(start, count, COUNTS.get(&owner), |i| OWN.find(&(owner, i)))
    }

    /// Mints a token. Only the minter may call this.
    write fn mint(to: Account, tokenId: Bytes, properties: Str) {
        require(caller() == MINTER.get(), "only the minter may mint");
        require(!tokenId.0.is_empty() && tokenId.0.len() <= MAX_ID, "a token's ID has 1 to 64 bytes");
        require(ITEMS.find(&tokenId).is_none(), "there is such a token");
        require(to != Account::ZERO, "the zero account cannot receive");
        let item = Item { owner: to, approved: None, among_all: ALL.push(&tokenId), among_own: 0 };
        PROPERTIES.set(&tokenId, &properties);
        put(to, tokenId, item);
        moved(Account::ZERO, to, tokenId, None);
    }

    /// Burns a token of the caller's.
    write fn burn(tokenId: Bytes) {
        let item = item(&tokenId);
        require(caller() == item.owner, "only the owner may burn");
        take(&item);
        ALL.swap_remove(item.among_all);
        if let Some(last) = ALL.get(item.among_all) {
            ITEMS.set(&last, &Item { among_all: item.among_all, ..self::item(&last) });
        }
        ITEMS.remove(&tokenId);
        PROPERTIES.remove(&tokenId);
        Transfer { from: item.owner, to: Account::ZERO, amount: 1, tokenId }.emit();
    }

    /// Approves an account to move a token once, or removes the approval.
    write fn approve(to: Option<Account>, tokenId: Bytes) {
        let item = item(&tokenId);
        require(caller() == item.owner, "only the owner may approve");
        ITEMS.set(&tokenId, &Item { approved: to, ..item });
        Approval { owner: item.owner, approved: to, tokenId }.emit();
    }

    /// Moves a token that the caller owns or is approved for. A receiving contract is notified, with the data, and can
    /// refuse it.
    write fn transfer(to: Account, tokenId: Bytes, data: Option<Bytes>) -> bool {
        let item = item(&tokenId);
        let by = caller();
        require(by == item.owner || Some(by) == item.approved, "not the owner's, nor approved");
        require(to != Account::ZERO, "the zero account cannot receive");
        take(&item);
        put(to, tokenId, item);
        moved(item.owner, to, tokenId, data);
        true
    }
}

fn item(id: &Bytes) -> Item {
    require(id.0.len() <= MAX_ID, "no such token");
    ITEMS.find(id).or_revert("no such token")
}

/// Removes a token from its owner's list; the last one takes its place.
fn take(item: &Item) {
    let last = COUNTS.get(&item.owner) - 1;
    if item.among_own != last {
        let id = OWN.find(&(item.owner, last)).or_revert("no such token");
        OWN.set(&(item.owner, item.among_own), &id);
        ITEMS.set(&id, &Item { among_own: item.among_own, ..self::item(&id) });
    }
    OWN.remove(&(item.owner, last));
    if last == 0 {
        COUNTS.remove(&item.owner)
    } else {
        COUNTS.set(&item.owner, &last)
    }
}

/// Appends a token to an account's list, and removes its approval.
fn put(to: Account, id: Bytes, item: Item) {
    let count = COUNTS.get(&to);
    OWN.set(&(to, count), &id);
    COUNTS.set(&to, &(count + 1));
    ITEMS.set(&id, &Item { owner: to, approved: None, among_own: count, ..item });
}

/// Reports a move in an event, and to a receiving contract that asks to be notified, unless it moved the token itself.
/// This is the last action of a call, and the receiver cannot call this contract back meanwhile.
fn moved(from: Account, to: Account, id: Bytes, data: Option<Bytes>) {
    Transfer { from, to, amount: 1, tokenId: id }.emit();
    if to == caller() {
        return;
    }
    match Receiver::at(to).onNEP11Payment(from, 1, id, data) {
        Err(Failure { code: 3 | 4, .. }) => {} // a user, or a contract that does not ask to be notified
        told => told.or_fail(),
    }
}

fn listed(start: u32, count: u32, len: u32, at: impl Fn(u32) -> Option<Bytes>) -> &'static [Bytes] {
    let n = count.min(MAX_LISTED).min(len.saturating_sub(start));
    list(n as usize, |i| at(start + i as u32).or_revert("no such token"))
}

#[cfg(test)]
mod tests;
