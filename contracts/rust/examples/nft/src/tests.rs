use super::CONTRACT;
use cairn::testing::{account, Chain, Contract};
use cairn::{args, Account, Bytes, Str};

/// A contract that keeps a received token, unless the data is "no". With "back" it tries to return the token at once.
mod vault {
    use cairn::*;

    static LAST: Cell<(Account, u64, Bytes)> = Cell::new("last");

    interface! {
        Nft {
            write fn transfer(to: Account, tokenId: Bytes, data: Option<Bytes>) -> bool;
        }
    }

    contract! {
        write fn onNEP11Payment(from: Account, amount: u64, tokenId: Bytes, data: Option<Bytes>) {
            require(data != Some(Bytes(b"no")), "not wanted");
            if data == Some(Bytes(b"back")) {
                Nft::at(caller()).transfer(from, tokenId, None).or_fail();
            }
            LAST.set(&(from, amount, tokenId));
        }

        /// Fetches a token that it is approved for.
        write fn collect(nft: Account, tokenId: Bytes) {
            Nft::at(nft).transfer(this(), tokenId, None).or_fail();
        }

        read fn last() -> Bytes {
            LAST.find().or_revert("nothing came").2
        }
    }
}

/// A contract that does not ask to be notified.
mod deaf {
    cairn::contract! {
        read fn deaf() -> bool {
            true
        }
    }
}

struct Nft(Chain, Account);

impl Nft {
    /// Alice has the tokens 1, 2 and 3.
    fn new() -> Self {
        let chain = Chain::new();
        let id = chain.deploy(account("minter"), CONTRACT, &args! { symbol: "ART" }, 0).unwrap();
        let nft = Nft(chain, id);
        for id in [b"1", b"2", b"3"] {
            nft.mint("minter", account("alice"), id).unwrap();
        }
        nft.0.events();
        nft
    }
    fn call(&self, from: &str, function: &str, args: &str) -> Result<String, String> {
        self.0.call(account(from), self.1, function, args, 0)
    }
    fn view(&self, function: &str, args: &str) -> Result<String, String> {
        self.0.view(self.1, function, args)
    }
    fn mint(&self, from: &str, to: Account, id: &'static [u8]) -> Result<String, String> {
        let properties: Str = r#"{"name":"One"}"#;
        self.call(from, "mint", &args! { to: to, tokenId: Bytes(id), properties: properties })
    }
    fn transfer(&self, from: &str, to: Account, id: &'static [u8], data: Option<Bytes>) -> Result<String, String> {
        self.call(from, "transfer", &args! { to: to, tokenId: Bytes(id), data: data })
    }
    fn owner(&self, id: &'static [u8]) -> Result<String, String> {
        self.view("ownerOf", &args! { tokenId: Bytes(id) })
    }
    /// The contents of the lists, which must agree with the tokens' owners.
    fn lists(&self) -> [String; 3] {
        let page = |of| self.view("tokensOf", &args! { owner: account(of), start: 0u32, count: 100u32 }).unwrap();
        [page("alice"), page("bob"), self.view("tokens", &args! { start: 0u32, count: 100u32 }).unwrap()]
    }
}

fn text(of: Account) -> String {
    format!("\"0x{}\"", of.0.iter().map(|b| format!("{:02x}", b)).collect::<String>())
}

#[test]
fn says_what_it_is() {
    let nft = Nft::new();
    assert_eq!(nft.view("symbol", "").unwrap(), "\"ART\"");
    assert_eq!(nft.view("decimals", "").unwrap(), "0");
    assert_eq!(nft.view("totalSupply", "").unwrap(), "3");
    assert_eq!(nft.view("properties", &args! { tokenId: Bytes(b"1") }).unwrap(), r#""{\"name\":\"One\"}""#);
    assert_eq!(nft.view("balanceOf", &args! { owner: account("alice") }).unwrap(), "3");
    assert_eq!(nft.owner(b"4").unwrap_err(), "no such token");
    assert_eq!(nft.owner(&[7; 300]).unwrap_err(), "no such token");
}

#[test]
fn moves_by_its_owner_only() {
    let nft = Nft::new();
    let bob = account("bob");
    assert_eq!(nft.transfer("bob", bob, b"1", None).unwrap_err(), "not the owner's, nor approved");
    assert_eq!(nft.transfer("minter", bob, b"1", None).unwrap_err(), "not the owner's, nor approved");
    assert_eq!(nft.transfer("alice", Account::ZERO, b"1", None).unwrap_err(), "the zero account cannot receive");
    assert_eq!(nft.transfer("alice", bob, b"1", None).unwrap(), "true");
    assert_eq!(nft.owner(b"1").unwrap(), text(bob));
    let event = nft.0.events().pop().unwrap();
    let data = format!("{{\"from\":{},\"to\":{},\"amount\":1,\"tokenId\":\"0x31\"}}", text(account("alice")), text(bob));
    assert_eq!((event.name.as_str(), event.data), ("Transfer", data));
    assert_eq!(event.topics[..2], [*account("alice").0, *bob.0]);
}

#[test]
fn an_approval_is_used_up_and_does_not_outlive_the_owner() {
    let nft = Nft::new();
    let (alice, bob, eve) = (account("alice"), account("bob"), account("eve"));
    let approve = |to: Option<Account>| args! { to: to, tokenId: Bytes(b"1") };
    assert_eq!(nft.call("eve", "approve", &approve(Some(eve))).unwrap_err(), "only the owner may approve");
    nft.call("alice", "approve", &approve(Some(eve))).unwrap();
    nft.transfer("alice", bob, b"1", None).unwrap();
    assert_eq!(nft.transfer("eve", eve, b"1", None).unwrap_err(), "not the owner's, nor approved");
    nft.call("bob", "approve", &approve(Some(eve))).unwrap();
    assert_eq!(nft.view("approved", &args! { tokenId: Bytes(b"1") }).unwrap(), text(eve));
    nft.transfer("eve", alice, b"1", None).unwrap();
    assert_eq!(nft.transfer("eve", eve, b"1", None).unwrap_err(), "not the owner's, nor approved");
    nft.call("alice", "approve", &approve(Some(eve))).unwrap();
    nft.call("alice", "approve", &approve(None)).unwrap();
    assert_eq!(nft.transfer("eve", eve, b"1", None).unwrap_err(), "not the owner's, nor approved");
}

#[test]
fn is_minted_once_and_by_the_minter() {
    let nft = Nft::new();
    let alice = account("alice");
    assert_eq!(nft.mint("alice", alice, b"4").unwrap_err(), "only the minter may mint");
    assert_eq!(nft.mint("minter", alice, b"1").unwrap_err(), "there is such a token");
    assert_eq!(nft.mint("minter", Account::ZERO, b"4").unwrap_err(), "the zero account cannot receive");
    for id in [&[][..], &[0; 65]] {
        assert_eq!(nft.mint("minter", alice, id).unwrap_err(), "a token's ID has 1 to 64 bytes");
    }
    nft.mint("minter", alice, &[0; 64]).unwrap();
}

#[test]
fn the_lists_hold_what_there_is() {
    let nft = Nft::new();
    let (alice, bob) = (account("alice"), account("bob"));
    nft.transfer("alice", bob, b"1", None).unwrap();
    assert_eq!(nft.lists(), [r#"["0x33","0x32"]"#, r#"["0x31"]"#, r#"["0x31","0x32","0x33"]"#]);
    nft.transfer("alice", alice, b"3", None).unwrap(); // a transfer to oneself
    nft.transfer("alice", alice, b"3", None).unwrap(); // the token is the last of its list
    assert_eq!(nft.lists()[0], r#"["0x32","0x33"]"#);
    let burn = |id: &'static [u8]| args! { tokenId: Bytes(id) };
    assert_eq!(nft.call("alice", "burn", &burn(b"1")).unwrap_err(), "only the owner may burn");
    nft.call("bob", "burn", &burn(b"1")).unwrap();
    assert_eq!(nft.lists(), [r#"["0x32","0x33"]"#, "[]", r#"["0x33","0x32"]"#]);
    nft.call("alice", "burn", &burn(b"2")).unwrap();
    nft.call("alice", "burn", &burn(b"3")).unwrap();
    assert_eq!(nft.lists(), ["[]"; 3]);
    assert_eq!(nft.view("totalSupply", "").unwrap(), "0");
    nft.mint("minter", bob, b"1").unwrap();
    assert_eq!(nft.lists(), ["[]", r#"["0x31"]"#, r#"["0x31"]"#]);
    for (start, count, want) in [(0u32, 0u32, "[]"), (1, u32::MAX, "[]"), (u32::MAX, 1, "[]"), (0, u32::MAX, r#"["0x31"]"#)] {
        assert_eq!(nft.view("tokens", &args! { start: start, count: count }).unwrap(), want);
    }
}

#[test]
fn a_page_is_bounded_whatever_others_mint() {
    let nft = Nft::new();
    for i in 0..100_u8 {
        nft.mint("minter", account("alice"), vec![9, i].leak()).unwrap();
    }
    assert_eq!(nft.view("totalSupply", "").unwrap(), "103");
    let count = |page: String| page.matches("0x").count();
    for (start, want) in [(0_u32, 100), (50, 53)] {
        let all = args! { start: start, count: u32::MAX };
        let own = args! { owner: account("alice"), start: start, count: u32::MAX };
        let pages = [nft.view("tokens", &all).unwrap(), nft.view("tokensOf", &own).unwrap()];
        assert_eq!(pages.map(count), [want; 2]);
    }
}

#[test]
fn a_contract_is_told_and_can_refuse_but_not_come_back() {
    let nft = Nft::new();
    let vault = nft.0.deploy(account("bob"), vault::CONTRACT as Contract, "", 0).unwrap();
    let deaf = nft.0.deploy(account("bob"), deaf::CONTRACT as Contract, "", 0).unwrap();
    assert_eq!(nft.transfer("alice", vault, b"1", Some(Bytes(b"no"))).unwrap_err(), "not wanted");
    assert_eq!(nft.owner(b"1").unwrap(), text(account("alice")));
    assert_eq!(nft.transfer("alice", vault, b"1", Some(Bytes(b"back"))).unwrap_err(), "re-entry refused");
    nft.transfer("alice", vault, b"1", None).unwrap();
    assert_eq!(nft.0.view(vault, "last", "").unwrap(), "\"0x31\"");
    nft.transfer("alice", deaf, b"2", Some(Bytes(b"no"))).unwrap();
    nft.mint("minter", vault, b"4").unwrap();
    assert_eq!(nft.0.view(vault, "last", "").unwrap(), "\"0x34\"");
    // A contract that fetches a token itself is not notified; it is still on the call stack.
    nft.call("alice", "approve", &args! { to: Some(vault), tokenId: Bytes(b"3") }).unwrap();
    nft.0.call(account("bob"), vault, "collect", &args! { nft: nft.1, tokenId: Bytes(b"3") }, 0).unwrap();
    assert_eq!(nft.owner(b"3").unwrap(), text(vault));
}
