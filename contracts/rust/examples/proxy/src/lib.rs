//! An address that stays while the code behind it is replaced. It has the coins and the data, and forwards calls to the
//! contract that a name of a registry stands for: its logic, which reads and writes the data here, and keeps nothing itself.
//!
//! A contract that only wants to be mended uses `replace_code`, as the example `coin` does: it keeps its address, its storage
//! and the price of a plain call, where a call through a proxy takes hundreds of thousands of gas more. A proxy is for who
//! wants the code and the data apart: several logics in turn or by different owners, checked by a registry.
//!
//! The chain has no way to run another contract's code on one's own storage, so the logic asks for what it needs, by calls
//! back in the middle of [`forward`]: that is why this contract is reentrant.
//!
//! What it defends against is in docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static REGISTRY: Cell<Account> = Cell::new("registry");
static NAME: Cell<Str> = Cell::new("name");
static SERVING: Cell<Account> = Cell::new("serving"); // the logic, from the beginning of a call to its end
static DATA: Map<Bytes, Bytes> = Map::new("data");

/// The first byte of arguments in the binary form (docs/protocol.md, "ABI").
const BINARY: u8 = 1;

interface! {
    Registry {
        read fn resolve(name: Str) -> Account;
    }
}

contract! {
    reentrant;

    /// Both are for good: who owns the registry decides what this contract does.
    init fn init(registry: Account, name: Str) {
        require(code_hash(&registry).is_some(), "there is no such registry");
        REGISTRY.set(&registry);
        NAME.set(&name);
    }

    read fn registry() -> Account {
        REGISTRY.get()
    }

    /// What the logic is called in the registry.
    read fn name() -> Str {
        NAME.get()
    }

    /// The contract that calls are forwarded to.
    read fn logic() -> Account {
        resolve()
    }

    /// Calls a function of the logic: with the caller, the coins that came, which stay here, and the arguments that are
    /// given in the binary form without its first byte. Gives what the logic gave.
    payable fn forward(method: Str, args: Bytes) -> Bytes {
        require(SERVING.find().is_none(), "a call is under way");
        let logic = resolve();
        SERVING.set(&logic);
        let result = call(&logic, method, told(args), 0, u64::MAX).or_fail();
        SERVING.remove();
        Bytes(result)
    }

    /// Like [`forward`] for functions that change nothing.
    read fn view(method: Str, args: Bytes) -> Bytes {
        Bytes(call_view(&resolve(), method, told(args), u64::MAX).or_fail())
    }

    /// What is held under a key. Everybody may read it, like everything on a chain.
    read fn get(key: Bytes) -> Option<Bytes> {
        DATA.find(&key)
    }

    write fn put(key: Bytes, data: Bytes) {
        only_logic();
        DATA.set(&key, &data);
    }

    write fn remove(key: Bytes) {
        only_logic();
        DATA.remove(&key);
    }

    /// Pays coins out.
    write fn send(to: Account, amount: u64) {
        only_logic();
        pay(&to, amount);
    }
}

fn resolve() -> Account {
    Registry::at(REGISTRY.get()).resolve(NAME.get()).or_fail()
}

/// Arguments behind those that the logic takes the proxy's word for.
fn told(args: Bytes) -> &'static [u8] {
    let mut told = Buffer::new();
    told.push_array(&[BINARY]);
    told.push_array(caller().0);
    told.push_array(&value().to_le_bytes());
    told.push(args.0);
    told.bytes()
}

/// Only the logic of the call that is under way may change anything here, whatever the name stands for meanwhile.
fn only_logic() {
    require(SERVING.find() == Some(caller()), "only the logic may, and only in a call");
}

#[cfg(test)]
#[path = "../../registry/src/lib.rs"]
mod registry;
#[cfg(test)]
#[path = "../../savings/src/lib.rs"]
mod savings;
#[cfg(test)]
mod tests;
