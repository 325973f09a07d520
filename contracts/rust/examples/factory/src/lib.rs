//! Creates a contract with the same code for each user, at an address that is known in advance. The deployer of the
//! template chose the code of all of them; code that never calls `replace_code` never changes.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static TEMPLATE: Cell<Account> = Cell::new("template");
static MADE: Map<Account, Account> = Map::new("made"); // by a user

contract! {
    events {
        Made { contract: Account, user: Account }
    }

    /// The template cannot be changed. Its init takes the account that will own the contract.
    init fn init(template: Account) {
        require(code_hash(&template).is_some(), "there is no such template");
        TEMPLATE.set(&template);
    }

    read fn template() -> Account {
        TEMPLATE.get()
    }

    /// A user's contract, if it exists.
    read fn contractOf(user: Account) -> Option<Account> {
        MADE.find(&user)
    }

    /// The address of a user's contract, even before it exists. Coins can already be sent there.
    read fn addressOf(user: Account) -> Account {
        match MADE.find(&user) {
            Some(made) => made,
            None => instance_of(&this(), &code(), user.0),
        }
    }

    /// Creates a user's contract, which the user will own. Anybody may call this, and pays for it.
    write fn make(user: Account) -> Account {
        require(MADE.find(&user).is_none(), "it was made already");
        let contract = Creation::new(TEMPLATE.get(), *user.0).arg("owner", &user).create(0, u64::MAX).or_fail();
        MADE.set(&user, &contract);
        Made { contract, user }.emit();
        contract
    }
}

/// The template's code.
fn code() -> Hash {
    code_hash(&TEMPLATE.get()).or_revert("there is no such template")
}

#[cfg(test)]
mod tests {
    use super::CONTRACT;
    use cairn::testing::{account, Chain};
    use cairn::{args, Account};

    mod safe {
        use cairn::*;
        static OWNER: Cell<Account> = Cell::new("owner");
        static MAKER: Cell<Account> = Cell::new("maker");
        contract! {
            init fn init(owner: Account) {
                require(owner != Account::ZERO, "nobody");
                OWNER.set(&owner);
                MAKER.set(&caller());
            }
            read fn owner() -> Account {
                OWNER.get()
            }
            read fn maker() -> Account {
                MAKER.get()
            }
        }
    }

    fn json(of: Account) -> String {
        let hex: String = of.0.iter().map(|b| format!("{:02x}", b)).collect();
        format!("\"0x{}\"", hex)
    }

    fn read(text: &str) -> Account {
        let hex = text.trim_matches('"').trim_start_matches("0x");
        let bytes: Vec<u8> = (0..32).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
        Account(Box::leak(Box::new(bytes.try_into().unwrap())))
    }

    #[test]
    fn makes_one_for_each_where_it_said() {
        let chain = Chain::new();
        let (alice, bob) = (account("alice"), account("bob"));
        let template = chain.deploy(alice, safe::CONTRACT, &args! { owner: alice }, 0).unwrap();
        let factory = chain.deploy(alice, CONTRACT, &args! { template: template }, 0).unwrap();
        let of = |user: Account, function: &str| chain.view(factory, function, &args! { user: user }).unwrap();
        let address = of(bob, "addressOf");
        assert_eq!(of(bob, "contractOf"), "null");
        chain.fund(read(&address), 10); // before the contract exists
        let made = chain.call(alice, factory, "make", &args! { user: bob }, 0).unwrap();
        assert_eq!((made.as_str(), of(bob, "contractOf")), (address.as_str(), address.clone()));
        assert_eq!(of(bob, "addressOf"), address);
        let made = read(&made);
        assert_eq!(chain.view(made, "owner", "").unwrap(), json(bob));
        assert_eq!(chain.view(made, "maker", "").unwrap(), json(factory));
        assert_eq!(chain.balance(made), 10);
        assert_ne!(of(alice, "addressOf"), address);
        let again = chain.call(bob, factory, "make", &args! { user: bob }, 0);
        assert_eq!(again.unwrap_err(), "it was made already");
    }

    #[test]
    fn what_fails_makes_nothing() {
        let chain = Chain::new();
        let alice = account("alice");
        let template = chain.deploy(alice, safe::CONTRACT, &args! { owner: alice }, 0).unwrap();
        let factory = chain.deploy(alice, CONTRACT, &args! { template: template }, 0).unwrap();
        let nobody = chain.call(alice, factory, "make", &args! { user: Account::ZERO }, 0);
        assert_eq!(nobody.unwrap_err(), "nobody");
        assert_eq!(chain.view(factory, "contractOf", &args! { user: Account::ZERO }).unwrap(), "null");
        let none = chain.deploy(alice, CONTRACT, &args! { template: account("bob") }, 0);
        assert_eq!(none.unwrap_err(), "there is no such template");
    }
}
