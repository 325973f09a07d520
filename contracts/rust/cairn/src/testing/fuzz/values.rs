//! Values of the ABI's types.

use std::collections::BTreeMap;

use super::moves::{smaller, Args, Call};
use crate::abi::Named;
use crate::testing::world;
use crate::Account;

const MAX_SEEN: usize = 256;
const MAX_DIGESTS: usize = 512;
const MAX_DEPTH: usize = 6;

/// Random numbers (splitmix64).
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below n.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[derive(Clone)]
pub(super) enum Value {
    Bool(bool),
    Int { negative: bool, size: u128 },
    /// A JSON value.
    Text(String),
    /// An account, by the position of its name.
    Account(usize),
    Null,
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Record(Vec<(String, Value)>),
    Variant(String, Vec<(String, Value)>),
}

impl Value {
    /// The JSON, with names in place of accounts.
    pub fn shown(&self, names: &[(String, Account)]) -> String {
        let list = |items: &[Value]| items.iter().map(|v| v.shown(names)).collect::<Vec<_>>().join(",");
        let object = |fields: &[(String, Value)]| {
            let members: Vec<_> = fields.iter().map(|(name, v)| format!("\"{}\":{}", name, v.shown(names))).collect();
            format!("{{{}}}", members.join(","))
        };
        match self {
            Value::Bool(b) => b.to_string(),
            Value::Int { negative, size } => {
                let number = format!("{}{}", if *negative { "-" } else { "" }, size);
                if *size < 1 << 53 { number } else { format!("\"{}\"", number) }
            }
            Value::Text(text) => text.clone(),
            Value::Account(at) => format!("\"@{}\"", names[*at].0),
            Value::Null => "null".into(),
            Value::List(items) | Value::Tuple(items) => format!("[{}]", list(items)),
            Value::Record(fields) => object(fields),
            Value::Variant(name, fields) if fields.is_empty() => format!("\"{}\"", name),
            Value::Variant(name, fields) => format!("{{\"{}\":{}}}", name, object(fields)),
        }
    }

    /// Simpler values.
    pub fn simpler(&self) -> Vec<Value> {
        let within = |items: &[Value], make: &dyn Fn(Vec<Value>) -> Value| {
            let mut all = vec![];
            for (i, item) in items.iter().enumerate() {
                for simpler in item.simpler() {
                    let mut items = items.to_vec();
                    items[i] = simpler;
                    all.push(make(items))
                }
            }
            all
        };
        let fields = |list: &[(String, Value)], make: &dyn Fn(Vec<(String, Value)>) -> Value| {
            let values: Vec<_> = list.iter().map(|f| f.1.clone()).collect();
            within(&values, &|v| make(list.iter().map(|f| f.0.clone()).zip(v).collect()))
        };
        match self {
            Value::Bool(true) => vec![Value::Bool(false)],
            Value::Int { negative, size } => {
                let mut all: Vec<_> =
                    smaller(*size).map(|n| Value::Int { negative: *negative && n > 0, size: n }).collect();
                if *negative {
                    all.push(Value::Int { negative: false, size: *size })
                }
                all
            }
            Value::Account(at) if *at > 0 => vec![Value::Account(0)],
            Value::List(items) => {
                let mut all: Vec<_> = (0..items.len())
                    .map(|i| {
                        let mut fewer = items.clone();
                        fewer.remove(i);
                        Value::List(fewer)
                    })
                    .collect();
                all.extend(within(items, &Value::List));
                all
            }
            Value::Tuple(items) => within(items, &Value::Tuple),
            Value::Record(list) => fields(list, &Value::Record),
            Value::Variant(name, list) => fields(list, &|list| Value::Variant(name.clone(), list)),
            _ => vec![],
        }
    }
}

/// The purpose of a value.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub types: &'static [Named],
    pub accounts: usize,
    pub name: &'a str,
}

/// The material for new values: numbers that were seen, arguments of calls that succeeded by parameter name, and
/// digests that calls computed.
#[derive(Default)]
pub(super) struct Values {
    seen: Vec<u128>,
    next: usize,
    good: BTreeMap<String, Vec<Value>>,
    /// For each digest, in JSON, the call that computed it and the account that made the call. A contract that stores a
    /// commitment compares it with the digest of data that a later call reveals: whoever commits to the digest of a
    /// call can make that call afterwards.
    openings: BTreeMap<String, (usize, Call)>,
    digests: Vec<String>,
}

impl Values {
    /// Learns the numbers of a result or an event.
    pub fn see(&mut self, json: &str) {
        for text in json.split(|c: char| !c.is_ascii_digit()).filter(|t| !t.is_empty() && t.len() < 39) {
            let number = text.parse().expect("digits of fewer than 39 places");
            if self.seen.contains(&number) {
                continue;
            }
            if self.seen.len() < MAX_SEEN {
                self.seen.push(number)
            } else {
                self.seen[self.next % MAX_SEEN] = number;
                self.next += 1
            }
        }
    }

    /// Learns the arguments of a call that succeeded.
    pub fn succeeded(&mut self, call: &Call) {
        if let Args::Values(list) = &call.args {
            for (name, value) in list {
                let good = self.good.entry(name.clone()).or_default();
                if good.len() == 16 {
                    good.remove(0);
                }
                good.push(value.clone())
            }
        }
    }

    /// Learns the digests that a call computed, whether or not it succeeded.
    pub fn computed(&mut self, from: usize, call: &Call, digests: Vec<[u8; 32]>) {
        for digest in digests {
            let digits: String = digest.iter().map(|b| format!("{:02x}", b)).collect();
            let text = format!("\"0x{}\"", digits);
            if self.openings.contains_key(&text) {
                continue;
            }
            if self.digests.len() == MAX_DIGESTS {
                self.openings.remove(&self.digests.remove(0));
            }
            self.digests.push(text.clone());
            self.openings.insert(text, (from, call.clone()));
        }
    }

    /// The call that computed a digest which is an argument of this one, and who made it.
    pub fn opening(&self, call: &Call) -> Option<(usize, Call)> {
        let list = match &call.args {
            Args::Values(list) => list,
            Args::Text(_) => return None,
        };
        list.iter().find_map(|(_, value)| match value {
            Value::Text(text) => self.openings.get(text).cloned(),
            _ => None,
        })
    }

    /// Coins for a call.
    pub fn coins(&self, r: &mut Random) -> u64 {
        match r.below(4) {
            0 => 0,
            1 => 1,
            2 => (self.number(r, 64) % 1_000_000) as u64,
            _ => r.next() % 1_000_000,
        }
    }

    /// A number of the given number of bits.
    fn number(&self, r: &mut Random, bits: u32) -> u128 {
        let most = u128::MAX >> (128 - bits);
        let n = match r.below(9) {
            8 if bits == 64 => soon(r), // a deadline
            0 => [0, 1, 2, most, most - 1][r.below(5)],
            1 => 1_u128.checked_shl(r.below(bits as usize) as u32).unwrap_or(0),
            2..=5 if !self.seen.is_empty() => {
                let n = self.seen[r.below(self.seen.len())];
                match r.below(6) {
                    0 => n.wrapping_add(1),
                    1 => n.wrapping_sub(1),
                    2 => n / 2,
                    3 => n.wrapping_mul(2),
                    _ => n,
                }
            }
            _ => ((r.next() as u128) << 64 | r.next() as u128) >> r.below(128),
        };
        n & most
    }

    /// A value of a type.
    pub fn make(&self, r: &mut Random, place: Place, of: &str, depth: usize) -> Value {
        if let (0, Some(good)) = (depth, self.good.get(place.name)) {
            if r.below(4) == 0 {
                let value = good[r.below(good.len())].clone();
                if fits(&value, of) {
                    return value;
                }
            }
        }
        if let Some(held) = of.strip_suffix('?') {
            return if r.below(3) == 0 { Value::Null } else { self.make(r, place, held, depth + 1) };
        }
        if let Some(item) = of.strip_suffix("[]") {
            let count = if depth < MAX_DEPTH { r.below(4) } else { 0 };
            return Value::List((0..count).map(|_| self.make(r, place, item, depth + 1)).collect());
        }
        if let Some(items) = of.strip_prefix('(') {
            let items = split(items.strip_suffix(')').unwrap_or(items));
            return Value::Tuple(items.iter().map(|t| self.make(r, place, t, depth + 1)).collect());
        }
        self.base(r, place, of, depth)
    }

    fn base(&self, r: &mut Random, place: Place, of: &str, depth: usize) -> Value {
        let hex = |r: &mut Random, n: usize| {
            if n == 32 && !self.digests.is_empty() && r.below(2) == 0 {
                return Value::Text(self.digests[r.below(self.digests.len())].clone());
            }
            let digits: String = (0..n).map(|_| format!("{:02x}", if r.below(2) == 0 { 0 } else { r.below(256) })).collect();
            Value::Text(format!("\"0x{}\"", digits))
        };
        match of {
            "bool" => Value::Bool(r.below(2) == 0),
            "account" => Value::Account(r.below(place.accounts)),
            "hash" => hex(r, 32),
            "bytes" => {
                let n = [0, 1, 4, 32][r.below(4)];
                hex(r, n)
            }
            "string" => Value::Text(["\"\"", "\"a\"", "\"b\"", "\"ä\"", "\"a longer one\""][r.below(5)].into()),
            _ if bits(of).is_some() => {
                let signed = of.starts_with('i');
                let size = self.number(r, bits(of).unwrap_or(64) - signed as u32);
                Value::Int { negative: signed && size > 0 && r.below(2) == 0, size }
            }
            _ if of.starts_with("bytes") => hex(r, of[5..].parse().expect("bytesN")),
            _ => {
                let t = place.types.iter().find(|t| t.name == of).unwrap_or_else(|| panic!("no type is called {}", of));
                let (name, fields) = t.variants[r.below(t.variants.len())];
                let made: Vec<_> = fields
                    .iter()
                    .map(|(name, t)| (name.to_string(), self.make(r, Place { name, ..place }, t.as_str(), depth + 1)))
                    .collect();
                if t.kind == "record" { Value::Record(made) } else { Value::Variant(name.into(), made) }
            }
        }
    }
}

/// A time in the near future, in Unix seconds.
fn soon(r: &mut Random) -> u128 {
    let wait = [1, 60, 3_600, 86_400, 30 * 86_400][r.below(5)] + r.below(2) as u64;
    (world(|w| w.time) + wait) as u128
}

/// The width of an integer type in bits.
fn bits(of: &str) -> Option<u32> {
    of.strip_prefix(['u', 'i'].as_ref())?.parse().ok()
}

/// Whether an earlier argument of a parameter of the same name may have this type.
fn fits(value: &Value, of: &str) -> bool {
    match value {
        Value::Int { negative, size } => match bits(of) {
            Some(width) => {
                let signed = of.starts_with('i');
                (signed || !negative) && size >> (width - 1) >> (!signed) as u32 == 0
            }
            None => false,
        },
        Value::Account(_) => of == "account",
        Value::Bool(_) => of == "bool",
        _ => false,
    }
}

/// The types of a tuple.
fn split(of: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0, 0, vec![]);
    for (i, c) in of.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                all.push(&of[start..i]);
                start = i + 1
            }
            _ => {}
        }
    }
    all.push(&of[start..]);
    all
}
