//! Searches for calls that break a contract's invariants.
//!
//! ```
//! use cairn::testing::{account, fuzz};
//! # mod counter {
//! #     use cairn::*;
//! #     static COUNT: Cell<u64> = Cell::new("count");
//! #     contract! {
//! #         invariants { fn small() { require(COUNT.get() < 1_000, "the count is large") } }
//! #         write fn add(amount: u64) { COUNT.set(&COUNT.get().saturating_add(amount)) }
//! #     }
//! # }
//!
//! let failure = fuzz::search(&fuzz::Config::default(), &|w| {
//!     let alice = w.actor("alice");
//!     let counter = w.deploy("counter", alice, counter::CONTRACT, "", 0);
//!     w.target(counter, &[]);
//! });
//! assert_eq!(failure.unwrap().moves, "alice counter add 0 {\"amount\":1000}\n");
//! ```
//!
//! A test calls [`run`]. The `invariants` that a contract declares are checked after the setup and after each call that
//! succeeds; [`World::invariant`] adds others. The same seed makes the same calls.

mod moves;
mod shrink;
mod values;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::{env, fs, mem, panic};

pub(super) use moves::{act, answers, Adversary};
use moves::{Act, Args, Call, Move};
use shrink::Shrink;
use values::{Random, Values};

use super::{world, Chain, Contract, Mark};
use crate::abi::Function;
use crate::Account;

const FUNDS: u64 = 1_000_000_000;
const MAX_CORPUS: usize = 256;

/// The length of a search, and what determines its calls.
pub struct Config {
    /// Determines all calls. The environment variable CAIRN_FUZZ_SEED overrides it.
    pub seed: u64,
    /// The approximate number of calls. The environment variable CAIRN_FUZZ_CALLS overrides it.
    pub calls: usize,
    /// The maximum number of calls in a sequence.
    pub depth: usize,
}

impl Default for Config {
    fn default() -> Self {
        let number = |name: &str| env::var(name).ok().map(|text| text.parse().expect("a number in CAIRN_FUZZ_*"));
        Config {
            seed: number("CAIRN_FUZZ_SEED").unwrap_or(1),
            calls: number("CAIRN_FUZZ_CALLS").unwrap_or(20_000) as usize,
            depth: 20,
        }
    }
}

type Check = Box<dyn Fn(&Chain) -> Result<(), String>>;

/// The result of a setup: a chain with named contracts and accounts, the functions to call, and the invariants.
pub struct World {
    /// The chain. Each sequence begins with the state that the setup left.
    pub chain: Chain,
    names: Vec<(String, Account)>,
    actors: Vec<usize>,
    contracts: Vec<(usize, Contract)>,
    targets: Vec<(usize, &'static Function)>,
    adversary: Option<usize>,
    invariants: Vec<(String, Check)>,
}

/// A broken invariant, with the shortest sequence found that breaks it.
#[derive(Debug)]
pub struct Failure {
    /// The invariant.
    pub invariant: String,
    /// Why it does not hold.
    pub reason: String,
    /// The moves, in the form that [`replay`] reads.
    pub moves: String,
    /// The number of calls before it was found.
    pub calls: usize,
}

impl World {
    fn new(setup: &dyn Fn(&mut World)) -> World {
        let mut w = World {
            chain: Chain::new(),
            names: vec![],
            actors: vec![],
            contracts: vec![],
            targets: vec![],
            adversary: None,
            invariants: vec![],
        };
        setup(&mut w);
        assert!(!w.actors.is_empty() && !w.targets.is_empty(), "a setup needs an actor and a target");
        w
    }

    fn naming(&mut self, name: &str, account: Account) -> usize {
        assert!(
            !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '@'),
            "{:?} is no name for an account",
            name
        );
        assert!(self.names.iter().all(|n| n.0 != name), "the name {} is taken", name);
        self.names.push((name.into(), account));
        self.names.len() - 1
    }

    /// An account that calls the targets. It has coins.
    pub fn actor(&mut self, name: &str) -> Account {
        let account = super::account(name);
        let at = self.naming(name, account);
        self.actors.push(at);
        self.chain.fund(account, FUNDS);
        account
    }

    /// Deploys a contract under a name, with its invariants. Panics if that fails.
    pub fn deploy(&mut self, name: &str, from: Account, contract: Contract, args: &str, value: u64) -> Account {
        let id = self.chain.deploy(from, contract, args, value).unwrap_or_else(|e| panic!("deploying {}: {}", name, e));
        let at = self.naming(name, id);
        self.contracts.push((at, contract));
        for &invariant in contract.invariants {
            self.invariant(invariant, move |chain| chain.view(id, invariant, "").map(drop));
        }
        id
    }

    /// Adds functions of a contract to those that the search calls; without names, all except read functions. A
    /// function that is named twice is called twice as often.
    pub fn target(&mut self, contract: Account, functions: &[&str]) {
        let &(at, contract) =
            self.contracts.iter().find(|k| self.names[k.0].1 == contract).expect("World::deploy deployed the target");
        let mut add = |f: &'static Function| self.targets.push((at, f));
        if functions.is_empty() {
            contract.declared.iter().filter(|f| f.mode != "read" && f.mode != "init").for_each(&mut add)
        }
        for name in functions {
            let known = contract.declared.iter().find(|f| f.name == *name && f.mode != "init");
            add(known.unwrap_or_else(|| panic!("there is no function {} to call", name)))
        }
    }

    /// Deploys a hostile contract that the targets may call. It has these functions, each with its result as JSON, or
    /// none if that is empty. When called, it calls other contracts. Actors make it do so by calling `run`.
    pub fn adversary(&mut self, name: &str, callbacks: &[(&str, &str)]) -> Account {
        assert!(self.adversary.is_none(), "there is one adversary");
        let id = moves::install(&self.chain, callbacks);
        self.chain.fund(id, FUNDS);
        self.adversary = Some(self.naming(name, id));
        id
    }

    /// Adds a condition that must hold after the setup and after each successful call. The check's changes are undone.
    pub fn invariant(&mut self, name: &str, check: impl Fn(&Chain) -> Result<(), String> + 'static) {
        self.invariants.push((name.into(), Box::new(check)))
    }

    /// The first invariant that does not hold now, and why.
    fn broken(&self) -> Option<(String, String)> {
        let before = now();
        let found =
            self.invariants.iter().find_map(|(name, check)| Some((name.clone(), check(&self.chain).err()?)));
        back(before);
        found
    }
}

#[derive(Clone, Copy)]
struct Moment(Mark, u64, u64);

fn now() -> Moment {
    world(|w| Moment(w.state.mark(), w.height, w.time))
}

fn back(to: Moment) {
    world(|w| {
        w.state.undo(to.0);
        w.height = to.1;
        w.time = to.2
    })
}

/// Searches, and panics with the shortest sequence of calls after which an invariant does not hold. A sequence that was
/// found is kept in `testdata/fuzz/TEST.txt` of the package. Every later run plays that file first.
pub fn run(name: &str, config: &Config, setup: impl Fn(&mut World)) {
    let file = format!("testdata/fuzz/{}.txt", name);
    if let Ok(kept) = fs::read_to_string(&file) {
        for moves in kept.split("\n\n") {
            if let Err(e) = replay(&setup, moves) {
                panic!("{}: {}\n{}", file, e, moves)
            }
        }
    }
    if let Some(f) = search(config, &setup) {
        let kept = fs::read_to_string(&file).unwrap_or_default();
        let begun = if kept.is_empty() { kept } else { kept + "\n" };
        let written =
            fs::create_dir_all("testdata/fuzz").and_then(|_| fs::write(&file, format!("{}{}", begun, f.moves)));
        let place = match written {
            Ok(()) => format!("kept in {}", file),
            Err(e) => format!("not kept in {}: {}", file, e),
        };
        panic!(
            "the invariant {} does not hold: {}\nfound with seed {} after {} calls, {}:\n{}",
            f.invariant, f.reason, config.seed, f.calls, place, f.moves
        )
    }
}

/// Plays the moves of a failure. The error names the broken invariant.
pub fn replay(setup: &dyn Fn(&mut World), moves: &str) -> Result<(), String> {
    let w = World::new(setup);
    let moves = moves::parse(&w, moves)?;
    let mut play = Play { world: &w, calls: 0, values: None };
    match play.all(&moves) {
        Some((at, name, reason)) => Err(format!("the invariant {} does not hold after move {}: {}", name, at, reason)),
        None => Ok(()),
    }
}

struct Play<'a, 'b> {
    world: &'a World,
    calls: usize,
    values: Option<&'b mut Values>, // values are also learnt from results
}

impl Play<'_, '_> {
    /// Plays moves up to the first that breaks an invariant, then restores the chain.
    fn all(&mut self, moves: &[Move]) -> Option<(usize, String, String)> {
        let before = now();
        let found = moves.iter().enumerate().find_map(|(i, m)| {
            let (_, broken) = self.one(m);
            broken.map(|(name, reason)| (i, name, reason))
        });
        back(before);
        found
    }

    /// Makes a move. Returns its outcome, and the invariant that it broke.
    fn one(&mut self, m: &Move) -> (Result<String, String>, Option<(String, String)>) {
        let (from, call, script) = match m {
            Move::Pass { blocks, seconds } => {
                self.world.chain.advance(*blocks, *seconds);
                return (Ok(String::new()), None);
            }
            Move::Call { from, call, script } => (*from, call, script),
        };
        self.calls += 1;
        moves::instruct(self.world, script);
        let names = &self.world.names;
        let args = call.args.text(names);
        world(|w| w.digests.clear());
        let ended = self.world.chain.call(names[from].1, names[call.to].1, &call.function, &args, call.coins);
        if let (Some(values), Ok(output)) = (&mut self.values, &ended) {
            values.see(output);
            world(|w| w.state.events.last().map(|e| values.see(&e.data)));
            values.succeeded(call);
        }
        if let Some(values) = &mut self.values {
            values.computed(from, call, world(|w| mem::take(&mut w.digests)))
        }
        let broken = if ended.is_ok() { self.world.broken() } else { None };
        (ended, broken)
    }
}

/// Searches for a failure, and shrinks it.
pub fn search(config: &Config, setup: &dyn Fn(&mut World)) -> Option<Failure> {
    let w = World::new(setup);
    if let Some((name, reason)) = w.broken() {
        return Some(Failure { invariant: name, reason, moves: String::new(), calls: 0 });
    }
    let hook = panic::take_hook(); // a panic is a call that reverts, and there are thousands of them
    panic::set_hook(Box::new(|_| {}));
    let found = Search::new(&w, config).go();
    panic::set_hook(hook);
    found
}

struct Search<'a> {
    world: &'a World,
    config: &'a Config,
    random: Random,
    values: Values,
    corpus: Vec<Vec<Move>>,
    seen: BTreeSet<String>,
}

impl<'a> Search<'a> {
    fn new(world: &'a World, config: &'a Config) -> Self {
        let random = Random(config.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        Search { world, config, random, values: Values::default(), corpus: vec![], seen: BTreeSet::new() }
    }

    fn go(&mut self) -> Option<Failure> {
        let mut calls = 0;
        while calls < self.config.calls {
            let (made, broken) = self.sequence(&mut calls);
            if let Some((name, reason)) = broken {
                let (moves, reason) = Shrink::of(self.world, &name).shrink(made, reason);
                let mut text = String::new();
                for m in &moves {
                    writeln!(text, "{}", m.shown(&self.world.names)).expect("text takes all")
                }
                return Some(Failure { invariant: name, reason, moves: text, calls });
            }
        }
        None
    }

    /// Plays a sequence. It often begins with a part of one that did something new, followed by other moves.
    fn sequence(&mut self, calls: &mut usize) -> (Vec<Move>, Option<(String, String)>) {
        let mut base = vec![];
        if !self.corpus.is_empty() && self.random.below(4) > 0 {
            let known = &self.corpus[self.random.below(self.corpus.len())];
            base = known[..1 + self.random.below(known.len())].to_vec();
        }
        let (mut made, mut before, mut is_new) = (vec![], "", false);
        let mut openings: Vec<Move> = vec![]; // commitments made in this sequence
        let start = now();
        let length = base.len() + 1 + self.random.below(self.config.depth);
        let mut base = base.into_iter();
        let mut found = None;
        for _ in 0..length.min(self.config.depth) {
            let next = base.next().unwrap_or_else(|| match openings.len() {
                n if n > 0 && self.random.below(3) == 0 => openings[self.random.below(n)].clone(),
                _ => self.random_move(),
            });
            let opening = match &next {
                Move::Call { call, .. } => self.values.opening(call),
                Move::Pass { .. } => None,
            };
            let mut play = Play { world: self.world, calls: 0, values: Some(&mut self.values) };
            let (ended, broken) = play.one(&next);
            *calls += play.calls;
            let what = self.world.target_name(&next);
            let outcome = match &ended {
                Ok(_) => format!("{} then {}", before, what),
                Err(reason) => format!("{}: {}", what, reason),
            };
            is_new |= self.seen.len() < 4_096 && self.seen.insert(outcome);
            if ended.is_ok() {
                before = what;
                openings.extend(opening.map(|(from, call)| Move::Call { from, call, script: vec![] }))
            }
            made.push(next);
            if broken.is_some() {
                found = broken;
                break;
            }
        }
        back(start);
        if is_new && found.is_none() {
            if self.corpus.len() == MAX_CORPUS {
                let gone = self.random.below(MAX_CORPUS);
                self.corpus.swap_remove(gone);
            }
            self.corpus.push(made.clone())
        }
        (made, found)
    }

    fn random_move(&mut self) -> Move {
        let r = &mut self.random;
        if r.below(16) == 0 {
            return Move::Pass { blocks: 1, seconds: [1, 60, 86_400, 31_536_000][r.below(4)] };
        }
        let mut from = self.world.actors[r.below(self.world.actors.len())];
        let script = match self.world.adversary {
            None => vec![],
            Some(_) => (0..r.below(3)).map(|_| self.act()).collect(),
        };
        match self.world.adversary {
            Some(to) if self.random.below(3) == 0 => {
                let call = Call { to, function: "run".into(), coins: 0, args: Args::Values(vec![]) };
                Move::Call { from, call, script }
            }
            _ => {
                let call = self.call();
                if let Some((opener, _)) = self.values.opening(&call).filter(|_| self.random.below(4) > 0) {
                    from = opener // a commitment often includes its sender
                }
                Move::Call { from, call, script }
            }
        }
    }

    fn act(&mut self) -> Act {
        let call = self.call();
        let phases = moves::phases();
        Act { phase: phases[self.random.below(phases.len())].clone(), call }
    }

    fn call(&mut self) -> Call {
        let (to, f) = self.world.targets[self.random.below(self.world.targets.len())];
        let types = self.world.contracts.iter().find(|k| k.0 == to).expect("a target is a contract").1.types;
        let accounts = self.world.names.len();
        let values = &self.values;
        let random = &mut self.random;
        let args = f.args.iter().map(|(name, t)| {
            (name.to_string(), values.make(random, values::Place { types, accounts, name }, t.as_str(), 0))
        });
        let args = Args::Values(args.collect());
        let coins = if f.mode == "payable" { values.coins(random) } else { 0 };
        Call { to, function: f.name.into(), coins, args }
    }
}

impl World {
    fn target_name(&self, m: &Move) -> &'static str {
        match m {
            Move::Pass { .. } => "time",
            Move::Call { call, .. } => {
                self.targets.iter().find(|t| t.0 == call.to && t.1.name == call.function).map_or("run", |t| t.1.name)
            }
        }
    }
}
