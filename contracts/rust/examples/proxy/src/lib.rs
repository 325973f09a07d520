//! An address that stays while the code behind it is replaced. It holds the coins and the data. It forwards calls to its
//! logic, the contract to which a name in a registry points. The logic keeps its data here, and stores nothing itself.
//!
//! A contract that only needs replaceable code uses `replace_code`, as the example `coin` does: it keeps its address,
//! its storage and the price of a plain call. A call through a proxy takes hundreds of thousands of gas more. Use a
//! proxy to separate code and data: for several logics in turn or by different owners, checked by a registry.
//!
//! The chain cannot run another contract's code on a contract's own storage. So the logic requests its data by calling
//! back in the middle of [`forward`], and this contract is therefore reentrant.
//!
//! For the attacks that it resists see docs/contracts.md, "What the examples defend against".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

static REGISTRY: Cell<Account> = Cell::new("registry");
static NAME: Cell<Str> = Cell::new("name");
static SERVING: Cell<Account> = Cell::new("serving"); // the logic during a call
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

    /// Neither can be changed: the owner of the registry decides what this contract does.
    init fn init(registry: Account, name: Str) {
        require(code_hash(&registry).is_some(), "there is no such registry");
        REGISTRY.set(&registry);
        NAME.set(&name);
    }

    read fn registry() -> Account {
        REGISTRY.get()
    }

    /// The name of the logic in the registry.
    read fn name() -> Str {
        NAME.get()
    }

    /// The contract that calls are forwarded to.
    read fn logic() -> Account {
        resolve()
    }

    /// Calls a function of the logic with the caller, the amount of coins received, which stay here, and the arguments
    /// in the binary form without its first byte. It returns the logic's result.
    payable fn forward(method: Str, args: Bytes) -> Bytes {
        require(SERVING.find().is_none(), "a call is under way");
        let logic = resolve();
        SERVING.set(&logic);
        let result = call(&logic, method, told(args), 0, u64::MAX).or_fail();
        SERVING.remove();
        Bytes(result)
    }

    /// Like [`forward`], for functions that change nothing.
    read fn view(method: Str, args: Bytes) -> Bytes {
        Bytes(call_view(&resolve(), method, told(args), u64::MAX).or_fail())
    }

    /// The value under a key. Everybody may read it, like everything on a chain.
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

/// Encodes the caller and the coins, which the logic believes the proxy, and then the arguments.
fn told(args: Bytes) -> &'static [u8] {
    let mut told = Buffer::new();
    told.push_array(&[BINARY]);
    told.push_array(caller().0);
    told.push_array(&value().to_le_bytes());
    told.push(args.0);
    told.bytes()
}

/// Only the logic of the running call may change anything here, even if the name now points to another contract.
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
