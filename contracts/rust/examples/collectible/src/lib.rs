//! Things of which there is one each, numbered from 0. Who deploys the contract mints them.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

record! {
    pub struct Item { owner: Account, approved: Option<Account>, uri: Str }
}

static MINTER: Cell<Account> = Cell::new("minter");
static ITEMS: List<Item> = List::new("items");
static COUNTS: Map<Account, u32> = Map::new("count"); // of an owner's items

contract! {
    events {
        Transfer { from: Account, to: Account, id: u32 }
        Approval { owner: Account, approved: Option<Account>, id: u32 }
    }

    init fn init() {
        MINTER.set(&caller());
    }

    read fn total() -> u32 {
        ITEMS.len()
    }

    read fn balanceOf(address: Account) -> u32 {
        COUNTS.get(&address)
    }

    read fn ownerOf(id: u32) -> Account {
        item(id).owner
    }

    read fn uri(id: u32) -> Str {
        item(id).uri
    }

    /// Who else may transfer an item.
    read fn approved(id: u32) -> Option<Account> {
        item(id).approved
    }

    /// Makes items, and gives the number of each.
    write fn mint(to: Account, uris: &'static [Str]) -> &'static [u32] {
        require(caller() == MINTER.get(), "only the minter may mint");
        let first = ITEMS.len();
        for uri in uris {
            let id = ITEMS.push(&Item { owner: to, approved: None, uri });
            Transfer { from: Account::ZERO, to, id }.emit();
        }
        COUNTS.set(&to, &(COUNTS.get(&to) + uris.len() as u32));
        list(uris.len(), |i| first + i as u32)
    }

    /// Allows an account to transfer an item once, or no one.
    write fn approve(id: u32, to: Option<Account>) {
        let item = item(id);
        require(caller() == item.owner, "only the owner may approve");
        ITEMS.set(id, &Item { approved: to, ..item });
        Approval { owner: item.owner, approved: to, id }.emit();
    }

    write fn transfer(to: Account, id: u32) {
        let item = item(id);
        let by = caller();
        require(by == item.owner || Some(by) == item.approved, "not the owner's, nor approved");
        require(to != Account::ZERO, "the zero account cannot receive");
        ITEMS.set(id, &Item { owner: to, approved: None, ..item });
        COUNTS.set(&item.owner, &(COUNTS.get(&item.owner) - 1));
        COUNTS.set(&to, &(COUNTS.get(&to) + 1));
        Transfer { from: item.owner, to, id }.emit();
    }
}

fn item(id: u32) -> Item {
    ITEMS.get(id).or_revert("no such item")
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::args;
    use cairn::testing::{account, Chain};
    use cairn::Str;

    #[test]
    fn one_each() {
        let chain = Chain::new();
        let (minter, alice, bob) = (account("minter"), account("alice"), account("bob"));
        let id = chain.deploy(minter, CONTRACT, "", 0).unwrap();
        let uris: &[Str] = &["ipfs://a", "ipfs://\"b\""];
        let mint = args! { to: alice, uris: uris };
        assert_eq!(chain.call(alice, id, "mint", &mint, 0).unwrap_err(), "only the minter may mint");
        assert_eq!(chain.call(minter, id, "mint", &mint, 0).unwrap(), "[0,1]");
        assert_eq!(chain.view(id, "uri", &args! { id: 1u32 }).unwrap(), r#""ipfs://\"b\"""#);

        let give = args! { to: bob, id: 1u32 };
        assert_eq!(chain.call(bob, id, "transfer", &give, 0).unwrap_err(), "not the owner's, nor approved");
        chain.call(alice, id, "approve", &args! { id: 1u32, to: Some(bob) }, 0).unwrap();
        chain.call(bob, id, "transfer", &give, 0).unwrap();
        assert_eq!(chain.view(id, "approved", &args! { id: 1u32 }).unwrap(), "null");
        assert_eq!(chain.view(id, "balanceOf", &args! { address: alice }).unwrap(), "1");
        assert_eq!(chain.view(id, "ownerOf", &args! { id: 2u32 }).unwrap_err(), "no such item");
        let last = chain.events().pop().unwrap();
        assert_eq!(last.topics[..2], [*alice.0, *bob.0]);
        assert_eq!(last.topics[2][31], 1);
    }
}
