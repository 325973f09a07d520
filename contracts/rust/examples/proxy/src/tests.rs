use super::{registry, savings, CONTRACT};
use cairn::args;
use cairn::testing::{account, Chain};
use cairn::{Account, Bytes};

/// A contract that calls the proxy back during a call.
mod evil {
    #![allow(dead_code)]
    use cairn::*;

    interface! {
        Proxy {
            payable fn forward(method: Str, args: Bytes) -> Bytes;
            write fn put(key: Bytes, data: Bytes);
            write fn activate(name: Str);
        }
    }

    contract! {
        /// As a logic: calls the proxy during a running call.
        write fn again(by: Account, coins: u64) {
            let _ = (by, coins);
            Proxy::at(caller()).forward("again", Bytes(&[])).or_fail();
        }

        /// As a logic: is replaced during its own call, and still writes.
        write fn replaced(by: Account, coins: u64, registry: Account) {
            let _ = (by, coins);
            Proxy::at(registry).activate("savings").or_fail();
            Proxy::at(caller()).put(Bytes(b"key"), Bytes(b"data")).or_fail();
        }

        /// As an unrelated contract that alice calls.
        write fn lure(proxy: Account, amount: u64) {
            let args = Bytes(amount.to_le_bytes().to_vec().leak());
            Proxy::at(proxy).forward("withdraw", args).or_fail();
        }

        /// As any contract.
        write fn write(proxy: Account) {
            Proxy::at(proxy).put(Bytes(b"key"), Bytes(b"data")).or_fail();
        }
    }
}

struct World {
    chain: Chain,
    registry: Account,
    proxy: Account,
}

const DELAY: u64 = 60;

impl World {
    /// A proxy whose logic is savings.
    fn new() -> Self {
        let chain = Chain::new();
        chain.fund(account("alice"), 100);
        let owner = account("owner");
        let registry = chain.deploy(owner, registry::CONTRACT, &args! { delay: DELAY }, 0).unwrap();
        let proxy = chain.deploy(owner, CONTRACT, &args! { registry: registry, name: "savings" }, 0).unwrap();
        let w = World { chain, registry, proxy };
        let logic = w.savings();
        w.replace(logic);
        w
    }
    fn savings(&self) -> Account {
        self.chain.deploy(account("owner"), savings::CONTRACT, &args! { proxy: self.proxy }, 0).unwrap()
    }
    fn announce(&self, contract: Account) {
        let terms = args! { name: "savings", contract: contract };
        self.chain.call(account("owner"), self.registry, "announce", &terms, 0).unwrap();
    }
    fn replace(&self, contract: Account) {
        self.announce(contract);
        self.chain.advance(1, DELAY);
        self.chain.call(account("anyone"), self.registry, "activate", &args! { name: "savings" }, 0).unwrap();
    }
    fn forward(&self, from: &str, method: &'static str, args: &[u8], coins: u64) -> Result<String, String> {
        let terms = args! { method: method, args: Bytes(args.to_vec().leak()) };
        self.chain.call(account(from), self.proxy, "forward", &terms, coins)
    }
    fn saved(&self, of: &str) -> String {
        let terms = args! { method: "savings", args: Bytes(account(of).0) };
        self.chain.view(self.proxy, "view", &terms).unwrap()
    }
}

/// The expected result of the logic: its binary form as JSON.
fn number(n: u64) -> String {
    let hex: String = n.to_le_bytes().iter().map(|b| format!("{:02x}", b)).collect();
    format!("\"0x01{}\"", hex)
}

#[test]
fn data_and_coins_outlive_the_logic() {
    let w = World::new();
    assert_eq!(w.forward("alice", "deposit", b"", 70).unwrap(), number(70));
    w.replace(w.savings());
    assert_eq!(w.saved("alice"), number(70));
    assert_eq!(w.forward("alice", "withdraw", &30u64.to_le_bytes(), 0).unwrap(), number(40));
    assert_eq!([w.chain.balance(account("alice")), w.chain.balance(w.proxy)], [60, 40]);
}

#[test]
fn the_logic_is_told_who_calls_and_nobody_else_tells_it() {
    let w = World::new();
    w.forward("alice", "deposit", b"", 70).unwrap();
    assert_eq!(w.forward("eve", "withdraw", &70u64.to_le_bytes(), 0).unwrap_err(), "less is saved");
    // The bytes after her own account are arguments; they cannot name another account.
    let mut forged = account("alice").0.to_vec();
    forged.extend_from_slice(&[0; 8]);
    forged.extend_from_slice(&70u64.to_le_bytes());
    assert!(w.forward("eve", "withdraw", &forged, 0).is_err());
    let logic = w.savings();
    let direct = args! { by: account("alice"), coins: 0u64, amount: 70u64 };
    assert_eq!(w.chain.call(account("eve"), logic, "withdraw", &direct, 0).unwrap_err(), "only by the proxy");
    assert_eq!(w.saved("alice"), number(70));
    assert_eq!(w.chain.balance(w.proxy), 70);
}

#[test]
fn a_contract_that_alice_calls_is_not_alice() {
    let w = World::new();
    w.forward("alice", "deposit", b"", 70).unwrap();
    let evil = w.chain.deploy(account("eve"), evil::CONTRACT, "", 0).unwrap();
    let lured = w.chain.call(account("alice"), evil, "lure", &args! { proxy: w.proxy, amount: 70u64 }, 0);
    assert_eq!(lured.unwrap_err(), "less is saved");
    assert_eq!([w.chain.balance(account("alice")), w.chain.balance(w.proxy)], [30, 70]);
}

#[test]
fn coins_that_a_function_does_not_take_go_back() {
    let w = World::new();
    w.forward("alice", "deposit", b"", 70).unwrap();
    let refused = w.forward("alice", "withdraw", &10u64.to_le_bytes(), 5).unwrap_err();
    assert_eq!(refused, "the function takes no coins");
    assert_eq!([w.chain.balance(account("alice")), w.chain.balance(w.proxy)], [30, 70]);
}

#[test]
fn only_the_logic_writes_and_only_in_a_call() {
    let w = World::new();
    let refused = "only the logic may, and only in a call";
    let pair = args! { key: Bytes(b"key"), data: Bytes(b"data") };
    assert_eq!(w.chain.call(account("owner"), w.proxy, "put", &pair, 0).unwrap_err(), refused);
    assert_eq!(w.chain.call(account("owner"), w.proxy, "remove", &args! { key: Bytes(b"key") }, 0).unwrap_err(), refused);
    let terms = args! { to: account("owner"), amount: 1u64 };
    assert_eq!(w.chain.call(account("owner"), w.proxy, "send", &terms, 0).unwrap_err(), refused);
    let evil = w.chain.deploy(account("owner"), evil::CONTRACT, "", 0).unwrap();
    w.replace(evil);
    let write = w.chain.call(account("eve"), evil, "write", &args! { proxy: w.proxy }, 0);
    assert_eq!(write.unwrap_err(), refused); // it is the logic, but no call goes through the proxy
    assert_eq!(w.chain.view(w.proxy, "get", &args! { key: Bytes(b"key") }).unwrap(), "null");
}

#[test]
fn one_call_at_a_time() {
    let w = World::new();
    let evil = w.chain.deploy(account("owner"), evil::CONTRACT, "", 0).unwrap();
    w.replace(evil);
    assert_eq!(w.forward("eve", "again", b"", 0).unwrap_err(), "a call is under way");
    w.announce(w.savings());
    w.chain.advance(1, DELAY);
    w.forward("eve", "replaced", w.registry.0, 0).unwrap(); // the logic that was called remains in charge to the end
    assert_eq!(w.chain.view(w.proxy, "get", &args! { key: Bytes(b"key") }).unwrap(), "\"0x64617461\"");
    assert_eq!(w.forward("alice", "deposit", b"", 5).unwrap(), number(5));
}

#[test]
fn what_fails_leaves_nothing() {
    let w = World::new();
    assert_eq!(w.forward("alice", "deposit", b"", 0).unwrap_err(), "no coins came");
    assert!(w.forward("alice", "withdraw", b"short", 0).is_err());
    assert_eq!(w.forward("alice", "nothing", b"", 9).unwrap_err(), "no such function");
    assert_eq!(w.chain.balance(account("alice")), 100);
    assert_eq!(w.forward("alice", "deposit", b"", 7).unwrap(), number(7)); // no call is running
    let nobody = args! { registry: account("bob"), name: "savings" };
    let deployed = w.chain.deploy(account("owner"), CONTRACT, &nobody, 0);
    assert_eq!(deployed.unwrap_err(), "there is no such registry");
}
