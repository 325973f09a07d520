//! The moves of sequences and their text form, and the adversary that plays its part in them.

use super::values::Value;
use super::World;
use crate::testing::{frame, sys, world, Chain, Contract, World as State};
use crate::Account;

/// One step of a sequence.
#[derive(Clone)]
pub(super) enum Move {
    Pass { blocks: u64, seconds: u64 },
    Call { from: usize, call: Call, script: Vec<Act> },
}

/// A call of a function. Accounts are numbered by their position among the names.
#[derive(Clone)]
pub(super) struct Call {
    pub to: usize,
    pub function: String,
    pub coins: u64,
    pub args: Args,
}

/// The adversary's actions when one of its functions is called.
#[derive(Clone)]
pub(super) struct Act {
    pub phase: String,
    pub call: Call,
}

/// Arguments, either generated or from a kept file.
#[derive(Clone)]
pub(super) enum Args {
    Values(Vec<(String, Value)>),
    Text(String),
}

type Names = [(String, Account)];

impl Args {
    /// The JSON, with names in place of accounts.
    fn shown(&self, names: &Names) -> String {
        match self {
            Args::Text(text) => text.clone(),
            Args::Values(list) => Value::Record(list.clone()).shown(names),
        }
    }

    /// The JSON that is sent.
    pub fn text(&self, names: &Names) -> String {
        let mut text = self.shown(names);
        for (name, account) in names {
            let hex: String = account.0.iter().map(|b| format!("{:02x}", b)).collect();
            text = text.replace(&format!("\"@{}\"", name), &format!("\"0x{}\"", hex))
        }
        text
    }
}

impl Call {
    fn shown(&self, names: &Names) -> String {
        format!("{} {} {} {}", names[self.to].0, self.function, self.coins, self.args.shown(names))
    }

    /// Simpler calls.
    fn simpler(&self) -> Vec<Call> {
        let mut all: Vec<Call> = smaller(self.coins as u128).map(|n| Call { coins: n as u64, ..self.clone() }).collect();
        if let Args::Values(list) = &self.args {
            for (i, (name, value)) in list.iter().enumerate() {
                for simpler in value.simpler() {
                    let mut list = list.clone();
                    list[i] = (name.clone(), simpler);
                    all.push(Call { args: Args::Values(list), ..self.clone() })
                }
            }
        }
        all
    }
}

/// Numbers below the given one, smallest first, so that repeated choice is a bisection.
pub(super) fn smaller(n: u128) -> impl Iterator<Item = u128> {
    let halves = (0..128).map(move |k| n - (n >> k));
    let mut round = vec![];
    let mut unit = 10;
    while n > unit {
        round.push(n - n % unit);
        unit *= 10
    }
    let mut all: Vec<u128> = halves.take_while(|&m| m < n).chain(round).filter(|&m| m < n).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
}

impl Move {
    /// The move in the form that [`parse`] reads.
    pub fn shown(&self, names: &Names) -> String {
        match self {
            Move::Pass { blocks, seconds } => format!("pass {} {}", blocks, seconds),
            Move::Call { from, call, script } => {
                let mut text = format!("{} {}", names[*from].0, call.shown(names));
                for act in script {
                    text += &format!("\n  {} {}", act.phase, act.call.shown(names))
                }
                text
            }
        }
    }

    fn simpler(&self) -> Vec<Move> {
        let (from, call, script) = match self {
            Move::Pass { blocks, seconds } => {
                return smaller(*seconds as u128).map(|n| Move::Pass { blocks: *blocks, seconds: n as u64 }).collect();
            }
            Move::Call { from, call, script } => (*from, call, script),
        };
        let make = |from, call: &Call, script: &[Act]| Move::Call { from, call: call.clone(), script: script.to_vec() };
        let mut all = vec![];
        if from > 0 {
            all.push(make(0, call, script))
        }
        for i in 0..script.len() {
            let mut fewer = script.clone();
            fewer.remove(i);
            all.push(make(from, call, &fewer));
            // The caller itself makes the adversary's call, without the adversary.
            all.push(make(from, &script[i].call, &[]));
        }
        all.extend(call.simpler().iter().map(|c| make(from, c, script)));
        for (i, act) in script.iter().enumerate() {
            for simpler in act.call.simpler() {
                let mut script = script.clone();
                script[i].call = simpler;
                all.push(make(from, call, &script))
            }
        }
        all
    }
}

/// Simpler sequences: without the given move and some that follow, or with a simpler move in its place.
pub(super) fn shorter(moves: &[Move], at: usize) -> Vec<Vec<Move>> {
    let mut all = vec![];
    let mut count = moves.len() - at;
    while count > 0 {
        all.push([&moves[..at], &moves[at + count..]].concat());
        count /= 2
    }
    for simpler in moves[at].simpler() {
        let mut changed = moves.to_vec();
        changed[at] = simpler;
        all.push(changed)
    }
    all
}

/// Reads moves, one per line, with the adversary's actions indented below.
pub(super) fn parse(w: &World, text: &str) -> Result<Vec<Move>, String> {
    let mut moves: Vec<Move> = vec![];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let wrong = || format!("this is no move: {}", line);
        let (first, rest) = line.trim().split_once(' ').ok_or_else(wrong)?;
        if line.starts_with(' ') {
            let act = Act { phase: first.into(), call: parse_call(w, rest)? };
            match moves.last_mut() {
                Some(Move::Call { script, .. }) => script.push(act),
                _ => return Err(wrong()),
            }
        } else if first == "pass" {
            let (blocks, seconds) = rest.split_once(' ').ok_or_else(wrong)?;
            let number = |text: &str| text.parse().map_err(|_| wrong());
            moves.push(Move::Pass { blocks: number(blocks)?, seconds: number(seconds)? })
        } else {
            moves.push(Move::Call { from: named(w, first)?, call: parse_call(w, rest)?, script: vec![] })
        }
    }
    Ok(moves)
}

fn parse_call(w: &World, text: &str) -> Result<Call, String> {
    let parts: Vec<&str> = text.splitn(4, ' ').collect();
    match parts[..] {
        [to, function, coins, args] => Ok(Call {
            to: named(w, to)?,
            function: function.into(),
            coins: coins.parse().map_err(|_| format!("{} are no coins", coins))?,
            args: Args::Text(args.into()),
        }),
        _ => Err(format!("this is no call: {}", text)),
    }
}

fn named(w: &World, name: &str) -> Result<usize, String> {
    w.names.iter().position(|n| n.0 == name).ok_or_else(|| format!("there is no account {}", name))
}

/// The hostile contract, which performs the actions of a move.
#[derive(Default)]
pub(in crate::testing) struct Adversary {
    id: Option<Account>,
    callbacks: Vec<(String, String)>, // each with its result
    script: Vec<(String, Account, String, u64, String)>,
}

const RUN: &str = "run";

/// Deploys the adversary.
pub(super) fn install(chain: &Chain, callbacks: &[(&str, &str)]) -> Account {
    let contract = Contract {
        functions: &[],
        reentrant: true,
        abi: b"the adversary",
        declared: &[],
        types: &[],
        invariants: &[],
    };
    let id = chain.deploy(Account::ZERO, contract, "", 0).expect("nothing can fail");
    let callbacks = callbacks.iter().map(|c| (c.0.to_string(), c.1.to_string())).collect();
    world(|w| w.adversary = Some(Adversary { id: Some(id), callbacks, script: vec![] }));
    id
}

/// Sets the adversary's actions for the next call.
pub(super) fn instruct(w: &World, script: &[Act]) {
    let names = &w.names;
    let script = script.iter().map(|act| {
        let c = &act.call;
        (act.phase.clone(), names[c.to].1, c.function.clone(), c.coins, c.args.text(names))
    });
    let script = script.collect();
    world(|w| {
        if let Some(adversary) = &mut w.adversary {
            adversary.script = script
        }
    })
}

/// The functions in which the adversary may act: `run`, and each callback.
pub(super) fn phases() -> Vec<String> {
    let callbacks = world(|w| w.adversary.as_ref().map(|a| a.callbacks.iter().map(|c| c.0.clone()).collect::<Vec<_>>()));
    let mut all = callbacks.unwrap_or_default();
    all.push(RUN.into());
    all
}

/// Whether a contract is the adversary and has the function.
pub(in crate::testing) fn answers(w: &State, id: Account, function: &str) -> bool {
    match &w.adversary {
        Some(a) => a.id == Some(id) && (function == RUN || a.callbacks.iter().any(|c| c.0 == function)),
        None => false,
    }
}

/// The adversary's function: it performs its part of the move, each action once.
pub(in crate::testing) fn act() {
    let function = frame(|f| f.function.clone());
    loop {
        let next = world(|w| {
            let script = &mut w.adversary.as_mut()?.script;
            let at = script.iter().position(|a| a.0 == function)?;
            Some(script.remove(at))
        });
        match next {
            Some((_, to, function, coins, args)) => unsafe {
                sys::nested(to.0.as_ptr(), function, args.into_bytes(), coins, u64::MAX, false);
            },
            None => break,
        }
    }
    let answer = world(|w| {
        let callbacks = &w.adversary.as_ref()?.callbacks;
        Some(callbacks.iter().find(|c| c.0 == function)?.1.clone().into_bytes())
    });
    frame(|f| f.output = answer.unwrap_or_default())
}
