use super::{nep20, CONTRACT};
use cairn::testing::{account, Chain, Contract};
use cairn::{args, list, Account, Bytes, Str};

/// A contract that is an owner and, when it is paid, tries to have the same proposal executed again.
mod greedy {
    use cairn::*;

    static ID: Cell<u32> = Cell::new("id");

    interface! {
        Multisig {
            write fn confirm(id: u32);
            write fn execute(id: u32);
        }
    }

    contract! {
        reentrant;

        write fn confirm(multisig: Account, id: u32) {
            ID.set(&id);
            Multisig::at(multisig).confirm(id).or_fail();
        }

        payable fn take() {
            Multisig::at(caller()).execute(ID.get()).or_fail();
        }
    }
}

struct Multisig(Chain, Account);

impl Multisig {
    /// Two of a, b and c, with 100 coins.
    fn new() -> Self {
        let chain = Chain::new();
        let id = chain.deploy(account("anyone"), CONTRACT, &owners(&["a", "b", "c"], 2), 0).unwrap();
        chain.fund(account("anyone"), 100);
        chain.call(account("anyone"), id, "deposit", "", 100).unwrap();
        Multisig(chain, id)
    }
    fn propose(&self, by: &str, to: Account, method: Str, given: &str, value: u64) -> Result<u32, String> {
        let bytes = Bytes(leak(given.into()).as_bytes());
        let given = args! { to: to, method: method, args: bytes, value: value };
        self.0.call(account(by), self.1, "propose", &given, 0).map(|id| id.parse().unwrap())
    }
    fn call(&self, by: &str, function: &str, id: u32) -> Result<String, String> {
        self.0.call(account(by), self.1, function, &args! { id: id }, 0)
    }
    fn view(&self, function: &str, given: &str) -> String {
        self.0.view(self.1, function, given).unwrap()
    }
}

fn owners(names: &[&str], threshold: u32) -> String {
    let of = |name: &str| if name == "zero" { Account::ZERO } else { account(name) };
    args! { owners: list(names.len(), |i| of(names[i])), threshold: threshold }
}

#[test]
fn pays_what_enough_owners_confirmed_once() {
    let m = Multisig::new();
    let shop = account("shop");
    let id = m.propose("a", shop, "", "", 60).unwrap();
    assert_eq!(m.call("a", "execute", id).unwrap_err(), "too few confirmations");
    assert_eq!(m.call("a", "confirm", id).unwrap_err(), "confirmed already");
    m.call("b", "confirm", id).unwrap();
    m.call("b", "revoke", id).unwrap();
    assert_eq!(m.call("b", "revoke", id).unwrap_err(), "not confirmed");
    assert_eq!(m.call("a", "execute", id).unwrap_err(), "too few confirmations");
    m.call("c", "confirm", id).unwrap();
    assert_eq!((m.view("confirmations", &args! { id: id }), m.view("isExecuted", &args! { id: id })), ("2".into(), "false".into()));
    m.call("b", "execute", id).unwrap(); // any owner may execute, even one who did not confirm
    assert_eq!((m.0.balance(shop), m.0.balance(m.1)), (60, 40));
    for function in ["execute", "confirm", "revoke"] {
        assert_eq!(m.call("c", function, id).unwrap_err(), "executed already");
    }
}

#[test]
fn only_owners_act() {
    let m = Multisig::new();
    let id = m.propose("a", account("shop"), "", "", 1).unwrap();
    m.call("b", "confirm", id).unwrap();
    for function in ["confirm", "revoke", "execute"] {
        assert_eq!(m.call("eve", function, id).unwrap_err(), "only an owner may");
        assert_eq!(m.call("a", function, id + 1).unwrap_err(), "no such proposal");
    }
    assert_eq!(m.propose("eve", account("eve"), "", "", 1).unwrap_err(), "only an owner may");
    let set = m.0.call(account("a"), m.1, "setOwners", &owners(&["a"], 1), 0);
    assert_eq!(set.unwrap_err(), "only by a proposal");
    assert_eq!(m.propose("a", account("shop"), "", "", 0).unwrap_err(), "a payment has coins and no arguments");
    assert_eq!(m.propose("a", account("shop"), "", "{}", 1).unwrap_err(), "a payment has coins and no arguments");
    let long: Str = leak("x".repeat(65));
    assert_eq!(m.propose("a", account("shop"), long, "", 0).unwrap_err(), "too long");
}

#[test]
fn a_proposal_expires() {
    let m = Multisig::new();
    let id = m.propose("a", account("shop"), "", "", 60).unwrap();
    m.call("b", "confirm", id).unwrap();
    m.0.advance(1, super::MAX_AGE + 1);
    for function in ["execute", "confirm", "revoke"] {
        assert_eq!(m.call("c", function, id).unwrap_err(), "the proposal has expired");
    }
}

#[test]
fn calls_and_can_try_again() {
    let m = Multisig::new();
    let init = args! { name: "G", symbol: "G", decimals: 0u32, initialSupply: 50u64 };
    let token = m.0.deploy(account("a"), nep20::CONTRACT, &init, 0).unwrap();
    let give = args! { to: account("shop"), amount: 50u64 };
    let id = m.propose("a", token, "transfer", &give, 0).unwrap();
    m.call("b", "confirm", id).unwrap();
    assert_eq!(m.call("a", "execute", id).unwrap_err(), "balance is too low");
    m.0.call(account("a"), token, "transfer", &args! { to: m.1, amount: 50u64 }, 0).unwrap();
    m.call("a", "execute", id).unwrap();
    assert_eq!(m.0.view(token, "balanceOf", &args! { address: account("shop") }).unwrap(), "50");
}

#[test]
fn changed_owners_make_what_was_proposed_void() {
    let m = Multisig::new();
    let payment = m.propose("a", account("shop"), "", "", 60).unwrap();
    m.call("b", "confirm", payment).unwrap();
    let id = m.propose("b", m.1, "setOwners", &owners(&["b", "d"], 1), 0).unwrap();
    m.call("c", "confirm", id).unwrap();
    m.call("c", "execute", id).unwrap();
    assert_eq!((m.view("threshold", ""), m.view("owners", "").len()), ("1".into(), 2 * 68 + 3));
    assert_eq!(m.call("b", "execute", payment).unwrap_err(), "the owners have changed since");
    assert_eq!(m.propose("a", account("a"), "", "", 1).unwrap_err(), "only an owner may");
    let id = m.propose("d", account("shop"), "", "", 5).unwrap();
    m.call("d", "execute", id).unwrap();
    assert_eq!(m.0.balance(account("shop")), 5);
}

#[test]
fn an_owner_that_comes_back_gets_nothing_twice() {
    let m = Multisig::new();
    let greedy = m.0.deploy(account("eve"), greedy::CONTRACT as Contract, "", 0).unwrap();
    let with = args! { owners: list(2, |i| [account("a"), greedy][i]), threshold: 1u32 };
    let id = m.propose("a", m.1, "setOwners", &with, 0).unwrap();
    m.call("b", "confirm", id).unwrap();
    m.call("a", "execute", id).unwrap();
    let id = m.propose("a", greedy, "take", "", 30).unwrap();
    m.0.call(account("eve"), greedy, "confirm", &args! { multisig: m.1, id: id }, 0).unwrap();
    assert_eq!(m.call("a", "execute", id).unwrap_err(), "executed already");
    assert_eq!((m.0.balance(greedy), m.0.balance(m.1)), (0, 100));
}

#[test]
fn it_is_no_owner_of_itself() {
    // If the contract were its own owner, a proposal that confirms another would add a vote of its own.
    let m = Multisig::new();
    let with_itself = args! { owners: list(2, |i| [account("a"), m.1][i]), threshold: 2u32 };
    let id = m.propose("a", m.1, "setOwners", &with_itself, 0).unwrap();
    m.call("b", "confirm", id).unwrap();
    assert_eq!(m.call("a", "execute", id).unwrap_err(), "not an owner");
}

#[test]
fn arguments_of_the_greatest_length_can_be_proposed() {
    let m = Multisig::new();
    let id = m.propose("a", account("shop"), "m", &"x".repeat(super::MAX_ARGS), 0).unwrap();
    m.call("b", "confirm", id).unwrap();
    assert_eq!(m.propose("a", account("shop"), "m", &"x".repeat(super::MAX_ARGS + 1), 0).unwrap_err(), "too long");
}

#[test]
fn needs_owners_that_can_act() {
    let chain = Chain::new();
    for (names, threshold, reason) in [
        (&[][..], 0, "1 to 16 owners"),
        (&["a"; 17][..], 1, "1 to 16 owners"),
        (&["a", "b"][..], 0, "a threshold is from 1 to the number of owners"),
        (&["a", "b"][..], 3, "a threshold is from 1 to the number of owners"),
        (&["a", "b", "a"][..], 2, "an owner is given twice"),
        (&["a", "zero"][..], 2, "not an owner"),
    ] {
        let refused = chain.deploy(account("a"), CONTRACT, &owners(names, threshold), 0).unwrap_err();
        assert_eq!(refused, reason);
    }
}

fn leak(text: String) -> Str {
    Box::leak(text.into_boxed_str())
}
