//! Reduces a failing sequence to one that a person can read.

use super::moves::{shorter, Move};
use super::{Play, World};

const MAX_PLAYS: usize = 5_000;

/// Makes a failing sequence shorter and its values smaller, as long as the same invariant breaks.
pub(super) struct Shrink<'a> {
    world: &'a World,
    name: &'a str,
    plays: usize,
}

impl<'a> Shrink<'a> {
    pub fn of(world: &'a World, name: &'a str) -> Self {
        Shrink { world, name, plays: 0 }
    }

    pub fn shrink(&mut self, mut moves: Vec<Move>, mut reason: String) -> (Vec<Move>, String) {
        loop {
            let mut smaller = false;
            let mut at = 0;
            while at < moves.len() && self.plays < MAX_PLAYS {
                let candidates = shorter(&moves, at);
                match candidates.into_iter().find_map(|c| self.fails(c)) {
                    Some((fewer, why)) => {
                        smaller = true;
                        moves = fewer;
                        reason = why
                    }
                    None => at += 1,
                }
            }
            if !smaller {
                return (moves, reason);
            }
        }
    }

    /// The moves up to the one that breaks the invariant, with the reason; none if no move breaks it.
    fn fails(&mut self, mut moves: Vec<Move>) -> Option<(Vec<Move>, String)> {
        if self.plays >= MAX_PLAYS {
            return None;
        }
        self.plays += 1;
        let (at, name, reason) = Play { world: self.world, calls: 0, values: None }.all(&moves)?;
        moves.truncate(at + 1);
        if name == self.name { Some((moves, reason)) } else { None }
    }
}
