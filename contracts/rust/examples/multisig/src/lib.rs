//! An account of several owners: it makes the calls and payments that a threshold of them has confirmed.
//!
//! It is reentrant because it changes its own owners by calling itself. Each function finishes its own changes before
//! it calls, so that others may run in the middle of `execute`.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

record! {
    pub struct Proposal { to: Account, method: Str, args: Bytes, value: u64, era: u32, until: u64, executed: bool }
}

static OWNERS: List<Account> = List::new("owners");
static THRESHOLD: Cell<u32> = Cell::new("threshold");
static ERA: Cell<u32> = Cell::new("era"); // number of changes of the owners
static PROPOSALS: List<Proposal> = List::new("proposals");
static CONFIRMED: Map<(u32, Account), bool> = Map::new("confirmed");

const MAX_OWNERS: usize = 16;
const MAX_METHOD: usize = 64; // bytes
const MAX_AGE: u64 = 30 * 24 * 60 * 60; // seconds for which a proposal is valid
const MAX_ARGS: usize = 7 << 10; // bytes: the event has them in hex, within its limit of 16 KiB

contract! {
    reentrant;

    events {
        Deposited { from: Account, amount: u64 }
        Proposed { id: u32, by: Account, to: Account, method: Str, args: Bytes, value: u64 }
        Confirmed { id: u32, by: Account }
        Revoked { id: u32, by: Account }
        Executed { id: u32, by: Account }
        OwnersSet { era: u32, threshold: u32, owners: &'static [Account] }
    }

    /// Sets the owners, and the threshold of confirmations.
    init fn init(owners: &'static [Account], threshold: u32) {
        set_owners(owners, threshold);
    }

    read fn owners() -> &'static [Account] {
        list(OWNERS.len() as usize, |i| OWNERS.get(i as u32).or_revert("no such owner"))
    }

    read fn threshold() -> u32 {
        THRESHOLD.get()
    }

    read fn proposals() -> u32 {
        PROPOSALS.len()
    }

    /// The number of owners who have confirmed a proposal.
    read fn confirmations(id: u32) -> u32 {
        find(id);
        confirmed(id)
    }

    read fn isConfirmed(id: u32, owner: Account) -> bool {
        CONFIRMED.get(&(id, owner))
    }

    read fn isExecuted(id: u32) -> bool {
        find(id).executed
    }

    /// Accepts coins. Coins sent to the account without a call can be spent too.
    payable fn deposit() {
        Deposited { from: caller(), amount: value() }.emit();
    }

    /// Proposes a call with encoded arguments and with coins, or a payment if there is no method. The caller confirms
    /// it at the same time. It is valid for 30 days.
    write fn propose(to: Account, method: Str, args: Bytes, value: u64) -> u32 {
        let by = owner();
        require(method.len() <= MAX_METHOD && args.0.len() <= MAX_ARGS, "too long");
        require(!method.is_empty() || args.0.is_empty() && value > 0, "a payment has coins and no arguments");
        let until = block_time() + MAX_AGE;
        let id = PROPOSALS.push(&Proposal { to, method, args, value, era: ERA.get(), until, executed: false });
        Proposed { id, by, to, method, args, value }.emit();
        CONFIRMED.set(&(id, by), &true);
        Confirmed { id, by }.emit();
        id
    }

    write fn confirm(id: u32) {
        let by = owner();
        open(id);
        require(!CONFIRMED.get(&(id, by)), "confirmed already");
        CONFIRMED.set(&(id, by), &true);
        Confirmed { id, by }.emit();
    }

    /// Withdraws the caller's confirmation.
    write fn revoke(id: u32) {
        let by = owner();
        open(id);
        require(CONFIRMED.get(&(id, by)), "not confirmed");
        CONFIRMED.remove(&(id, by));
        Revoked { id, by }.emit();
    }

    /// Executes a proposal that enough owners have confirmed. A failure changes nothing, so it can be tried again.
    write fn execute(id: u32) {
        let by = owner();
        let p = open(id);
        require(confirmed(id) >= THRESHOLD.get(), "too few confirmations");
        PROPOSALS.set(id, &Proposal { executed: true, ..p }); // before the call, which may call this contract back
        Executed { id, by }.emit();
        if p.method.is_empty() {
            pay(&p.to, p.value);
        } else {
            call(&p.to, p.method, p.args.0, p.value, u64::MAX).or_fail();
        }
    }

    /// Changes the owners, only by a proposal of theirs. All earlier proposals become void.
    write fn setOwners(owners: &'static [Account], threshold: u32) {
        require(caller() == this(), "only by a proposal");
        set_owners(owners, threshold);
    }
}

fn set_owners(owners: &'static [Account], threshold: u32) {
    require(!owners.is_empty() && owners.len() <= MAX_OWNERS, "1 to 16 owners");
    require(threshold > 0 && threshold as usize <= owners.len(), "a threshold is from 1 to the number of owners");
    while OWNERS.pop().is_some() {}
    for (i, owner) in owners.iter().enumerate() {
        require(*owner != Account::ZERO && *owner != this(), "not an owner");
        require(!owners[..i].contains(owner), "an owner is given twice");
        OWNERS.push(owner);
    }
    THRESHOLD.set(&threshold);
    let era = ERA.get() + 1;
    ERA.set(&era);
    OwnersSet { era, threshold, owners }.emit();
}

/// The caller, who must be an owner.
fn owner() -> Account {
    let by = caller();
    require(OWNERS.iter().any(|o| o == by), "only an owner may");
    by
}

fn find(id: u32) -> Proposal {
    PROPOSALS.get(id).or_revert("no such proposal")
}

/// A proposal that is still valid.
fn open(id: u32) -> Proposal {
    let p = find(id);
    require(!p.executed, "executed already");
    require(p.era == ERA.get(), "the owners have changed since");
    require(block_time() <= p.until, "the proposal has expired");
    p
}

fn confirmed(id: u32) -> u32 {
    OWNERS.iter().filter(|o| CONFIRMED.get(&(id, *o))).count() as u32
}

#[cfg(test)]
#[path = "../../nep20/src/lib.rs"]
mod nep20;
#[cfg(test)]
mod tests;
