//! A chain in memory, for tests that run natively.
//!
//! ```
//! use cairn::testing::{account, Chain};
//! # mod counter {
//! #     use cairn::*;
//! #     static COUNT: Cell<u64> = Cell::new("count");
//! #     contract! {
//! #         read fn count() -> u64 { COUNT.get() }
//! #         write fn add(amount: u64) { COUNT.set(&(COUNT.get() + amount)) }
//! #     }
//! # }
//!
//! let chain = Chain::new();
//! let alice = account("alice");
//! let counter = chain.deploy(alice, counter::CONTRACT, "", 0).unwrap();
//! chain.call(alice, counter, "add", &cairn::args! { amount: 5u64 }, 0).unwrap();
//! assert_eq!(chain.view(counter, "count", "").unwrap(), "5");
//! ```
//!
//! Storage, coins, events, views, nested calls, contracts that create contracts or replace their code, re-entry,
//! rollback and cryptography work as on a chain. Gas is not counted, and no account can change who signs for it.

mod blake3;
pub mod fuzz;
mod keccak;
mod numbers;
mod p256;
mod secp256k1;
mod sha256;
pub(crate) mod sys;
mod witness;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind};

use crate::contract::Object;
use crate::{Account, Value};

const CHAIN_ID: u64 = 31337;
const MAX_DEPTH: usize = 32;
const MAX_LOGS: usize = 1024; // bytes of logs in a transaction
const MAX_LOG_BYTES: usize = 256 << 10;

/// A contract as [`contract!`](crate::contract) declares it.
#[derive(Clone, Copy)]
pub struct Contract {
    #[doc(hidden)]
    pub functions: &'static [(&'static str, fn())],
    #[doc(hidden)]
    pub reentrant: bool,
    /// Its ABI, as JSON.
    pub abi: &'static [u8],
    #[doc(hidden)]
    pub declared: &'static [crate::abi::Function],
    #[doc(hidden)]
    pub types: &'static [crate::abi::Named],
    #[doc(hidden)]
    pub invariants: &'static [&'static str],
}

impl Contract {
    fn function(&self, name: &str) -> Option<fn()> {
        self.functions.iter().find(|f| f.0 == name).map(|f| f.1)
    }
}

/// An event that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The contract that logged it.
    pub contract: Account,
    /// Its name.
    pub name: String,
    /// Its topics.
    pub topics: Vec<[u8; 32]>,
    /// Its data, which is JSON if the contract declared the event.
    pub data: String,
}

type Key = ([u8; 32], Vec<u8>);

/// The data that a failed call restores.
#[derive(Default)]
struct State {
    storage: BTreeMap<Key, Vec<u8>>,
    coins: BTreeMap<[u8; 32], u64>,
    contracts: BTreeMap<[u8; 32], Contract>,
    events: Vec<Event>,
    journal: Vec<Change>,
    /// The logs of the transaction, with payments by contracts, and the bytes in them.
    logs: (usize, usize),
}

/// The state before a change.
enum Change {
    Storage(Key, Option<Vec<u8>>),
    Coins([u8; 32], Option<u64>),
    Contract([u8; 32], Option<Contract>),
}

/// A state to return to, given by the lengths of the journal and the events.
#[derive(Clone, Copy)]
struct Mark {
    journal: usize,
    events: usize,
    logs: (usize, usize),
}

impl State {
    fn set_storage(&mut self, key: Key, value: Option<Vec<u8>>) {
        let before = match value {
            Some(value) => self.storage.insert(key.clone(), value),
            None => self.storage.remove(&key),
        };
        self.journal.push(Change::Storage(key, before))
    }

    fn set_coins(&mut self, of: [u8; 32], amount: u64) {
        let before = self.coins.insert(of, amount);
        self.journal.push(Change::Coins(of, before))
    }

    fn set_contract(&mut self, id: [u8; 32], contract: Contract) {
        let before = self.contracts.insert(id, contract);
        self.journal.push(Change::Contract(id, before))
    }

    fn mark(&self) -> Mark {
        Mark { journal: self.journal.len(), events: self.events.len(), logs: self.logs }
    }

    fn undo(&mut self, to: Mark) {
        while self.journal.len() > to.journal {
            match self.journal.pop().expect("it is longer") {
                Change::Storage(key, Some(value)) => drop(self.storage.insert(key, value)),
                Change::Storage(key, None) => drop(self.storage.remove(&key)),
                Change::Coins(of, Some(amount)) => drop(self.coins.insert(of, amount)),
                Change::Coins(of, None) => drop(self.coins.remove(&of)),
                Change::Contract(id, Some(contract)) => drop(self.contracts.insert(id, contract)),
                Change::Contract(id, None) => drop(self.contracts.remove(&id)),
            }
        }
        self.events.truncate(to.events);
        self.logs = to.logs
    }
}

struct Frame {
    id: Account,
    function: String,
    caller: Account,
    value: u64,
    args: Vec<u8>,
    view: bool,
    output: Vec<u8>,
    result: Vec<u8>,
}

#[derive(Default)]
struct World {
    state: State,
    frames: Vec<Frame>,
    /// The name of each value in storage, with the address of its static.
    stored: BTreeMap<([u8; 32], &'static str), usize>,
    adversary: Option<fuzz::Adversary>,
    /// The digests that contracts have computed since a search last took them.
    digests: Vec<[u8; 32]>,
    sender: Account,
    height: u64,
    time: u64,
}

impl World {
    /// Begins a transaction.
    fn begin(&mut self, sender: Account) {
        self.sender = sender;
        self.state.logs = (0, 0)
    }

    fn coins(&self, account: &Account) -> u64 {
        self.state.coins.get(account.0).copied().unwrap_or(0)
    }

    fn pay(&mut self, from: Account, to: Account, amount: u64) -> bool {
        let left = match self.coins(&from).checked_sub(amount) {
            Some(left) => left,
            None => return false,
        };
        self.state.set_coins(*from.0, left);
        let sum = self.coins(&to) + amount;
        self.state.set_coins(*to.0, sum);
        true
    }
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

fn world<R>(f: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with(|w| f(&mut w.borrow_mut()))
}

fn frame<R>(f: impl FnOnce(&mut Frame) -> R) -> R {
    world(|w| f(w.frames.last_mut().expect("a host function was called outside of a call")))
}

/// The outcome of a call that did not return.
enum Ended {
    Reverted(Vec<u8>),
    Trapped(&'static str),
}

/// The parts of a contract that change with its code.
fn forget_stored(w: &mut World, id: &[u8; 32]) {
    w.stored.retain(|key, _| key.0 != *id)
}

/// Counts a log of the given length in bytes; the call reverts if the transaction has no room for it.
fn log(bytes: usize) {
    let fits = world(|w| {
        let (logs, sum) = w.state.logs;
        let fits = logs < MAX_LOGS && sum + bytes <= MAX_LOG_BYTES;
        if fits {
            w.state.logs = (logs + 1, sum + bytes)
        }
        fits
    });
    if !fits {
        resume_unwind(Box::new(Ended::Reverted(b"too many logs".to_vec())))
    }
}

/// Counts the log of a payment that a contract makes.
fn log_payment(amount: u64) {
    if amount > 0 {
        log("NativeTransfer".len() + 2 * 32 + 8)
    }
}

fn trap(why: &'static str) -> ! {
    resume_unwind(Box::new(Ended::Trapped(why)))
}

/// Makes a call. Returns the code of its outcome (docs/protocol.md, "Host functions") and its output.
fn enter(id: Account, function: &str, frame: Frame) -> (i32, Vec<u8>) {
    let contract = world(|w| w.state.contracts.get(id.0).copied());
    let (depth, active) = world(|w| (w.frames.len(), w.frames.iter().any(|f| f.id == id)));
    let contract = match contract {
        _ if depth == MAX_DEPTH => return (7, vec![]),
        Some(contract) => contract,
        None => return (3, vec![]),
    };
    let run = match contract.function(function) {
        Some(run) if function != "init" => run,
        _ if world(|w| fuzz::answers(w, id, function)) => fuzz::act,
        _ => return (4, vec![]),
    };
    if active && !contract.reentrant {
        return (6, vec![]);
    }
    run_frame(frame, run)
}

fn run_frame(frame: Frame, run: fn()) -> (i32, Vec<u8>) {
    let before = world(|w| w.state.mark());
    if !world(|w| w.pay(frame.caller, frame.id, frame.value)) {
        return (5, vec![]);
    }
    if world(|w| !w.frames.is_empty()) {
        log_payment(frame.value)
    }
    world(|w| w.frames.push(frame));
    let ended = catch_unwind(run);
    let frame = world(|w| w.frames.pop()).expect("a frame for each call");
    let failed = match ended {
        Ok(()) => return (0, frame.output),
        Err(payload) => match payload.downcast::<Ended>() {
            Ok(ended) => match *ended {
                Ended::Reverted(reason) => (1, reason),
                Ended::Trapped(why) => {
                    eprintln!("trapped: {}", why);
                    (2, vec![])
                }
            },
            Err(_) => (1, b"the contract panicked".to_vec()), // the test's output shows the panic itself
        },
    };
    world(|w| w.state.undo(before));
    failed
}

/// Ends a call that uses a name in storage that another static of the contract has too: both would share one value.
pub(crate) fn used(name: &'static str, at: usize) {
    let known = world(|w| {
        let id = *w.frames.last().expect("storage was used outside of a call").id.0;
        *w.stored.entry((id, name)).or_insert(at)
    });
    if known != at {
        panic!("two values in storage are called {:?}; each is a static, with a name of its own", name)
    }
}

fn answer((code, output): (i32, Vec<u8>)) -> Result<String, String> {
    let output = String::from_utf8(output).expect("output is text");
    match code {
        0 => Ok(output),
        1 => Err(output),
        2 => Err("trapped".into()),
        3 => Err("no such contract".into()),
        4 => Err("no such function".into()),
        5 => Err("too few coins".into()),
        _ => Err("too deep".into()),
    }
}

/// The account of a name in tests.
pub fn account(name: &str) -> Account {
    Account(Box::leak(Box::new(sha256::sum(name.as_bytes()))))
}

/// An account for tests that signs messages: a contract's `account_verify` takes its witnesses.
pub struct Signer(secp256k1::Key);

impl Signer {
    /// The signer of a name.
    pub fn new(name: &str) -> Self {
        Signer(secp256k1::Key::new(name.as_bytes()))
    }

    /// Its account.
    pub fn account(&self) -> Account {
        Account(Box::leak(Box::new(self.0.public)))
    }

    /// The witness of a message to a contract.
    pub fn sign(&self, contract: Account, message: &[u8]) -> Vec<u8> {
        witness::sign(&self.0, contract.0, message)
    }
}

/// A chain in memory. A thread has one chain; making another one replaces it.
pub struct Chain(PhantomData<*const ()>);

impl Chain {
    /// An empty chain at height 1 and time 1,700,000,000.
    pub fn new() -> Self {
        world(|w| *w = World { height: 1, time: 1_700_000_000, ..World::default() });
        Chain(PhantomData)
    }

    /// Adds coins to an account.
    pub fn fund(&self, account: Account, amount: u64) {
        world(|w| {
            let sum = w.coins(&account) + amount;
            w.state.set_coins(*account.0, sum)
        });
    }

    /// The coins of an account.
    pub fn balance(&self, account: Account) -> u64 {
        world(|w| w.coins(&account))
    }

    /// Advances the chain by blocks and seconds.
    pub fn advance(&self, blocks: u64, seconds: u64) {
        world(|w| {
            w.height += blocks;
            w.time += seconds;
        })
    }

    /// Deploys a contract and runs its init function, if it has one. The error is the reason for a failure.
    pub fn deploy(&self, from: Account, contract: Contract, args: &str, value: u64) -> Result<Account, String> {
        let id = account(&format!("contract {}", world(|w| w.state.contracts.len())));
        let before = world(|w| {
            w.begin(from);
            let before = w.state.mark();
            w.state.set_contract(*id.0, contract);
            before
        });
        let made = match contract.function("init") {
            Some(init) => answer(run_frame(new_frame(id, "init", from, args, value, false), init)).map(|_| id),
            None if !args.is_empty() => Err("arguments, and no init".into()),
            None if !world(|w| w.pay(from, id, value)) => Err("too few coins".into()),
            None => Ok(id),
        };
        if made.is_err() {
            world(|w| w.state.undo(before));
        }
        made
    }

    /// Calls a function as a transaction does. Returns the result as JSON; the error is the reason for a failure.
    pub fn call(&self, from: Account, contract: Account, function: &str, args: &str, value: u64) -> Result<String, String> {
        world(|w| w.begin(from));
        answer(enter(contract, function, new_frame(contract, function, from, args, value, false)))
    }

    /// Calls a function as a view: it can change nothing.
    pub fn view(&self, contract: Account, function: &str, args: &str) -> Result<String, String> {
        world(|w| w.begin(Account::ZERO));
        answer(enter(contract, function, new_frame(contract, function, Account::ZERO, args, 0, true)))
    }

    /// The events logged since the last call of this function.
    pub fn events(&self) -> Vec<Event> {
        world(|w| std::mem::take(&mut w.state.events))
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

fn new_frame(id: Account, function: &str, caller: Account, args: &str, value: u64, view: bool) -> Frame {
    Frame { id, function: function.into(), caller, value, args: args.into(), view, output: vec![], result: vec![] }
}

/// The arguments of a call, as JSON: `args! { to: bob, amount: 5u64 }`.
#[macro_export]
macro_rules! args {
    ($($name:ident : $value:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut args = $crate::testing::ArgumentsText::new();
        $(args.member(stringify!($name), &$value);)*
        args.finish()
    }};
}

#[doc(hidden)]
pub struct ArgumentsText(Object);

#[doc(hidden)]
#[allow(clippy::new_without_default)]
impl ArgumentsText {
    pub fn new() -> Self {
        ArgumentsText(Object::new())
    }
    pub fn member<T: Value>(&mut self, name: &str, value: &T) {
        self.0.member(name, value)
    }
    pub fn finish(&mut self) -> String {
        String::from_utf8(self.0.finish().to_vec()).expect("JSON is text")
    }
}

#[cfg(test)]
mod tests {
    use super::{account, Chain};

    mod flawed {
        use crate as cairn;
        use crate::*;

        static FIRST: Cell<u64> = Cell::new("count");
        static SECOND: Cell<u64> = Cell::new("count");
        static LIST: List<u64> = List::new("list");

        cairn::contract! {
            write fn one() { FIRST.set(&1) }
            write fn both() { SECOND.set(&FIRST.get()) }
            write fn grow(by: u64) { for i in 0..by { LIST.push(&i); } }
            write fn fail(by: u64) { grow(by); revert("no more") }
            read fn count() -> u32 { LIST.len() }
            write fn tell(len: u32) { debug(Str::from(std::str::from_utf8(list(len as usize, |_| b'x')).unwrap()).as_ref()) }
            write fn keep(len: u32) { storage_write(list(len as usize, |_| b'k'), b"value") }
        }
    }

    #[test]
    fn two_statics_of_one_name_are_an_error() {
        let chain = Chain::new();
        let k = chain.deploy(account("alice"), flawed::CONTRACT, "", 0).unwrap();
        chain.call(account("alice"), k, "one", "", 0).unwrap();
        assert_eq!(chain.call(account("alice"), k, "both", "", 0).unwrap_err(), "the contract panicked");
    }

    #[test]
    fn failed_calls_leave_nothing() {
        let chain = Chain::new();
        let k = chain.deploy(account("alice"), flawed::CONTRACT, "", 0).unwrap();
        for _ in 0..3 {
            chain.call(account("alice"), k, "grow", &crate::args! { by: 5u64 }, 0).unwrap();
            assert_eq!(chain.call(account("alice"), k, "fail", &crate::args! { by: 9u64 }, 0).unwrap_err(), "no more");
        }
        assert_eq!(chain.view(k, "count", "").unwrap(), "15");
    }

    #[test]
    fn a_limit_is_named() {
        let chain = Chain::new();
        let k = chain.deploy(account("alice"), flawed::CONTRACT, "", 0).unwrap();
        let fails = |function, len: u32| chain.call(account("alice"), k, function, &crate::args! { len: len }, 0).unwrap_err();
        assert_eq!(fails("keep", 300), "storage key of 300 bytes: at most 256");
        assert_eq!(fails("tell", 1025), "debug message of 1025 bytes: at most 1024");
        chain.call(account("alice"), k, "keep", &crate::args! { len: 256u32 }, 0).unwrap();
    }
}
