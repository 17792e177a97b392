//! Which shard a machine packs next once its own share is done: shards that nobody has begun, then
//! those whose machine has died, then those of a machine that is much slower.
//!
//! [`choose`] is a pure function. [`Watch`] remembers when a claim last changed, by the clock of
//! this machine alone, so the clocks of machines need not agree.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use tarflume_base::Failure;
use tarflume_formats::plan::PlannedShard;
use tarflume_shards::workdir::claims::{Claims, Note, claim_name, parse_name};

/// A second attempt is begun if the first one still takes this many times as long as the second takes.
const WORTH: f64 = 1.5;

/// What is known of one claim.
#[derive(Debug, Clone, Copy, Default)]
struct Attempt {
    number: u32,
    alive: bool,
    /// A thread of this process makes it.
    ours: bool,
    refused: bool,
    remaining: Option<Duration>,
}

/// The process that has written a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// This process.
    This,
    /// A process of this machine that has ended.
    Gone,
    /// Another process.
    Other,
}

/// What a thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// It packs this shard, as this attempt.
    Pack(usize, u32),
    /// Others are packing all that is left.
    Wait,
    /// Nothing is left.
    End,
}

/// A shard of the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shard<'a> {
    pub(super) name: &'a str,
    pub(super) bytes: u64,
}

impl<'a> Shard<'a> {
    pub(super) fn of(planned: &'a PlannedShard) -> Shard<'a> {
        Shard { name: &planned.name, bytes: planned.source_bytes }
    }
}

/// Chooses among the shards that are not finished. `own` estimates this machine's time for a number
/// of bytes. The search begins at `start`, so that machines do not all try the same shard.
fn choose(
    shards: &[Shard<'_>],
    finished: &HashSet<String>,
    attempts: &BTreeMap<&str, Vec<Attempt>>,
    own: &dyn Fn(u64) -> Option<Duration>,
    start: usize,
) -> Choice {
    let mut waits: bool = false;
    let mut slowest: Option<(Duration, usize, u32)> = None;
    for turn in 0..shards.len() {
        let number = (start + turn) % shards.len();
        let Shard { name, bytes } = shards[number];
        if finished.contains(name) {
            continue;
        }
        let tried = attempts.get(name).map_or(&[][..], Vec::as_slice);
        if tried.iter().any(|attempt| attempt.refused) {
            continue;
        }
        let next = tried.iter().map(|attempt| attempt.number).max().unwrap_or(0) + 1;
        let mut alive = tried.iter().filter(|attempt| attempt.alive);
        match (alive.next(), alive.next()) {
            (None, _) => return Choice::Pack(number, next),
            (Some(one), None) => {
                waits |= !one.ours;
                let gain =
                    one.remaining.zip(own(bytes)).filter(|(left, own)| *left > own.mul_f64(WORTH));
                if let Some((left, _)) = gain
                    && slowest.is_none_or(|(most, ..)| left > most)
                {
                    slowest = Some((left, number, next));
                }
            }
            (Some(one), Some(two)) => waits |= !(one.ours && two.ours),
        }
    }
    match slowest {
        Some((_, number, attempt)) => Choice::Pack(number, attempt),
        None if waits => Choice::Wait,
        None => Choice::End,
    }
}

/// The claims of other machines as they were seen.
#[derive(Debug)]
pub(super) struct Watch {
    /// A claim that has not changed for this long belongs to a machine that has died.
    stale: Duration,
    /// The last beat of each claim, and when it was first seen.
    seen: HashMap<String, (u64, Instant)>,
    start: usize,
}

impl Watch {
    pub(super) fn new(stale: Duration, start: usize) -> Watch {
        Watch { stale, seen: HashMap::new(), start }
    }

    ///
    /// # Errors
    /// Returns an error if the place of the claims does not answer.
    pub(super) fn next(
        &mut self,
        claims: &dyn Claims,
        shards: &[Shard<'_>],
        own: &dyn Fn(u64) -> Option<Duration>,
        owner: &dyn Fn(&Note) -> Owner,
    ) -> Result<Choice, Failure> {
        let names = claims.list()?;
        // After the claims: a shard that is finished in between must not be taken for one without a claim.
        let finished = claims.finished()?;
        let mut attempts: BTreeMap<&str, Vec<Attempt>> = BTreeMap::new();
        for (shard, number) in names.iter().filter_map(|name| parse_name(name)) {
            let alive = Attempt { number, alive: true, ..Attempt::default() };
            attempts.entry(shard).or_default().push(alive);
        }
        // A shard without a claim needs no look at the notes, each of which is a request.
        let choice = choose(shards, &finished, &attempts, &|_| None, self.start);
        if let Choice::Pack(..) = choice {
            return Ok(choice);
        }
        let totals: HashMap<&str, u64> =
            shards.iter().map(|shard| (shard.name, shard.bytes)).collect();
        for (shard, tried) in attempts.iter_mut().filter(|(shard, _)| !finished.contains(**shard)) {
            for attempt in tried {
                let name = claim_name(shard, attempt.number);
                let note = claims.read(&name)?;
                *attempt = self.judged(&name, *attempt, note, totals.get(shard).copied(), owner);
            }
        }
        Ok(choose(shards, &finished, &attempts, own, self.start))
    }

    fn judged(
        &mut self,
        name: &str,
        attempt: Attempt,
        note: Option<Vec<u8>>,
        total: Option<u64>,
        owner: &dyn Fn(&Note) -> Owner,
    ) -> Attempt {
        let Some(note) = note.as_deref().map(Note::parse) else {
            return Attempt { alive: false, ..attempt };
        };
        let now = Instant::now();
        let seen = self.seen.entry(name.to_string()).or_insert((note.beat, now));
        if seen.0 != note.beat {
            *seen = (note.beat, now);
        }
        let since = now - seen.1;
        let owner = owner(&note);
        let alive = !note.refused && since < self.stale && owner != Owner::Gone;
        let remaining = note.remaining(total.unwrap_or(0)).map(|left| left.saturating_sub(since));
        let ours = owner == Owner::This;
        Attempt { alive, ours, refused: note.refused, remaining, ..attempt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARDS: [Shard<'static>; 3] = [
        Shard { name: "a", bytes: 100 },
        Shard { name: "b", bytes: 100 },
        Shard { name: "c", bytes: 100 },
    ];

    fn attempt(number: u32, alive: bool, remaining: u64) -> Attempt {
        let remaining = Some(Duration::from_secs(remaining));
        Attempt { number, alive, remaining, ..Attempt::default() }
    }

    fn chosen(
        finished: &[&str],
        attempts: &[(&'static str, Vec<Attempt>)],
        start: usize,
    ) -> Choice {
        let finished = finished.iter().map(|name| name.to_string()).collect();
        let attempts = attempts.iter().cloned().collect();
        choose(&SHARDS, &finished, &attempts, &|_| Some(Duration::from_secs(10)), start)
    }

    #[test]
    fn shards_without_a_claim_come_first_then_dead_ones_then_slow_ones() {
        let slow = vec![attempt(1, true, 99)];
        assert_eq!(chosen(&[], &[("a", slow.clone())], 0), Choice::Pack(1, 1));
        assert_eq!(chosen(&[], &[("a", slow.clone())], 2), Choice::Pack(2, 1));
        assert_eq!(
            chosen(&["b", "c"], &[("a", vec![attempt(1, false, 0)])], 1),
            Choice::Pack(0, 2)
        );
        assert_eq!(chosen(&["b", "c"], &[("a", slow)], 1), Choice::Pack(0, 2));
        let nearly = vec![attempt(1, true, 14)];
        assert_eq!(chosen(&["b", "c"], &[("a", nearly)], 0), Choice::Wait);
        let two = vec![attempt(1, true, 99), attempt(2, true, 99)];
        assert_eq!(chosen(&["b", "c"], &[("a", two)], 0), Choice::Wait);
        let ours = vec![Attempt { ours: true, ..attempt(1, true, 1) }];
        assert_eq!(chosen(&["b", "c"], &[("a", ours)], 0), Choice::End);
        assert_eq!(chosen(&["a", "b", "c"], &[], 0), Choice::End);
    }

    #[test]
    fn the_slowest_is_taken_over_and_a_refused_shard_is_left_alone() {
        let both = [("a", vec![attempt(1, true, 50)]), ("b", vec![attempt(4, true, 80)])];
        assert_eq!(chosen(&["c"], &both, 0), Choice::Pack(1, 5));
        let refused = vec![Attempt { refused: true, ..attempt(1, false, 0) }];
        assert_eq!(chosen(&["a", "b"], &[("c", refused)], 0), Choice::End);
    }
}
